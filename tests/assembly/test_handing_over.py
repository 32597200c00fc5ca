"""Hand-offs, and sub-agents that tools call."""

from __future__ import annotations

from tests.assembly.building import agent, asks, brief, llm, returns, runs, says, span, tool
from tracescore.model import JSONValue

HELLO = [says("user", "hello")]
MOVE = asks("transfer_to_helper", {}, id="c1")
HELPED = says("assistant", "ok")
MOVED = returns('{"assistant": "helper"}', id="c1")


def test_the_next_sibling_of_a_transfer_is_its_child() -> None:
    found = runs(
        span("flow", until=30),
        agent("triage", parent="flow", at=1, until=9),
        llm("t1", parent="triage", at=2, given=HELLO, answer=MOVE),
        agent("helper", parent="flow", at=10, until=20),
        llm("h1", parent="helper", at=11, given=[*HELLO, MOVE, MOVED], answer=says("assistant", "done")),
    )

    triage, helper = found["triage"], found["helper"]
    assert (helper.parent_run_id, helper.outermost, triage.outermost) == (triage.run_id, False, True)
    assert brief(triage.output) == ["a: transfer_to_helper({}) -> None", "a: done"]
    assert triage.issues == ()
    assert brief(helper.input.input_messages) == ["u: hello"]
    assert brief(helper.input.remembered_messages) == ['a: transfer_to_helper({}) -> {"assistant": "helper"}']
    assert brief(helper.output) == ["a: done"]
    assert triage.usage.input == 10


def test_an_agent_that_has_a_last_word_after_it_handed_over_is_still_the_parent() -> None:
    called: dict[str, JSONValue] = {
        "gen_ai.tool.call.arguments": '{"agent_name": "helper"}',
        "gen_ai.tool.call.id": "c1",
    }
    move = asks("handoff_to_agent", {"agent_name": "helper"})
    found = runs(
        span("swarm", until=30),
        agent("triage", parent="swarm", at=1, until=9),
        llm("t1", parent="triage", at=2, given=HELLO, answer=move),
        tool("exec", called="handoff_to_agent", parent="triage", at=4, attributes=called),
        llm("t2", parent="triage", at=6, given=[*HELLO, move, returns("moving")], answer=says("assistant", "over")),
        agent("helper", parent="swarm", at=10, until=20),
        llm("h1", parent="helper", at=11, given=[says("user", "hello, from triage")], answer=says("assistant", "done")),
    )

    assert found["helper"].parent_run_id == found["triage"].run_id
    assert brief(found["triage"].output)[1:] == ["a: over", "a: done"]


def test_a_transfer_to_somebody_else_makes_no_child() -> None:
    found = runs(
        span("flow", until=30),
        agent("triage", parent="flow", at=1, until=9),
        llm("t1", parent="triage", at=2, given=HELLO, answer=asks("transfer_to_billing")),
        agent("helper", parent="flow", at=10, until=20),
        llm("h1", parent="helper", at=11, given=HELLO, answer=says("assistant", "done")),
    )

    assert found["helper"].outermost
    assert [issue.code for issue in found["triage"].issues] == ["tool_result_missing"]


def test_siblings_without_a_transfer_are_each_outermost() -> None:
    found = runs(
        span("flow", until=30),
        agent("one", parent="flow", at=1, until=9),
        llm("o1", parent="one", at=2, given=HELLO, answer=says("assistant", "first")),
        agent("two", parent="flow", at=10, until=20),
        llm("t1", parent="two", at=11, given=HELLO, answer=says("assistant", "second")),
    )

    assert {run.parent_run_id for run in found.values()} == {None}
    assert brief(found["one"].output) == ["a: first"]


