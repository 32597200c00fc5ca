"""What an agent answered, where a library writes it in a way of its own."""

from __future__ import annotations

from tests.assembly.building import agent, asks, brief, llm, returns, runs, says, span
from tracescore.model import DataPart, JSONValue, SpanEvent

ASK = says("user", "how is it?")
DONE = says("assistant", "fine")


def test_an_object_that_a_strands_agent_ends_with_is_its_answer() -> None:
    choice: dict[str, JSONValue] = {"message": '{"city": "Paris"}', "finish_reason": "tool_use"}
    asked = llm("call", parent="bot", given=[says("user", "hi")], answer=asks("Place", {"city": "Paris"}))
    found = runs(agent("bot", until=9, events=(SpanEvent(name="gen_ai.choice", time_ns=5, attributes=choice),)), asked)

    assert found["bot"].output[-1].parts == (DataPart(data={"city": "Paris"}),)


def test_what_tools_returned_answers_the_calls_of_a_history_that_the_provider_keeps() -> None:
    (run,) = runs(
        span("app", until=9),
        llm("one", parent="app", at=1, given=[ASK], answer=asks("look", id="fc_1")),
        llm("two", parent="app", at=3, given=[returns("blue", id="call_1")], answer=DONE),
    ).values()

    assert brief(run.output) == ["a: look({}) -> blue", "a: fine"]
    assert run.issues == ()


def test_what_a_history_says_beside_a_call_that_its_own_span_left_out_is_kept() -> None:
    thought = {"type": "reasoning", "content": "hm"}
    failed = {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "dark"}
    call = asks("look", text="I look")
    history = [
        ASK,
        {**call, "parts": [thought, *call["parts"]]},
        returns("dark"),
        {"role": "user", "content": [failed]},
    ]
    (run,) = runs(
        span("app", until=9),
        llm("one", parent="app", at=1, given=[ASK], answer=asks("look")),
        llm("two", parent="app", at=3, given=history, answer=DONE),
    ).values()

    assert brief(run.output) == ["a: (hm) | I look | look({}) -> !dark", "a: fine"]
