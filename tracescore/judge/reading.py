"""Read a judge's reply: the schema or an error, never a guess."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from tracescore.errors import (
    JudgeReplyCutOff,
    JudgeReplyError,
    JudgeReplyNotFinite,
    JudgeReplyRefusal,
)
from tracescore.judge.parsing import parse_json, without_thought
from tracescore.judge.protocol import JudgeReply
from tracescore.judge.schema import OutputSchema

CUT_OFF = frozenset({"length", "max_tokens"})
FILTERED = "content_filter"


# pydantic reads such a text as a number where one is asked for.
_NAMED = re.compile(r'"\s*[+-]?(?:nan|inf|infinity)\s*"', re.IGNORECASE)


def raw_text(reply: JudgeReply) -> str:
    """Give a reply's whole text as it came.

    Raises:
        JudgeReplyRefusal: a refusal, or a reply that was filtered.
        JudgeReplyCutOff: a reply that was cut off by length.
        JudgeReplyError: no text.
    """
    if reply.refusal:
        raise JudgeReplyRefusal(f"the judge refused: {reply.refusal:.500}", raw_reply=reply.text or reply.refusal)
    if reply.finish_reason in CUT_OFF:
        # A cut-off reply is refused even where its JSON could be patched: what is missing may turn the verdict.
        raise JudgeReplyCutOff("the reply was cut off by length", raw_reply=reply.text)
    if reply.finish_reason == FILTERED:
        raise JudgeReplyRefusal("the reply was withheld by a content filter", raw_reply=reply.text)
    if reply.text is None or not reply.text.strip():
        raise JudgeReplyError("the reply is empty", raw_reply=reply.text)
    return reply.text


def read_text(reply: JudgeReply) -> str:
    """Give a reply's whole text, without the thought that it begins with.

    Raises:
        JudgeReplyError: as ``raw_text``; or nothing but a thought.
    """
    text = raw_text(reply)
    rest = without_thought(text)
    if not rest:
        raise JudgeReplyError("the reply is empty but for a thought", raw_reply=text)
    return text if rest == text.strip() else rest


def read_value(
    reply: JudgeReply,
    schema: OutputSchema,
    *,
    asked: Sequence[Mapping[str, Any]] = (),
) -> tuple[Any, Any]:
    """Give a reply's JSON and the validated value of its schema.

    ``asked`` is the question, for the rules of ``parse_json``.

    Raises:
        JudgeReplyError: as ``raw_text`` and ``parse_json``; or not the schema.
    """
    text = raw_text(reply)
    try:
        parsed = parse_json(text, native=reply.native, asked=asked)
        value = schema.read(parsed)
        if _NAMED.search(text) and not _is_finite(to_jsonable_python(value, inf_nan_mode="constants", fallback=repr)):
            raise JudgeReplyNotFinite("the reply has a number that is not finite")
        return parsed, value
    except JudgeReplyError as error:
        error.raw_reply = text
        raise


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_finite(item) for item in value.values())
    if isinstance(value, list):
        return all(_is_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)
