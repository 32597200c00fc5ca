"""What of a conversation is input, memory and output."""

from __future__ import annotations

import pytest

from tests.assembly.building import agent, asks, brief, dumped, llm, returns, runs, says, span, tool
from tracescore.model import DataPart, JSONValue, Message, TextPart

SYSTEM = says("system", "be brief")
PAST = [says("user", "hi"), says("assistant", "hello")]
ASK = says("user", "how is it?")
DONE = says("assistant", "fine")


def test_the_last_user_message_is_the_input_and_what_is_before_it_is_remembered() -> None:
    run = runs(agent("bot", until=9), llm("one", parent="bot", at=1, given=[SYSTEM, *PAST, ASK], answer=DONE))["bot"]

    assert brief(run.input.system_messages) == ["s: be brief"]
    assert brief(run.input.remembered_messages) == ["u: hi", "a: hello"]
    assert brief(run.input.input_messages) == ["u: how is it?"]
    assert brief(run.output) == ["a: fine"]


def test_user_messages_right_before_the_last_belong_to_the_input() -> None:
    run = runs(llm("one", given=[says("user", "look:"), ASK], answer=DONE))["one"]

    assert brief(run.input.input_messages) == ["u: look:", "u: how is it?"]


def test_an_answer_equal_to_a_remembered_one_is_output_all_the_same() -> None:
    run = runs(llm("one", given=[says("user", "hi"), DONE, ASK], answer=DONE))["one"]

    assert brief(run.input.remembered_messages) == ["u: hi", "a: fine"]
    assert brief(run.output) == ["a: fine"]


def test_what_nobody_else_said_behind_the_input_opens_the_output() -> None:
    given = [ASK, asks("look", {"at": "sky"}), returns("blue")]

    run = runs(llm("two", given=given, answer=DONE))["two"]

    assert brief(run.output) == ["a: look({'at': 'sky'}) -> blue", "a: fine"]


def test_results_in_memory_fold_into_their_calls() -> None:
    given = [says("user", "hi"), asks("look"), returns("blue"), says("assistant", "blue"), ASK]

    run = runs(llm("two", given=given, answer=DONE))["two"]

    assert brief(run.input.remembered_messages) == ["u: hi", "a: look({}) -> blue", "a: blue"]


def test_results_without_ids_join_by_name_and_order() -> None:
    calls = {"role": "assistant", "parts": [{"type": "tool_call", "name": n, "arguments": {}} for n in ("a", "b", "a")]}
    results = [returns(v, id=None, name=n) for n, v in (("a", 1), ("a", 2), ("b", 3))]

    run = runs(llm("two", given=[ASK, calls, *results], answer=DONE))["two"]

    assert [(call.name, call.result) for call in run.output.tool_calls] == [("a", 1), ("b", 3), ("a", 2)]


def test_the_agents_own_list_of_messages_counts_as_input() -> None:
    templated = says("user", "Current task: how is it? Answer in JSON.")
    own = {"gen_ai.input.messages": dumped([*PAST, ASK])}

    run = runs(
        agent("bot", until=9, attributes=own),
        llm("one", parent="bot", at=1, given=[*PAST, templated], answer=DONE),
    )["bot"]

    assert brief(run.input.input_messages) == ["u: how is it?"]
    assert brief(run.input.remembered_messages) == ["u: hi", "a: hello"]


def test_the_agents_own_text_counts_only_where_the_calls_carry_nothing() -> None:
    own = {"openinference.span.kind": "AGENT", "input.value": "raw", "output.value": "said"}

    with_content = runs(
        span("bot", until=9, attributes={**own}), llm("one", parent="bot", at=1, given=[ASK], answer=DONE)
    )["bot"]
    without = runs(span("bot", until=9, attributes={**own}), llm("one", parent="bot", at=1))["bot"]

    assert brief(with_content.input.input_messages) == ["u: how is it?"]
    assert brief(without.input.input_messages) == ["u: raw"]
    assert brief(without.output) == ["a: said"]