def test_a_stated_parent_hands_over_without_any_call() -> None:
    stated = {"openinference.span.kind": "AGENT", "agent.name": "writer", "graph.node.parent_id": "planner"}
    found = runs(
        agent("planner", at=1, until=9),
        llm("p1", parent="planner", at=2, given=HELLO, answer=says("assistant", "plan")),
        span("writer", at=10, until=20, attributes={**stated}),
        llm("w1", parent="writer", at=11, given=HELLO, answer=says("assistant", "text")),
    )

    assert found["writer"].parent_run_id == found["planner"].run_id
    assert brief(found["planner"].output) == ["a: plan", "a: text"]


def test_a_hand_off_span_is_the_execution_of_its_call() -> None:
    hand_off = span(
        "handoff to helper",
        parent="triage",
        at=3,
        until=5,
        attributes={"openinference.span.kind": "TOOL", "input.value": "triage", "output.value": "helper"},
    )
    found = runs(
        span("flow", until=30),
        agent("triage", parent="flow", at=1, until=9),
        llm("t1", parent="triage", at=2, given=HELLO, answer=MOVE),
        hand_off,
        agent("helper", parent="flow", at=10, until=20),
        llm("h1", parent="helper", at=11, given=HELLO, answer=says("assistant", "done")),
    )

    (call,) = found["triage"].output.tool_calls
    assert (call.name, call.result, call.duration_ms) == ("transfer_to_helper", "helper", 2.0)


def test_an_agent_beneath_a_transfers_execution_took_over() -> None:
    found = runs(
        agent("triage", until=30),
        llm("t1", parent="triage", at=2, given=HELLO, answer=MOVE),
        tool("exec", called="transfer_to_helper", parent="triage", at=3, until=20),
        agent("helper", parent="exec", at=4, until=19),
        llm("h1", parent="helper", at=5, given=HELLO, answer=says("assistant", "done")),
    )

    assert found["helper"].parent_run_id == found["triage"].run_id
    assert brief(found["triage"].output) == ["a: transfer_to_helper({}) -> None", "a: done"]


def test_an_agent_that_is_asked_again_afterwards_answers_itself() -> None:
    found = runs(
        agent("triage", until=40),
        llm("t1", parent="triage", at=2, given=HELLO, answer=MOVE),
        agent("helper", parent="triage", at=4, until=19),
        llm("h1", parent="helper", at=5, given=HELLO, answer=says("assistant", "done")),
        llm("t2", parent="triage", at=30, given=[*HELLO, MOVE, MOVED], answer=says("assistant", "all done")),
    )

    assert brief(found["triage"].output)[-1] == "a: all done"
    assert len(found["triage"].output) == 2


def test_a_chain_of_hand_offs_ends_with_the_last_answer() -> None:
    found = runs(
        span("flow", until=90),
        agent("a", parent="flow", at=1, until=9),
        llm("a1", parent="a", at=2, given=HELLO, answer=asks("handoff_to_b")),
        agent("b", parent="flow", at=10, until=19),
        llm("b1", parent="b", at=12, given=HELLO, answer=asks("handoff_to_c")),
        agent("c", parent="flow", at=20, until=29),
        llm("c1", parent="c", at=22, given=HELLO, answer=says("assistant", "end")),
    )

    assert [found[name].parent_run_id for name in "abc"] == [None, found["a"].run_id, found["b"].run_id]
    assert [found[name].output.text for name in "abc"] == ["end", "end", "end"]


def test_a_sub_agents_answer_is_the_result_of_the_tool_that_called_it() -> None:
    found = runs(
        agent("boss", until=30),
        llm("b1", parent="boss", at=2, given=HELLO, answer=asks("ask", {"q": "?"})),
        tool("exec", called="ask", parent="boss", at=3, until=20),
        agent("sub", parent="exec", at=4, until=19),
        llm("s1", parent="sub", at=5, given=[says("user", "?")], answer=says("assistant", "answer")),
    )

    assert brief(found["boss"].output) == ["a: ask({'q': '?'}) -> answer"]
    assert (found["boss"].usage.input, found["sub"].usage.input) == (10, 10)


