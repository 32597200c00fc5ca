"""What an agent answered, where a library writes it in a way of its own."""

from __future__ import annotations

import orjson
import pytest

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


def test_an_object_that_a_loop_and_its_call_both_record_is_said_once() -> None:
    loop: dict[str, JSONValue] = {"ai.operationId": "ai.generateObject", "ai.response.object": '{"city": "Paris"}'}
    call = {
        **loop,
        "ai.operationId": "ai.generateObject.doGenerate",
        "ai.prompt.messages": '[{"role": "user", "content": "?"}]',
    }
    (run,) = runs(span("loop", until=9, attributes=loop), span("call", parent="loop", at=1, attributes=call)).values()

    assert [message.parts for message in run.output] == [(DataPart(data={"city": "Paris"}),)]


def test_a_prompt_of_a_call_that_never_ended_is_the_input() -> None:
    asked: dict[str, JSONValue] = {"ai.operationId": "ai.streamText", "ai.prompt": '{"prompt":"hello?"}'}

    assert brief(runs(span("loop", attributes=asked))["loop"].input.input_messages) == ["u: hello?"]


def test_an_answer_that_the_history_parts_into_messages_under_other_ids_is_one() -> None:
    parts = [{"type": "tool_call", "id": f"c{n}", "name": "look", "arguments": {"at": n}} for n in (1, 2)]
    reply = {"role": "assistant", "parts": [{"type": "text", "content": "I look"}, *parts]}
    parted = [says("assistant", "I look"), asks("look", {"at": 1}, id="fc_1"), asks("look", {"at": 2}, id="fc_2")]
    history = [ASK, *parted, returns("blue", id="c1"), returns("grey", id="c2")]
    found = runs(
        span("flow", until=30),
        agent("one", parent="flow", at=1, until=9),
        llm("o1", parent="one", at=2, given=[ASK], answer=reply),
        llm("o2", parent="one", at=4, given=history, answer=DONE),
        agent("two", parent="flow", at=10, until=19),
        llm("t1", parent="two", at=11, given=[*history, says("user", "and?")], answer=DONE),
    )

    assert brief(found["one"].output) == ["a: I look | look({'at': 1}) -> blue | look({'at': 2}) -> grey", "a: fine"]
    assert brief(found["two"].input.remembered_messages)[2:] == [
        "a: look({'at': 1}) -> blue",
        "a: look({'at': 2}) -> grey",
    ]
    assert found["one"].issues == ()


@pytest.mark.parametrize("left_out", ["answer", "history"])
def test_calls_that_one_side_leaves_out_are_of_the_answer_with_that_text(left_out: str) -> None:
    text, whole = says("assistant", "I look"), asks("look", text="I look")
    answer, repeated = (text, whole) if left_out == "answer" else (whole, text)
    (run,) = runs(
        span("app", until=9),
        llm("one", parent="app", at=1, given=[ASK], answer=answer),
        llm("two", parent="app", at=3, given=[ASK, repeated, returns("blue")], answer=DONE),
    ).values()

    assert brief(run.output) == ["a: I look | look({}) -> blue", "a: fine"]


@pytest.mark.parametrize(
    ("pieces", "output"),
    [(("fi", "ne "), ["a: fine"]), (("so ", "fine"), ["a: so  | fine | fine"]), (("fine",), ["a: fine"])],
)
def test_a_stream_that_is_recorded_piece_by_piece_and_then_whole_is_said_once(
    pieces: tuple[str, ...], output: list[str]
) -> None:
    """So does Google ADK 2 where it streams: a piece has no reason for which it ended."""
    said = [{**says("assistant", piece), "finish_reason": ""} for piece in pieces]
    answer = [*said, {**DONE, "finish_reason": "stop"}]
    attributes: dict[str, JSONValue] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": orjson.dumps([ASK]).decode(),
        "gen_ai.output.messages": orjson.dumps(answer).decode(),
    }
    (run,) = runs(span("call", until=9, attributes=attributes)).values()

    assert brief(run.output) == output
