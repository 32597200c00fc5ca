"""AWS Bedrock AgentCore: content that its collector took off the spans, as one log record a span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_message import said_of
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.form import Reading
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.said import Said
from tracescore.model import JSONValue, LogRecord, Span

_TOOL = "gen_ai.tool.name"
_HISTORY = "_history"


class AgentCore:
    """Records whose body is ``{"input": {"messages"}, "output": {"messages"}}``; the last output is the answer."""

    marks: frozenset[str] | None = None
    names = ()
    content_prefixes = ()

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read the messages of a span's record; a conversation's turns are ordered by role there, and put in order."""
        for log in logs:
            body = parse(log.body).value
            if not is_object(body):
                continue
            given, answered = _listed(body, "input"), _listed(body, "output")
            if given is None and answered is None:
                continue
            if _TOOL in span.attributes:
                return _tool(given or [], answered or [])
            replies = answered or []
            # What a model chose is filed as "message", what it had said before as "content".
            reply = replies.pop() if replies and not replies[-1].pop(_HISTORY, False) else None
            turns = _in_order(given or [], replies)
            return Reading(
                input=Content(role="user", elements=dict(enumerate(turns))) if turns else None,
                output=Content(role="assistant", elements={0: reply}) if reply is not None else None,
            )
        return None


def _listed(body: dict[str, Any], side: str) -> list[dict[str, Any]] | None:
    """Give one side's messages, each out of what stands around it; one entry may hold a whole conversation."""
    holder = body.get(side)
    messages = holder.get("messages") if is_object(holder) else None
    if not isinstance(messages, list):
        return None
    found: list[dict[str, Any]] = []
    for message in messages:
        if is_object(message):
            found += _unpacked(message)
    return found or None


def _unpacked(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str) and content[:2] == "[{":
        listed = parse(content).value
        if isinstance(listed, list) and all(is_object(item) and "role" in item and "parts" in item for item in listed):
            return listed
        return [{**message, "content": listed}]
    if not is_object(content) or "parts" in content:
        return [message]
    inner = content.get("message", content.get("content"))
    read = parse(inner).value if isinstance(inner, str) and inner[:1] in "[{" else inner
    finish = {"finish_reason": content["finish_reason"]} if "finish_reason" in content else {}
    history = {_HISTORY: True} if "message" not in content else {}
    return [{"role": message.get("role"), "content": read, **finish, **history}]


def _in_order(given: list[dict[str, Any]], replies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Interleave: a reply that calls tools stands before their results, the others before the users' next turns."""
    if not replies:
        return given
    asked = [{call.id for said in _said(reply) for call in said.calls} for reply in replies]
    spoken = [reply for reply, ids in zip(replies, asked, strict=True) if not ids]
    calling = {number: replies[number] for number, ids in enumerate(asked) if ids}
    asking: dict[str | None, list[int]] = {}
    for number in calling:
        for call_id in asked[number]:
            asking.setdefault(call_id, []).append(number)
    users = [place for place, message in enumerate(given) if message.get("role") == "user" and not _results(message)]
    before = dict(zip(reversed(users), reversed(spoken), strict=False))
    ordered: list[dict[str, Any]] = spoken[: max(0, len(spoken) - len(users))]
    for place, message in enumerate(given):
        if place in before:
            ordered.append(before[place])
        answered = {number for call_id in _results(message) for number in asking.pop(call_id, ())}
        ordered += [calling.pop(number) for number in sorted(answered) if number in calling]
        ordered.append(message)
    systems = [message for message in ordered if message.get("role") == "system"]
    return [*systems, *(message for message in ordered if message.get("role") != "system"), *calling.values()]


def _said(message: dict[str, Any]) -> list[Said]:
    return said_of(message, "assistant")


def _results(message: dict[str, Any]) -> set[str | None]:
    return {result.id for said in said_of(message, "user") for result in said.results}


def _tool(given: list[dict[str, Any]], answered: list[dict[str, Any]]) -> Reading:
    arguments: JSONValue = arguments_value(given[-1].get("content")) if given else None
    result = span_result(answered[-1].get("content")).value if answered else None
    return Reading(tool_arguments=arguments, tool_result=result)