def test_a_sub_agent_beside_the_tool_and_in_its_time_answers_it() -> None:
    found = runs(
        agent("team", until=30),
        llm("b1", parent="team", at=2, given=HELLO, answer=asks("delegate", {"to": "member"})),
        tool("exec", called="delegate", parent="team", at=3, until=20),
        agent("member", parent="team", at=4, until=19),
        llm("s1", parent="member", at=5, given=[says("user", "?")], answer=says("assistant", "answer")),
    )

    assert brief(found["team"].output) == ["a: delegate({'to': 'member'}) -> answer"]
    assert found["member"].parent_run_id == found["team"].run_id


def test_a_model_call_inside_a_tool_counts_and_says_nothing() -> None:
    found = runs(
        agent("bot", until=30),
        llm("b1", parent="bot", at=2, given=HELLO, answer=asks("sum_up")),
        tool("exec", called="sum_up", parent="bot", at=3, until=20),
        llm("inside", parent="exec", at=5, given=[says("user", "sum up")], answer=says("assistant", "short")),
        llm(
            "b2", parent="bot", at=22, given=[*HELLO, asks("sum_up"), returns("short")], answer=says("assistant", "ok")
        ),
    )

    assert brief(found["bot"].output) == ["a: sum_up({}) -> short", "a: ok"]
    assert found["bot"].usage.input == 30


def test_both_agents_may_use_one_call_id() -> None:
    found = runs(
        agent("boss", until=40),
        llm("b1", parent="boss", at=2, given=HELLO, answer=asks("ask", id="same")),
        tool("exec", called="ask", parent="boss", at=3, until=30, attributes={"gen_ai.tool.call.id": "same"}),
        agent("sub", parent="exec", at=4, until=29),
        llm("s1", parent="sub", at=5, given=[says("user", "?")], answer=asks("look", id="same")),
        tool("look", called="look", parent="sub", at=7, until=8, attributes={"gen_ai.tool.call.id": "same"}),
        llm(
            "s2",
            parent="sub",
            at=9,
            given=[says("user", "?"), asks("look", id="same"), returns("seen", id="same")],
            answer=says("assistant", "found"),
        ),
        llm("b2", parent="boss", at=35, given=[*HELLO, asks("ask", id="same"), returns("found", id="same")]),
    )

    assert brief(found["boss"].output) == ["a: ask({}) -> found"]
    assert brief(found["sub"].output) == ["a: look({}) -> seen", "a: found"]


def test_sub_agents_beside_parallel_tools_each_answer_one() -> None:
    both = asks("delegate", {"to": "x"}, id="c1")
    both["parts"] += asks("delegate", {"to": "y"}, id="c2")["parts"]

    found = runs(
        agent("team", until=50),
        llm("b1", parent="team", at=1, given=HELLO, answer=both),
        tool("t1", called="delegate", parent="team", at=3, until=40, attributes={"gen_ai.tool.call.id": "c1"}),
        tool("t2", called="delegate", parent="team", at=4, until=41, attributes={"gen_ai.tool.call.id": "c2"}),
        agent("first", parent="team", at=5, until=20),
        llm("f1", parent="first", at=6, given=[says("user", "?")], answer=says("assistant", "one")),
        agent("second", parent="team", at=6, until=39),
        llm("s1", parent="second", at=7, given=[says("user", "?")], answer=says("assistant", "two")),
    )

    assert brief(found["team"].output) == ["a: delegate({'to': 'x'}) -> one | delegate({'to': 'y'}) -> two"]


def test_a_sub_agent_answers_the_tool_whose_arguments_name_it() -> None:
    other: dict[str, JSONValue] = {"gen_ai.tool.call.arguments": '{"to": "second"}', "gen_ai.tool.call.id": "c1"}
    mine: dict[str, JSONValue] = {"gen_ai.tool.call.arguments": '{"to": "first"}', "gen_ai.tool.call.id": "c2"}
    both = asks("delegate", {"to": "second"}, id="c1")
    both["parts"] += asks("delegate", {"to": "first"}, id="c2")["parts"]

    found = runs(
        agent("team", until=50),
        llm("b1", parent="team", at=1, given=HELLO, answer=both),
        tool("t1", called="delegate", parent="team", at=3, until=40, attributes=other),
        tool("t2", called="delegate", parent="team", at=4, until=41, attributes=mine),
        agent("first", parent="team", at=5, until=20),
        llm("f1", parent="first", at=6, given=[says("user", "?")], answer=says("assistant", "one")),
    )

    assert [call.result for call in found["team"].output.tool_calls] == [None, "one"]


