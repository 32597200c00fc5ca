"""A conversation that a library wrote as one text, a line for each turn: ``user: …``."""

from __future__ import annotations

import re
from typing import Any

from tracescore.dialects.content import Content
from tracescore.model import Role

_TURN = re.compile(r"^(system|developer|user|human|assistant|ai|model|tool|function): ?", re.MULTILINE)
_JSON = "[{"
"""How most recorded messages begin."""


def spelled_content(value: Any, role: Role) -> Content | None:
    """Read the turns of such a text; ``None`` for any other value."""
    if not isinstance(value, str) or value[:1] in _JSON or _TURN.match(value) is None:
        return None
    turns = list(_TURN.finditer(value))
    ends = [turn.start() for turn in turns[1:]] + [len(value)]
    said = [
        {"role": turn.group(1), "content": value[turn.end() : end].removesuffix("\n")}
        for turn, end in zip(turns, ends, strict=True)
    ]
    return Content(role=role, elements=dict(enumerate(said)))
