"""Read a judge's reply: the schema or an error, never a guess."""

from __future__ import annotations

import json
from typing import Any

import orjson

from tracescore.errors import JudgeReplyError
from tracescore.judge.protocol import JudgeReply
from tracescore.judge.schema import OutputSchema

CUT_OFF = "length"


def read_text(reply: JudgeReply) -> str:
    """Give a reply's whole text.

    Raises:
        JudgeReplyError: a refusal, a reply that was cut off or filtered, or no text.
    """
    if reply.refusal:
        raise JudgeReplyError(f"the judge refused: {reply.refusal:.500}", raw_reply=reply.text or reply.refusal)
    if reply.finish_reason == CUT_OFF:
        # A cut-off reply is refused even where its JSON could be patched: what is missing may turn the verdict.
        raise JudgeReplyError("the reply was cut off by length", raw_reply=reply.text)
    if reply.finish_reason == "content_filter":
        raise JudgeReplyError("the reply was withheld by a content filter", raw_reply=reply.text)
    if reply.text is None or not reply.text.strip():
        raise JudgeReplyError("the reply is empty", raw_reply=reply.text)
    return reply.text


def read_value(reply: JudgeReply, schema: OutputSchema) -> tuple[Any, Any]:
    """Give a reply's JSON and the validated value of its schema.

    Raises:
        JudgeReplyError: as ``read_text``; what is not JSON, or not the schema.
    """
    text = read_text(reply)
    try:
        parsed = orjson.loads(text)  # strict: NaN, infinity and numbers that overflow are no JSON
    except orjson.JSONDecodeError as error:
        raise JudgeReplyError(f"the reply is not JSON: {error}", raw_reply=text) from error
    if _names_a_key_twice(text):
        # Which of the two is meant nobody can say, and a quoted output may have put the second one there.
        raise JudgeReplyError("the reply names a key twice", raw_reply=text)
    try:
        return parsed, schema.read(parsed)
    except JudgeReplyError as error:
        raise JudgeReplyError(str(error), raw_reply=text) from error


class _Twice(Exception):
    """A key stands twice in one object."""


def _names_a_key_twice(text: str) -> bool:
    def check(pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) < len(pairs):
            raise _Twice

    try:
        json.loads(text, object_pairs_hook=check)
    except (_Twice, RecursionError):  # nested too deep to be looked through is no verdict either
        return True
    return False