def test_what_the_agents_span_repeats_is_said_once() -> None:
    own = {"gen_ai.output.messages": dumped([says("assistant", "fine\n")])}

    run = runs(agent("bot", until=9, attributes=own), llm("one", parent="bot", at=1, given=[ASK], answer=DONE))["bot"]

    assert brief(run.output) == ["a: fine"]


def test_a_structured_object_ends_the_output() -> None:
    own = {"openinference.span.kind": "AGENT", "output.value": '{"mood": "good"}'}

    run = runs(span("bot", until=9, attributes={**own}), llm("one", parent="bot", at=1, given=[ASK], answer=DONE))[
        "bot"
    ]

    assert list(run.output) == [
        Message(role="assistant", parts=(TextPart(text="fine"),)),
        Message(role="assistant", parts=(DataPart(data={"mood": "good"}),)),
    ]


def test_a_structured_answer_beside_the_messages_of_a_state_ends_the_output() -> None:
    state = {"messages": [ASK, DONE], "structured_response": {"mood": "good"}}
    own = {"openinference.span.kind": "CHAIN", "output.value": dumped(state)}

    run = runs(span("flow", until=9, attributes={**own}), llm("one", parent="flow", at=1, given=[ASK], answer=DONE))[
        "flow"
    ]

    assert list(run.output)[1:] == [Message(role="assistant", parts=(DataPart(data={"mood": "good"}),))]


@pytest.mark.parametrize("recorded", ['{"output": "fine"}', '{"messages": [{"role": "assistant", "content": "fine"}]}'])
def test_a_wrapper_around_the_final_text_is_no_second_answer(recorded: str) -> None:
    own = {"openinference.span.kind": "AGENT", "output.value": recorded}

    run = runs(span("bot", until=9, attributes={**own}), llm("one", parent="bot", at=1, given=[ASK], answer=DONE))[
        "bot"
    ]

    assert brief(run.output) == ["a: fine"]


def test_without_model_calls_the_agents_span_and_its_tools_make_the_run() -> None:
    own = {
        "gen_ai.input.messages": dumped([*PAST, ASK]),
        "gen_ai.output.messages": dumped([DONE]),
        "gen_ai.system_instructions": dumped([{"type": "text", "content": "be brief"}]),
    }
    recorded = {"gen_ai.tool.call.arguments": '{"at": "sky"}', "gen_ai.tool.call.result": "blue"}

    run = runs(
        agent("bot", until=9, attributes=own),
        tool("exec", called="look", parent="bot", at=2, until=4, attributes={**recorded}),
    )["bot"]

    assert brief(run.input.system_messages) == ["s: be brief"]
    assert brief(run.input.input_messages) == ["u: how is it?"]
    assert brief(run.output) == ["a: look({'at': 'sky'}) -> blue", "a: fine"]
    assert run.issues == ()


def test_calls_known_only_from_their_spans_stand_in_the_output() -> None:
    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, until=3),
        tool("t1", called="look", parent="bot", at=4, until=6),
        tool("t2", called="listen", parent="bot", at=5, until=7),
        llm("two", parent="bot", at=9, until=12),
    )["bot"]

    assert brief(run.output) == ["a: look(None) -> None | listen(None) -> None"]
    assert [issue.code for issue in run.issues] == ["content_not_captured"]


def test_an_answer_that_only_the_next_call_shows_stands_where_it_was_given() -> None:
    hidden = [ASK, asks("look"), returns("blue"), asks("listen", id="c2"), returns("wind", id="c2")]

    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK], answer=asks("look")),
        llm("three", parent="bot", at=9, given=hidden, answer=DONE),
    )["bot"]

    assert brief(run.output) == ["a: look({}) -> blue", "a: listen({}) -> wind", "a: fine"]


