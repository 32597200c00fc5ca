"""Find the one JSON object of a reply: safely, or not at all.

A reply may repeat what it judges, and what it judges may be written to be repeated. So nothing is ever chosen among
several candidates. The rules, in order:

1. A reply that is JSON as a whole is that JSON.
2. A thought is passed over where it is the beginning of the reply, ``<think>`` to the first ``</think>``. One that is
   not closed makes the reply truncated; a tag of a thought in any other place makes it ambiguous.
3. One code fence around all that is left is taken off.
4. Where the schema went with the request (native), all that is left must be the JSON: no prose.
5. Where the messages stated the schema, prose may stand before and after, without any brace: the text from the first
   ``{`` to the last ``}`` must be one object. Two objects, or one and the scrap of another, are ambiguous. An object
   that stands amid prose and word for word in what was asked is a quotation, and no answer.

An object that has a key twice is refused wherever it stands: a text that closes its string early could otherwise put
its own verdict beside the judge's. Numbers that are not finite are refused, and so is what nothing closes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import orjson

from tracescore.errors import JudgeReplyError, JudgeReplyNotFinite, JudgeReplyTruncated

_OPEN, _CLOSE = "<think>", "</think>"
_FENCE = re.compile(r"\A```[A-Za-z0-9_-]*[ \t]*\r?\n(.*)\r?\n?```\Z", re.DOTALL)
_NOT_FINITE = re.compile(r"[:\[,]\s*-?(?:NaN|Infinity|inf)\b")


class _Twice(Exception):
    """A key stands twice in one object."""


def without_thought(text: str) -> str:
    """Give a reply without the thought that it begins with.

    Raises:
        JudgeReplyTruncated: nothing closes the thought.
    """
    text = text.strip()
    if not text.startswith(_OPEN):
        return text
    _, closed, rest = text.partition(_CLOSE)
    if not closed:
        raise JudgeReplyTruncated("the reply is a thought that nothing closes", raw_reply=text)
    return rest.strip()


def parse_json(text: str, *, native: bool = True, asked: Sequence[Mapping[str, Any]] = ()) -> Any:
    """Give the JSON of a reply, by the rules of this module.

    Args:
        text: the reply.
        native: True where the schema went with the request, so that no prose can be meant.
        asked: the messages that the reply answers.

    Raises:
        JudgeReplyError: no JSON, or none that is alone.
        JudgeReplyTruncated: JSON that nothing closes.
        JudgeReplyNotFinite: NaN, infinity or a number that overflows.
    """
    whole = text.strip()
    try:
        return _loads(whole)
    except orjson.JSONDecodeError:
        pass
    rest = without_thought(whole)
    if _OPEN in rest or _CLOSE in rest:
        raise JudgeReplyError("the reply is not JSON: thoughts stand in it in a place where none belongs")
    fenced = _FENCE.match(rest)
    if fenced is not None:
        rest = fenced[1].strip()
    try:
        return _loads(rest)
    except orjson.JSONDecodeError as error:
        first, last = rest.find("{"), rest.rfind("}")
        if native or first < 0 or last < first or "}" in rest[:first] or "{" in rest[last:]:
            _refuse(rest, error)
    amid = rest[first : last + 1]
    try:
        found = _loads(amid)
    except orjson.JSONDecodeError as error:
        _refuse(rest, error)
    if any(amid in content for content in _contents(asked)):
        raise JudgeReplyError("the reply is not JSON: the object in its prose only repeats what was asked")
    return found


def _loads(text: str) -> Any:
    """Read JSON strictly, and no key twice.

    orjson decides what is JSON, since it is the stricter of the two; only the standard library tells of a key that
    stands twice.
    """
    parsed = orjson.loads(text)
    if isinstance(parsed, (dict, list)):
        try:
            json.loads(text, object_pairs_hook=_once)
        except _Twice as error:
            raise JudgeReplyError(f"the reply is ambiguous: it has the key {error} twice") from None
        except RecursionError:
            raise JudgeReplyError("the reply is nested too deep") from None
    if isinstance(parsed, float) and not math.isfinite(parsed):
        raise JudgeReplyNotFinite("the reply has a number that is not finite")
    return parsed


def _once(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _Twice(f"{key[:80]!r}")
        seen.add(key)


def _refuse(text: str, error: orjson.JSONDecodeError) -> NoReturn:
    start = text.find("{")
    if start >= 0:
        if "infinity" in str(error) or _not_finite(text):
            raise JudgeReplyNotFinite("the reply has a number that is not finite") from error
        if _is_open(text[start:]):
            raise JudgeReplyTruncated("the reply is not JSON: nothing closes its object") from error
    raise JudgeReplyError(f"the reply is not JSON: {error}") from error


def _not_finite(text: str) -> bool:
    if _NOT_FINITE.search(text):
        return True
    try:
        json.loads(text, parse_float=_finite)
    except OverflowError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise OverflowError
    return number


def _is_open(text: str) -> bool:
    """Tell whether an object or a string of a text is still open at its end."""
    depth, in_string, escaped = 0, False, False
    for letter in text:
        if in_string:
            if escaped:
                escaped = False
            elif letter == "\\":
                escaped = True
            elif letter == '"':
                in_string = False
        elif letter == '"':
            in_string = True
        elif letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
    return in_string or depth > 0


def _contents(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    contents: list[str] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            contents.append(content)
        elif isinstance(content, (list, tuple)):
            contents += [str(part.get("text", "")) for part in content if isinstance(part, Mapping)]
    return contents