def test_names_of_any_script_are_told_apart() -> None:
    transfer = asks("transfer_to_agent", {"agent_name": "退款"})

    found = runs(
        span("flow", until=60),
        agent("a", called="分诊", parent="flow", at=1, until=5),
        llm("a1", parent="a", at=2, given=HELLO, answer=transfer),
        agent("b", called="审计", parent="flow", at=6, until=9),
        llm("b1", parent="b", at=7, given=[says("user", "log")], answer=says("assistant", "logged")),
        agent("c", called="退款", parent="flow", at=10, until=19),
        llm("c1", parent="c", at=11, given=HELLO, answer=says("assistant", "paid")),
    )

    assert found["b"].outermost
    assert found["c"].parent_run_id == found["a"].run_id


def test_a_message_that_the_history_parts_is_still_what_another_said() -> None:
    there, back = asks("transfer_to_math", id="c1"), asks("transfer_back", id="c2", text="four")
    history = [*HELLO, there, returns("ok"), says("assistant", "four"), asks("transfer_back", id="c2")]

    found = runs(
        agent("lead", until=60),
        llm("l1", parent="lead", at=1, given=HELLO, answer=there),
        agent("math", parent="lead", at=3, until=20),
        llm("m1", parent="math", at=4, given=[*HELLO, there, returns("ok")], answer=back),
        llm("l2", parent="lead", at=21, given=[*history, returns("ok", id="c2")], answer=says("assistant", "it is 4")),
    )

    assert brief(found["lead"].output) == ["a: transfer_to_math({}) -> ok", "a: it is 4"]
    assert found["math"].issues == ()


def test_a_sub_agent_beside_its_caller_is_the_one_whose_answer_a_tool_gave_back() -> None:
    result: dict[str, JSONValue] = {"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "blue"}
    found = runs(
        span("flow", until=40),
        agent("boss", parent="flow", at=1, until=30),
        llm("b1", parent="boss", at=2, given=HELLO, answer=asks("ask")),
        tool("exec", called="ask", parent="boss", at=4, until=20, attributes=result),
        agent("sub", parent="flow", at=5, until=19),
        llm("s1", parent="sub", at=6, given=HELLO, answer=says("assistant", "blue")),
        agent("other", parent="flow", at=7, until=18),
        llm("p1", parent="other", at=8, given=HELLO, answer=says("assistant", "grey")),
    )

    assert [found[name].parent_run_id for name in ("sub", "other")] == [found["boss"].run_id, None]


def test_hand_overs_that_the_history_repeats_under_other_ids_were_the_others() -> None:
    first, second = (asks(f"transfer_to_{name}", id=f"c_{name}") for name in ("two", "three"))
    again = [
        part
        for name in ("two", "three")
        for part in (asks(f"transfer_to_{name}", id=f"fc_{name}"), returns("ok", id=f"c_{name}"))
    ]
    found = runs(
        span("flow", until=40),
        agent("one", parent="flow", at=1, until=9),
        llm("o1", parent="one", at=2, given=HELLO, answer=first),
        agent("two", parent="flow", at=10, until=19),
        llm("t1", parent="two", at=11, given=[*HELLO, *again[:2]], answer=second),
        agent("three", parent="flow", at=20, until=29),
        llm("h1", parent="three", at=21, given=[*HELLO, *again], answer=HELPED),
    )

    assert brief(found["three"].output) == ["a: ok"]
    assert brief(found["three"].input.remembered_messages) == [
        "a: transfer_to_two({}) -> ok",
        "a: transfer_to_three({}) -> ok",
    ]