def test_a_call_whose_answer_was_not_recorded_is_filled_from_the_next() -> None:
    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK]),
        llm("two", parent="bot", at=9, given=[ASK, asks("look"), returns("blue")], answer=DONE),
    )["bot"]

    assert brief(run.output) == ["a: look({}) -> blue", "a: fine"]


def test_a_second_conversation_inside_a_run_repeats_nothing() -> None:
    other = [says("system", "judge"), says("user", "is it safe?"), says("assistant", "maybe"), says("user", "sure?")]

    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK], answer=asks("look")),
        llm("guard", parent="bot", at=4, given=other, answer=says("assistant", "safe")),
        llm("two", parent="bot", at=9, given=[ASK, asks("look"), returns("blue")], answer=DONE),
    )["bot"]

    assert brief(run.output) == ["a: look({}) -> blue", "a: safe", "a: fine"]


def test_a_history_cut_short_still_answers_its_calls() -> None:
    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[*PAST, ASK], answer=asks("look")),
        llm("two", parent="bot", at=9, given=[asks("look"), returns("blue")], answer=DONE),
    )["bot"]

    assert brief(run.output) == ["a: look({}) -> blue", "a: fine"]


def test_a_system_message_written_anew_continues_the_conversation() -> None:
    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[says("system", "step 1"), ASK], answer=asks("look")),
        llm("two", parent="bot", at=9, given=[says("system", "step 2"), ASK, asks("look"), returns("x")], answer=DONE),
    )["bot"]

    assert brief(run.input.system_messages) == ["s: step 1"]
    assert brief(run.output) == ["a: look({}) -> x", "a: fine"]


def test_instructions_apart_and_among_the_messages_are_one() -> None:
    apart = {"gen_ai.system_instructions": dumped([{"type": "text", "content": "be brief"}])}

    run = runs(llm("one", given=[SYSTEM, ASK], answer=DONE, attributes={**apart}))["one"]

    assert brief(run.input.system_messages) == ["s: be brief"]


def test_instructions_of_several_parts_and_a_message_for_each_are_one() -> None:
    apart: dict[str, JSONValue] = {
        "gen_ai.system_instructions": dumped(
            [{"type": "text", "content": "be brief"}, {"type": "text", "content": "be kind"}]
        )
    }
    given = [says("system", "be brief\n"), says("system", "be kind"), ASK]

    run = runs(agent("bot", until=9), llm("one", parent="bot", at=1, given=given, answer=DONE, attributes=apart))["bot"]

    assert brief(run.input.system_messages) == ["s: be brief | be kind"]


def test_system_messages_of_a_stated_origin_are_kept_by_it() -> None:
    memory = {**says("system", "likes tea"), "tag": "memory"}

    run = runs(llm("one", given=[SYSTEM, memory, ASK], answer=DONE))["one"]

    assert brief(run.input.system_messages) == ["s: be brief"]
    assert {tag: brief(said) for tag, said in run.input.tagged_system_messages.items()} == {"memory": ["s: likes tea"]}


def test_a_message_that_quotes_another_agent_is_no_input() -> None:
    quote = says("user", "For context:\n[triage] said: on it")

    run = runs(llm("one", given=[ASK, quote], answer=DONE))["one"]

    assert brief(run.input.input_messages) == ["u: how is it?"]
    assert brief(run.input.remembered_messages) == ["u: For context:\n[triage] said: on it"]


def test_a_user_message_that_another_agent_said_is_no_input_where_one_is_left() -> None:
    def editor(*given: dict[str, object]) -> list[str]:
        found = runs(
            span("team", until=40),
            agent("writer", parent="team", at=1, until=9),
            llm("w1", parent="writer", at=2, given=[ASK], answer=says("assistant", "draft")),
            agent("editor", parent="team", at=10, until=20),
            llm("e1", parent="editor", at=12, given=list(given), answer=DONE),
        )
        return brief(found["editor"].input.input_messages)

    assert editor(ASK, says("user", "draft")) == ["u: how is it?"]
    assert editor(says("user", "draft")) == ["u: draft"]
    assert editor(*PAST, says("user", "draft")) == ["u: draft"]


