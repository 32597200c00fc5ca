"""What OpenInference states under fixed names, and what only the raw request and response beside them tell."""

from __future__ import annotations

from typing import Any

from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object, text_or_none
from tracescore.dialects.fields import Fields
from tracescore.dialects.form import SpanRole
from tracescore.dialects.response import previous_id_of, reply_beside, response_id_of
from tracescore.dialects.values import Attributes, count_at, first_text, text_at
from tracescore.model import JSONValue

_FIELDS = Fields(
    texts={
        "ended": ("llm.finish_reason",),
        "agent_id": ("graph.node.id",),
        "stated_parent": ("graph.node.parent_id",),
        "tool_name": ("tool.name",),
        "tool_call_id": ("tool_call.id", "tool.id"),
        "model_asked": ("llm.request.model_name",),
        "model_answered": ("llm.response.model_name", "gen_ai.response.model"),
        "model_named": ("llm.model_name",),
        "provider": ("llm.provider", "llm.system"),
        # What a span may state beside its metadata, in whichever dialect, comes first.
        "session_id": ("session.id", "gen_ai.conversation.id"),
        "user_id": ("user.id", "enduser.id"),
    },
    counts={
        "input_tokens": ("llm.token_count.prompt",),
        "output_tokens": ("llm.token_count.completion",),
        "cache_read_tokens": (
            "llm.token_count.prompt_details.cache_read",
            "metadata.usage.cached_prompt_tokens",
        ),
        "cache_write_tokens": ("llm.token_count.prompt_details.cache_write",),
        "reasoning_tokens": ("llm.token_count.completion_details.reasoning",),
    },
    numbers={"cost": ("llm.cost.total",)},
)
_SESSIONS = ("session_id", "sessionId", "thread_id", "threadId", "conversation_id")
_USERS = ("user_id", "userId", "user")


def fields_of(
    attributes: Attributes,
    role: SpanRole | None,
    metadata: dict[str, JSONValue] | None,
    asked: dict[str, JSONValue] | None,
) -> dict[str, Any]:
    """Read who, for whom, which call, what it used and cost."""
    fields = _FIELDS.read(attributes)
    named = fields.pop("model_named", None)
    if role == "llm":
        _add_reply(fields, attributes.get("output.value"), named)
        fields.setdefault("model_asked", first_text(asked, ("model", "model_name")))
        fields["response_id"] = response_id_of(attributes.get("output.value"))
        fields["previous_response_id"] = previous_id_of(attributes.get("input.value"), asked)
        fields["choices"] = count_at(asked, "n") if asked is not None else None
    if named is not None and named != fields.get("model_asked"):
        # The name that was asked for may stand here as well: then it is no news of who answered.
        fields.setdefault("model_answered", named)
    if role != "agent":
        fields.pop("stated_parent", None)
    fields.setdefault("session_id", _within(metadata, asked, _SESSIONS) or _conversation(asked))
    fields.setdefault("user_id", _within(metadata, asked, _USERS) or text_at(attributes, "llm.user"))
    return fields


def _add_reply(fields: dict[str, Any], output: JSONValue, named: str | None) -> None:
    """Add what a raw response says of model and tokens, and the attributes leave out."""
    answered, counted = fields.get("model_answered"), "cache_read_tokens" in fields
    if answered is not None and counted:
        return
    reply = reply_beside(output, named=answered or named, counted=counted)
    if reply.model is not None:
        fields.setdefault("model_answered", reply.model)
    for side, count in reply.used._asdict().items():
        if count is not None:
            fields.setdefault(f"{side}_tokens", count)


def _conversation(asked: dict[str, JSONValue] | None) -> str | None:
    """Give the conversation that the provider keeps, for which a request names it."""
    named = asked.get("conversation") if asked is not None else None
    return text_or_none(named.get("id") if is_object(named) else named)


def _within(
    metadata: dict[str, JSONValue] | None, asked: dict[str, JSONValue] | None, keys: tuple[str, ...]
) -> str | None:
    found = first_text(metadata, keys)
    if found is None and asked is not None:
        extra = parse(asked.get("metadata")).value
        found = first_text(extra if is_object(extra) else None, keys) or first_text(asked, keys)
    return found
