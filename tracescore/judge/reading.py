"""Read a judge's reply: the schema or an error, never a guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracescore.errors import (
    JudgeReplyCutOff,
    JudgeReplyError,
    JudgeReplyRefusal,
)
from tracescore.judge.parsing import parse_json, without_thought
from tracescore.judge.protocol import JudgeReply
from tracescore.judge.schema import OutputSchema

CUT_OFF = frozenset({"length", "max_tokens"})
FILTERED = "content_filter"


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
        return parsed, schema.read(parsed)
    except JudgeReplyError as error:
        error.raw_reply = text
        raise