def test_of_several_alternatives_the_first_is_the_answer() -> None:
    both = dumped([says("assistant", "one", finish_reason="stop"), says("assistant", "two", finish_reason="stop")])

    run = runs(llm("call", given=[ASK], attributes={"gen_ai.output.messages": both}))["call"]

    assert brief(run.output) == ["a: one"]


def test_reasoning_is_a_part_and_no_text() -> None:
    thought = {
        "role": "assistant",
        "parts": [{"type": "reasoning", "content": "hm"}, {"type": "text", "content": "ok"}],
    }

    run = runs(llm("call", given=[ASK], answer=thought))["call"]

    assert brief(run.output) == ["a: (hm) | ok"]
    assert run.output.text == "ok"


def test_a_loop_recorded_as_one_call_repeats_none_of_its_calls() -> None:
    stale = {"role": "assistant", "parts": [{"type": "text", "content": "fine"}, *asks("look", id=None)["parts"]]}

    run = runs(llm("loop", given=[ASK, asks("look", id=None), returns("x", id=None, name="look")], answer=stale))[
        "loop"
    ]

    assert brief(run.output) == ["a: look({}) -> x", "a: fine"]
    assert run.issues == ()


def test_a_tool_that_is_polled_is_called_each_time() -> None:
    poll = {"role": "assistant", "parts": [{"type": "text", "content": "again"}, *asks("look", id=None)["parts"]]}
    given = [ASK, asks("look", id=None), returns("busy", id=None, name="look")]

    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK], answer=asks("look", id=None)),
        tool("t1", called="look", parent="bot", at=3, until=4),
        llm("two", parent="bot", at=5, given=given, answer=poll),
        tool("t2", called="look", parent="bot", at=7, until=8, attributes={"gen_ai.tool.call.result": "done"}),
    )["bot"]

    assert brief(run.output) == ["a: look({}) -> busy", "a: again | look({}) -> done"]


def test_a_tool_that_a_client_ran_inside_a_call_stands_before_its_answer() -> None:
    run = runs(
        llm("call", at=0, until=9, given=[ASK], answer=DONE),
        tool("exec", called="look", parent="call", at=2, until=4, attributes={"gen_ai.tool.call.result": "x"}),
    )["call"]

    assert brief(run.output) == ["a: look(None) -> x", "a: fine"]


def test_a_call_that_the_history_gives_another_id_is_said_once() -> None:
    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK], answer=asks("look", {"at": 1}, id="call_1")),
        tool("exec", called="look", parent="bot", at=2, until=4, attributes={"gen_ai.tool.call.result": "x"}),
        llm("two", parent="bot", at=9, given=[ASK, asks("look", {"at": 1}, id="fc_1")], answer=DONE),
    )["bot"]

    assert brief(run.output) == ["a: look({'at': 1}) -> x", "a: fine"]


def test_the_messages_of_the_workflow_around_stand_in_where_nothing_else_is_recorded() -> None:
    around = {
        "openinference.span.kind": "CHAIN",
        "input.value": dumped({"new_message": {"role": "user", "parts": [{"text": "q"}]}}),
    }

    run = runs(
        span("flow", until=30, attributes={**around}),
        agent("bot", parent="flow", at=1, until=9),
        llm("one", parent="bot", at=2, status="error"),
    )["bot"]

    assert brief(run.input.input_messages) == ["u: q"]
    assert run.status == "error"


def test_a_function_that_gemini_called_gives_what_it_returned() -> None:
    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=[ASK], answer=asks("look", id=None)),
        llm(
            "two",
            parent="bot",
            at=9,
            given=[ASK, asks("look", id=None), returns({"result": "blue"}, id=None, name="look")],
            answer=DONE,
            attributes={"gen_ai.provider.name": "gcp.gemini"},
        ),
    )["bot"]

    assert brief(run.output) == ["a: look({}) -> blue", "a: fine"]
