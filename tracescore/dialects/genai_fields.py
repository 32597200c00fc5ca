"""What the GenAI conventions, in all their versions, state under fixed names: who, for whom, what it used and cost."""

from __future__ import annotations

from typing import Any

from tracescore.dialects.fields import Fields
from tracescore.dialects.tokens import tokens_of
from tracescore.dialects.values import Attributes, text_of

OPERATION = "gen_ai.operation.name"
_RAW = "gen_ai.usage.raw"
_REASONS = "gen_ai.response.finish_reasons"
_INSIDE_RAW = ("cache_read", "cache_write", "reasoning")
_COST = (
    *("gen_ai.usage.cost", "gen_ai.usage.cost_usd", "gen_ai.usage.total_cost", "gen_ai.cost.total_cost"),
    *("operation.cost", "litellm.cost.total", "llm.usage.total_cost"),
)
"""What a call cost in US dollars: the conventions name nothing, so each library does."""
_FIELDS = Fields(
    texts={
        "operation": (OPERATION,),
        "agent_name": ("gen_ai.agent.name",),
        "agent_id": ("gen_ai.agent.id",),
        "name": ("gen_ai.workflow.name", "gen_ai.task.name"),
        "tool_name": ("gen_ai.tool.name",),
        "tool_call_id": ("gen_ai.tool.call.id",),
        "query": ("gen_ai.retrieval.query.text",),
        "model_asked": ("gen_ai.request.model",),
        "model_answered": ("gen_ai.response.model",),
        "provider": ("gen_ai.provider.name", "gen_ai.system"),
        "response_id": ("gen_ai.response.id",),
        "previous_response_id": ("gen_ai.request.previous_response_id",),
        "session_id": ("session.id", "gen_ai.conversation.id"),
        "user_id": ("user.id", "enduser.id", "gen_ai.request.user", "llm.user"),
        "error_type": ("error.type",),
    },
    counts={
        "choices": ("gen_ai.request.choice.count",),
        "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        "cache_read_tokens": (
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.usage.details.cache_read_tokens",
            "gen_ai.usage.details.cached_tokens",
        ),
        "cache_write_tokens": (
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
            "gen_ai.usage.details.cache_write_tokens",
        ),
        "reasoning_tokens": (
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.details.reasoning_tokens",
        ),
    },
    numbers={"cost": _COST},
)


def fields_of(attributes: Attributes) -> dict[str, Any]:
    """Read what is stated; the tokens that only the provider's raw counts have, from there."""
    fields = _FIELDS.read(attributes)
    if _REASONS in attributes:
        reasons = attributes[_REASONS]
        fields["ended"] = text_of(reasons[-1] if isinstance(reasons, list) and reasons else reasons)
    if _RAW in attributes:
        counts = tokens_of(attributes[_RAW])._asdict()
        for name in _INSIDE_RAW:
            if counts[name] is not None:
                fields.setdefault(f"{name}_tokens", counts[name])
    return fields
