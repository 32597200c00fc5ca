"""Hypothesis strategies: any tree of spans, any value in any attribute that a dialect reads."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.drafts import Draft
from tests.fuzz.recorded import disturbed_recordings
from tests.fuzz.words import attribute_names, message_words

MAX_SPANS = 8

TEXTS = (
    st.sampled_from(["", "a", "\x00", "\ud83e", "[", '{"a', '"\\', "null", "NaN", "<elided>", "Role(x=", "content=''"])
    | st.text(max_size=6)
    | st.text(st.characters(categories=["Cs", "Lu", "Po"]), max_size=6)
)
NUMBERS = st.integers(-3, 9) | st.sampled_from([2**53, 2**63, -(2**63) - 1, 10**400]) | st.floats()
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS | st.sampled_from(message_words())
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(message_words()) | TEXTS, inner, max_size=4)
    ),
    max_leaves=10,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system", "tool", "model"]) | LEAVES},
        optional={
            "content": VALUES,
            "parts": st.lists(
                st.fixed_dictionaries(
                    {"type": st.sampled_from(["text", "tool_call", "tool_call_response", "reasoning", "blob"])},
                    optional=dict.fromkeys(("content", "id", "name", "arguments", "response", "result"), VALUES),
                ),
                max_size=3,
            ),
            "tool_calls": st.lists(VALUES, max_size=2),
            "tool_call_id": st.sampled_from(["c1", "c2"]) | LEAVES,
            "name": LEAVES,
        },
    ),
    max_size=4,
)


def _written(value: Any, way: str, cut: int) -> Any:
    """Write a value as senders do: as it is, as JSON text once or twice, as a Python repr, whole or cut off."""
    if way == "plain":
        return value
    text = repr(value) if way == "repr" else json.dumps(value)
    if way == "twice":
        text = json.dumps(text)
    if way == "deep":
        text = "[" * 300 + text + "]" * 300
    return text[: len(text) - cut] if cut else text


WRITTEN = st.builds(
    _written,
    MESSAGES | VALUES,
    st.sampled_from(["plain", "json", "json", "twice", "repr", "deep"]),
    st.sampled_from([0, 0, 0, 1, 2, 9]),
)


@st.composite
def attributes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw attributes of one dialect, with some of another mixed in."""
    by_dialect = attribute_names()
    names = sorted(by_dialect)
    mine, other = by_dialect[draw(st.sampled_from(names))], by_dialect[draw(st.sampled_from(names))]
    keys = draw(st.lists(st.sampled_from(mine), max_size=5)) + draw(st.lists(st.sampled_from(other), max_size=2))
    known = st.sampled_from(mine)
    return {key: draw(WRITTEN | known) for key in keys}


KINDS: list[dict[str, Any]] = [
    {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"},
    {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "other", "graph.node.parent_id": "bot"},
    {"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 2, "gen_ai.conversation.id": "t"},
    {"gen_ai.operation.name": "chat", "gen_ai.response.id": "r1"},
    {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "transfer_to_other", "gen_ai.tool.call.id": "c1"},
    {"gen_ai.operation.name": "invoke_workflow"},
    {"openinference.span.kind": "AGENT", "agent.name": "bot"},
    {"openinference.span.kind": "LLM", "llm.token_count.completion": 1, "session.id": "t"},
    {"openinference.span.kind": "TOOL", "tool.name": "look"},
    {"openinference.span.kind": "CHAIN"},
    {"traceloop.span.kind": "agent", "traceloop.entity.name": "bot"},
    {"ai.operationId": "ai.generateText", "operation.name": "ai.generateText"},
    {"ai.operationId": "ai.generateText.doGenerate", "operation.name": "ai.generateText.doGenerate"},
    {},
]
CONTENT_NAMES = ["gen_ai.input.messages", "gen_ai.output.messages", "input.value", "output.value", "ai.prompt.messages"]
SPAN_NAMES = ["chat", "handoff to other", "Crew.kickoff", "tool", "ai.toolCall", "agent run"]
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["gen_ai.user.message", "gen_ai.choice", "exception", ""]), "at": st.integers(0, 5)},
        optional={"body": VALUES, "attributes": attributes()},
    ),
    max_size=2,
)


def _with_attributes(kind: dict[str, Any], more: dict[str, Any], rest: Draft) -> Draft:
    return {**rest, "attributes": {**kind, **more}}


def _draft(
    content: st.SearchStrategy[dict[str, Any]], records: st.SearchStrategy[list[dict[str, Any]]]
) -> st.SearchStrategy[Draft]:
    return st.builds(
        _with_attributes,
        st.sampled_from(KINDS),
        content,
        st.fixed_dictionaries(
            {"parent": st.none() | st.integers(0, MAX_SPANS), "at": st.integers(0, 4), "until": st.integers(0, 6)},
            optional={
                "flags": st.sampled_from([0x100, 0x300]),
                "status": st.sampled_from(["ok", "error"]),
                "name": st.sampled_from(
                    ["chat", "handoff to other", "Crew.kickoff", "tool", "ai.toolCall", "agent run"]
                ),
                "events": records,
                "logs": records,
                "dropped": st.integers(0, 2),
            },
        ),
    )


TURNS: list[dict[str, Any]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "q"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "name": "look", "arguments": "{}"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "name": "transfer_to_other", "arguments": {}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "bot"},
    {"role": "assistant", "content": "a"},
    {"role": "user", "content": "q"},
]
SLICES = [json.dumps(TURNS[start:end]) for start in range(len(TURNS)) for end in range(start + 1, len(TURNS) + 1)]
"""Histories that continue each other, or nearly."""
SAID = st.dictionaries(st.sampled_from(CONTENT_NAMES), st.sampled_from(SLICES), max_size=2)
FEW_RECORDS = st.lists(
    st.sampled_from(
        [
            {"name": "gen_ai.user.message", "at": 1, "attributes": {"content": "q"}},
            {"name": "gen_ai.choice", "at": 2, "body": {"message": {"content": "a"}, "index": 0}},
            {"name": "exception", "attributes": {"exception.type": "ValueError", "exception.message": "no"}},
            {"name": "gen_ai.client.inference.operation.details", "attributes": {CONTENT_NAMES[0]: SLICES[3]}},
        ]
    ),
    max_size=1,
)
TRACES = st.lists(_draft(SAID, FEW_RECORDS), max_size=MAX_SPANS)
"""Any tree, with messages that are sound."""
HOSTILE = st.lists(_draft(attributes(), RECORDS), min_size=1, max_size=3)
"""A few spans whose attributes hold anything."""
PIECES = st.lists(_draft(SAID, FEW_RECORDS), min_size=1, max_size=3)
"""What is repeated, to see how the work grows."""
RECORDED = disturbed_recordings()
"""What libraries really sent, disturbed: as deep as traces are."""
DRAFTS: dict[str, st.SearchStrategy[list[Draft]]] = {
    "traces": TRACES | RECORDED,
    "values": HOSTILE,
    "growth": PIECES,
}
