"""How the work of assembling grows: counted by lines of Python run, so that no busy machine is in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any

from tests.fuzz.drafts import Draft, trace_of
from tracescore.pipeline.assembly import assemble

_LEAST = 80
"""More than agents may nest in agents: until then the sets of spans of nested runs grow."""


def work_of(drafts: Sequence[Draft]) -> int:
    """Count the lines that assembling the drafts runs."""
    trace = trace_of(drafts)
    lines = 0

    def seen(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        lines += 1
        return seen

    before = sys.gettrace()
    sys.settrace(seen)
    try:
        assemble(trace)
    finally:
        sys.settrace(before)
    return lines


MOST_GROWTH = 2.3
"""Of what doubling adds to the work, over what the doubling before added: 2 where linear, 4 where quadratic."""


def growth_of(shape: Callable[[int], Sequence[Draft]], least: int) -> float:
    """Tell what the second doubling from ``least`` adds to the work, over what the first adds."""
    work_of(shape(least))  # what is learned once about the names of attributes is no part of it
    once, twice, four_times = (work_of(shape(count)) for count in (least, 2 * least, 4 * least))
    return (four_times - twice) / max(1, twice - once)


def check_growth(drafts: Sequence[Draft]) -> None:
    """Repeat a piece of a trace beside itself and inside itself, and hold the work against a straight line."""
    for nested in (False, True):
        shape = partial(_repeated, drafts, nested=nested)
        grown = growth_of(shape, _LEAST)
        if grown >= MOST_GROWTH:  # what climbs a bounded number of spans grows until there are as many
            grown = growth_of(shape, 4 * _LEAST)
        assert grown < MOST_GROWTH, f"{'nested' if nested else 'in a row'}, the work grows {grown:.2f} times"


def _repeated(drafts: Sequence[Draft], times: int, *, nested: bool) -> list[Draft]:
    """Repeat a piece of a trace, one piece after the other or each inside the one before."""
    size = len(drafts)
    found: list[Draft] = []
    for number in range(times):
        for draft in drafts:
            parent = draft.get("parent")
            if parent is not None:
                parent += number * size
            elif nested and number:
                parent = (number - 1) * size
            later = 10 * number
            found.append({**draft, "parent": parent, "at": draft["at"] + later, "until": draft["until"] + later})
    return found


def _agent(**attributes: Any) -> Draft:
    base = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"}
    return {"at": 0, "until": 9, "attributes": {**base, **attributes}}


def _call(**more: Any) -> list[Draft]:
    """Give an agent with one model call that has the attributes, events or logs."""
    attributes = {"gen_ai.operation.name": "chat", **more.pop("attributes", {})}
    return [_agent(), {"parent": 0, "at": 1, "until": 2, "attributes": attributes, **more}]


def _flat(prefix: str, fields: Callable[[int], dict[str, Any]], count: int) -> list[Draft]:
    named = {f"{prefix}{number}.{key}": value for number in range(count) for key, value in fields(number).items()}
    return _call(attributes={"openinference.span.kind": "LLM", **named})


def _said(parts: list[dict[str, Any]], role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "parts": parts}


def _messages(count: int) -> list[dict[str, Any]]:
    asked = [_said([{"type": "text", "content": f"q{number}"}], "user") for number in range(count)]
    return [message for ask in asked for message in (ask, _said([{"type": "text", "content": "a"}]))]


def _asked(*texts: str) -> str:
    return json.dumps([_said([{"type": "text", "content": text}], "user") for text in texts])


def _tools(count: int) -> list[dict[str, Any]]:
    calls = [{"type": "tool_call", "id": f"c{number}", "name": "look", "arguments": {}} for number in range(count)]
    came = [{"type": "tool_call_response", "id": f"c{number}", "response": "x"} for number in range(count)]
    return [_said([{"type": "text", "content": "q"}], "user"), _said(calls), _said(came, "tool")]


def _same_id(count: int) -> list[Draft]:
    calls = [{"type": "tool_call", "id": "c", "name": "look", "arguments": {}} for _ in range(count)]
    spans = [
        {
            "parent": 0,
            "at": 3 + number,
            "until": 4 + number,
            "attributes": {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "look",
                "gen_ai.tool.call.id": "c",
            },
        }
        for number in range(count)
    ]
    return [*_call(attributes={"gen_ai.output.messages": json.dumps([_said(calls)])}), *spans]


def _record(given: Sequence[tuple[str, Any]], answered: Sequence[tuple[str, Any]]) -> list[Draft]:
    """Give a call whose messages stand in one log record, by role."""
    sides = {"input": given, "output": answered}
    body = {
        side: {"messages": [{"role": role, "content": {"content": content}} for role, content in said]}
        for side, said in sides.items()
    }
    return _call(logs=[{"body": body}])


def _asked_by_nobody(count: int) -> list[Draft]:
    """Give agents that tools hold, beside calls that record no answer: any of these may have asked for any of those."""
    silent = [{"at": 0, "until": 1, "attributes": {"gen_ai.operation.name": "chat"}} for _ in range(3 * count)]
    tools = [{"at": 2, "until": 9, "attributes": {"gen_ai.operation.name": "execute_tool"}} for _ in range(count)]
    agents = [{**_agent(), "parent": 3 * count + place, "at": 3} for place in range(count)]
    return [*silent, *tools, *agents]


SHAPES: dict[str, Callable[[int], list[Draft]]] = {
    "messages of one call": lambda n: _call(attributes={"gen_ai.input.messages": json.dumps(_messages(n))}),
    "tool calls of one message": lambda n: _call(attributes={"gen_ai.input.messages": json.dumps(_tools(n))}),
    "tool calls of one id, with spans": _same_id,
    "parts of one message": lambda n: _call(
        attributes={
            "gen_ai.output.messages": json.dumps([_said([{"type": "text", "content": f"p{i}"} for i in range(n)])])
        }
    ),
    "blocks of a flattened message": lambda n: _flat(
        "llm.input_messages.0.message.contents.",
        lambda i: {"message_content.type": "text", "message_content.text": f"b{i}"},
        n,
    ),
    "flattened messages": lambda n: _flat(
        "llm.input_messages.", lambda i: {"message.role": "user", "message.content": f"m{i}"}, n
    ),
    "flattened tool calls": lambda n: _flat(
        "llm.output_messages.0.message.tool_calls.",
        lambda i: {"tool_call.id": f"c{i}", "tool_call.function.name": "look"},
        n,
    ),
    "flattened prompts": lambda n: _flat("gen_ai.prompt.", lambda i: {"role": "user", "content": f"m{i}"}, n),
    "events of one span": lambda n: _call(
        events=[{"name": "gen_ai.user.message", "at": i, "attributes": {"content": f"m{i}"}} for i in range(n)]
    ),
    "log records of one span": lambda n: _call(
        logs=[{"name": "gen_ai.user.message", "at": i, "body": {"content": f"m{i}"}} for i in range(n)]
    ),
    "documents": lambda n: _flat("retrieval.documents.", lambda i: {"document.content": f"d{i}"}, n),
    "text fragments": lambda n: _call(
        attributes={"gen_ai.output.messages": json.dumps([_said([{"type": "text", "content": "x"}]) for _ in range(n)])}
    ),
    "response ids": lambda n: [
        _agent(),
        *(
            {
                "parent": 0,
                "at": i,
                "until": n,
                "attributes": {"gen_ai.operation.name": "chat", "gen_ai.response.id": "r"},
            }
            for i in range(n)
        ),
    ],
    "one id in nested calls": lambda n: [
        {
            "parent": i - 1 if i else None,
            "at": i,
            "until": 2 * n - i,
            "attributes": {"gen_ai.operation.name": "chat", "gen_ai.response.id": "r"},
        }
        for i in range(n)
    ],
    "hand-offs": lambda n: [
        {
            **_agent(**{"gen_ai.agent.name": f"a{i % 3}", "graph.node.parent_id": f"a{(i + 1) % 3}"}),
            "at": i,
            "until": i + 1,
        }
        for i in range(n)
    ],
    "agents of tools, beside silent calls": _asked_by_nobody,
    "conversations of one agent": lambda n: [
        _agent(),
        *(
            {
                "parent": 0,
                "at": i,
                "until": i + 1,
                "attributes": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": _asked(f"q{i}")},
            }
            for i in range(n)
        ),
    ],
    "conversations that begin alike": lambda n: [
        _agent(),
        *(
            {
                "parent": 0,
                "at": i,
                "until": i + 1,
                "attributes": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": _asked("q", f"and {i}")},
            }
            for i in range(n)
        ),
    ],
    "empty agents beside their twins": lambda n: [
        {"at": 0, "until": 4 * n, "attributes": {}},
        *({"parent": 0, "at": i, "until": i + 1, "attributes": _agent()["attributes"]} for i in range(n)),
        *(
            {"parent": 0, "at": n + i, "until": n + i + 1, "name": "x", "attributes": {"gen_ai.agent.name": "bot"}}
            for i in range(n)
        ),
        *(
            {
                "parent": n + 1 + i,
                "at": n + i,
                "until": n + i + 1,
                "attributes": {"gen_ai.operation.name": "chat", "gen_ai.output.messages": _asked("x")},
            }
            for i in range(n)
        ),
    ],
    "items of one turn": lambda n: _call(
        attributes={
            "gen_ai.output.messages": json.dumps(
                [{"type": "function_call", "call_id": f"c{i}", "name": "look"} for i in range(n)]
            )
        }
    ),
    "replies that call, of a log record": lambda n: _record(
        [("tool", [{"toolResult": {"toolUseId": f"c{i}", "content": [{"text": "x"}]}}]) for i in range(n)],
        [("assistant", [{"toolUse": {"toolUseId": f"c{i}", "name": "look", "input": {}}}]) for i in range(n)],
    ),
    "replies of a log record": lambda n: _record(
        [("user", f"q{i}") for i in range(n)], [("assistant", f"a{i}") for i in range(n)]
    ),
}
