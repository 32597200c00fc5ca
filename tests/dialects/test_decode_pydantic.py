"""Pydantic AI's own messages, where a tracer that wraps its functions recorded them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.assembly.building import runs, span
from tracescore.dialects.unwrap import find_messages

CALL = {"part_kind": "tool-call", "tool_name": "look", "args": '{"city": "Paris"}', "tool_call_id": "c1"}
ASKED = {
    "kind": "request",
    "instructions": "Be brief.",
    "parts": [
        {"part_kind": "system-prompt", "content": "You look."},
        {"part_kind": "user-prompt", "content": "Paris?"},
    ],
}
ANSWERED = {"kind": "response", "parts": [{"part_kind": "text", "content": "18C."}], "finish_reason": "stop"}


def returned(**changes: Any) -> dict[str, Any]:
    part = {"part_kind": "tool-return", "tool_name": "look", "content": "18C", "tool_call_id": "c1", **changes}
    return {"kind": "request", "parts": [part]}


def mlflow(name: str, kind: str, given: Any, answered: Any, *, at: int, until: int, parent: str | None = None) -> Any:
    values = {"spanType": kind, "spanInputs": given, "spanOutputs": answered}
    attributes: dict[str, Any] = {f"mlflow.{key}": orjson.dumps(value).decode() for key, value in values.items()}
    attributes |= {"name": '"weather"'} if kind == "AGENT" else {}
    return span(name, parent=parent, at=at, until=until, attributes=attributes)


@pytest.mark.parametrize(
    ("changes", "result", "error"), [({}, "18C", None), ({"part_kind": "retry-prompt"}, "18C", "18C")]
)
def test_a_run_traced_by_wrapping_its_functions_reads_as_any_other(
    changes: dict[str, Any], result: str, error: str | None
) -> None:
    history = [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}, ANSWERED]
    asking = {"kind": "response", "parts": [{"part_kind": "thinking", "content": "hm"}, CALL]}
    done = {"output": "18C.", "_state": {"message_history": [ASKED, asking, returned(**changes), ANSWERED]}}
    prompt = {"user_prompt": "Paris?", "message_history": history}
    found = runs(
        mlflow("Agent.run_sync", "AGENT", prompt, done, at=0, until=90),
        mlflow("Agent.run", "AGENT", {**prompt, "infer_name": False}, done, at=1, until=80, parent="Agent.run_sync"),
        mlflow("m", "LLM", {"messages": [*history, ASKED]}, asking, at=2, until=9, parent="Agent.run"),
        mlflow(
            "n",
            "LLM",
            {"messages": [*history, ASKED, asking, returned(**changes)]},
            ANSWERED,
            at=20,
            until=29,
            parent="Agent.run",
        ),
    )
    (run,) = found.values()

    assert run.agent_name == "weather"
    assert [message.content for message in run.input.system_messages] == ["Be brief.", "You look."]
    assert [message.content for message in run.input.remembered_messages] == ["Hi", "18C."]
    assert [message.content for message in run.input.input_messages] == ["Paris?"]
    (call,) = run.output.tool_calls
    assert (call.name, call.arguments, call.result, call.error) == ("look", {"city": "Paris"}, result, error)
    assert run.output[-1].content == "18C."
    assert run.issues == ()


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "request", "parts": "text"},
        {"kind": "request", "parts": [1]},
        {"kind": ["request"], "parts": []},
        {"user_prompt": "x", "temperature": 1},
        {"_state": 1, "output": "x"},
        [{"kind": "request", "parts": None}, 3],
    ],
)
def test_what_only_looks_like_them_is_left_to_other_readers(value: Any) -> None:
    found = find_messages(value, "user")

    assert found is None or found.elements in ([value], value)


def test_the_thread_that_a_graph_notes_is_the_session() -> None:
    call = mlflow("m", "LLM", {"messages": [ASKED]}, ANSWERED, at=2, until=9)
    call.attributes["metadata"] = '{"thread_id": "t-9", "langgraph_step": 1}'

    assert [run.session_id for run in runs(call).values()] == ["t-9"]
