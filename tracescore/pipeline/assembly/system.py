"""System messages that stand apart and among the messages: each is said once."""

from __future__ import annotations

from collections.abc import Iterable

from tracescore.dialects import Said
from tracescore.model import TextPart


def each_once(messages: Iterable[Said]) -> list[Said]:
    """Drop system messages whose text, or a part of another that is equal to it, stands there already."""
    given = list(messages)
    if len(given) < 2:
        return given
    seen: set[str] = set()
    kept: list[Said] = []
    for said in given:
        if said.role == "system":
            if said.text.strip() in seen:
                continue
            seen |= texts_of(said)
        kept.append(said)
    return kept


def texts_of(said: Said) -> set[str]:
    """Give what a message would be recognized by: its whole text, and that of each of its parts."""
    parts = {part.text.strip() for part in said.parts if isinstance(part, TextPart)}
    return {said.text.strip(), *(text for text in parts if text)}
