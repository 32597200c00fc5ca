"""Which runs a trace holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.assembly.building import agent, asks, brief, llm, returns, runs, says, span, span_id, tool, trace
from tracescore.dialects import KNOWN_DIALECTS, DialectSet, Reading
from tracescore.model import LogRecord, Span
from tracescore.pipeline.assembly import assemble

HELLO = [says("user", "hello")]
HI = says("assistant", "hi")


def test_a_trace_without_an_agent_span_is_one_run_on_its_root() -> None:
    found = runs(
        span("app", until=9),
        llm("one", parent="app", at=1, given=HELLO, answer=asks("look")),
        llm("two", parent="app", at=5, given=[*HELLO, asks("look"), returns("seen")], answer=HI),
    )

    assert found.keys() == {"app"}
    run = found["app"]
    assert (run.kind, run.agent_name, run.outermost, run.parent_run_id) == ("trace", None, True, None)
    assert brief(run.output) == ["a: look({}) -> seen", "a: hi"]
    assert (run.usage.input, run.usage.output) == (20, 4)


def test_a_trace_of_no_model_traffic_has_no_run() -> None:
    assert runs(span("GET /"), tool("lone", called="look")) == {}


def test_setting_an_agent_up_is_no_run() -> None:
    setup = span("made", attributes={"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "bot"})

    assert runs(setup) == {}


def test_a_wrapper_of_agents_gives_them_its_place_and_its_session() -> None:
    wrapper = span("team", until=9, attributes={"openinference.span.kind": "AGENT", "session.id": "s1"})

    found = runs(
        wrapper,
        agent("a", parent="team", at=1, until=4),
        llm("a1", parent="a", at=2, given=HELLO, answer=HI),
        agent("b", parent="team", at=5, until=8),
        llm("b1", parent="b", at=6, given=HELLO, answer=HI),
    )

    assert found.keys() == {"a", "b"}
    assert {(run.session_id, run.outermost, run.agent_name) for run in found.values()} == {
        ("s1", True, "a"),
        ("s1", True, "b"),
    }


def test_an_agent_inside_a_workflow_is_an_outermost_run() -> None:
    step = span("step", parent="flow", until=9, attributes={"gen_ai.operation.name": "execute_task"})

    found = runs(
        span("flow", until=10, attributes={"gen_ai.operation.name": "invoke_workflow"}),
        step,
        agent("bot", parent="step", at=1, until=8),
        llm("call", parent="bot", at=2, given=HELLO, answer=HI),
    )

    assert found.keys() == {"bot"}
    assert (found["bot"].outermost, found["bot"].kind, found["bot"].output.text) == (True, "agent", "hi")


def test_an_invocation_recorded_twice_is_the_inner_one() -> None:
    outer = agent("outer", called="bot", until=9, status="error", message="down")
    inner = agent("inner", called="bot", parent="outer", at=1, until=8)

    found = runs(outer, inner, llm("call", parent="inner", at=2, given=HELLO))

    assert found.keys() == {"inner"}
    assert found["inner"].status == "error"


def test_an_empty_agent_span_adopts_the_sibling_that_does_its_work() -> None:
    found = runs(
        agent("top", until=20),
        llm("t1", parent="top", at=1, given=HELLO, answer=asks("helper")),
        tool("exec", called="helper", parent="top", at=2, until=10, attributes={"gen_ai.tool.call.id": "c1"}),
        agent("leaf", called="helper", parent="exec", at=3, until=4),
        span("execute_task helper", parent="exec", at=3, until=9),
        llm("inner", parent="execute_task helper", at=5, given=[says("user", "q")], answer=says("assistant", "done")),
    )

    assert found.keys() == {"top", "leaf"}
    assert brief(found["leaf"].output) == ["a: done"]
    assert found["leaf"].parent_run_id == found["top"].run_id
    assert brief(found["top"].output) == ["a: helper({}) -> done"]


def test_an_agent_span_with_nothing_at_all_is_a_run_with_an_issue() -> None:
    found = runs(agent("bare"))

    assert [issue.code for issue in found["bare"].issues] == ["content_not_captured"]
    assert "test.scope 1.0" in found["bare"].issues[0].detail


def test_a_supervisor_recorded_as_a_chain_keeps_its_run() -> None:
    found = runs(
        span("graph", until=30),
        llm("plan", parent="graph", at=1, given=HELLO, answer=asks("expert", {"q": 1})),
        tool("exec", called="expert", parent="graph", at=3, until=20, attributes={"gen_ai.tool.call.id": "c1"}),
        agent("expert", parent="exec", at=4, until=19),
        llm("e1", parent="expert", at=5, given=[says("user", "1?")], answer=says("assistant", "one")),
        llm("end", parent="graph", at=22, given=[*HELLO, asks("expert", {"q": 1}), returns("one")], answer=HI),
    )

    assert found.keys() == {"graph", "expert"}
    assert (found["graph"].kind, found["graph"].agent_name) == ("agent", None)
    assert brief(found["graph"].output) == ["a: expert({'q': 1}) -> one", "a: hi"]
    assert found["expert"].parent_run_id == found["graph"].run_id


def test_steps_beneath_a_supervisor_that_never_came_are_one_run() -> None:
    found = runs(
        span("cycle", parent="lost", at=1, until=21),
        llm("plan", parent="cycle", at=1, given=HELLO, answer=asks("expert", {"q": 1})),
        tool("exec", called="expert", parent="cycle", at=3, until=20, attributes={"gen_ai.tool.call.id": "c1"}),
        agent("expert", parent="exec", at=4, until=19),
        llm("e1", parent="expert", at=5, given=[says("user", "1?")], answer=says("assistant", "one")),
        replace(span("cycle 2", parent="lost", at=22, until=30), name="cycle"),
        llm("end", parent="cycle 2", at=23, given=[*HELLO, asks("expert", {"q": 1}), returns("one")], answer=HI),
    )

    assert brief(found["cycle"].output) == ["a: expert({'q': 1}) -> one", "a: hi"]
    assert [issue.code for issue in found["cycle"].issues] == ["orphan"]


def test_a_wrapper_with_the_called_tools_name_is_the_tool() -> None:
    found = runs(
        span("graph", until=30),
        llm("plan", parent="graph", at=1, given=HELLO, answer=asks("expert")),
        span("expert", parent="graph", at=3, until=20),
        agent("worker", parent="expert", at=4, until=19),
        llm("w1", parent="worker", at=5, given=[says("user", "1?")], answer=says("assistant", "one")),
    )

    assert found.keys() == {"graph", "worker"}
    assert brief(found["graph"].output) == ["a: expert({}) -> one"]
    assert found["graph"].output.tool_calls[0].duration_ms == 17.0


def test_a_model_call_beside_agents_is_in_no_run() -> None:
    found = runs(
        span("app", until=20),
        llm("title", parent="app", at=1, given=[says("user", "name this")], answer=says("assistant", "Chat")),
        agent("bot", parent="app", at=3, until=9),
        llm("b1", parent="bot", at=4, given=HELLO, answer=HI),
    )

    assert found.keys() == {"bot"}
    assert found["bot"].usage.input == 10


def test_several_orphans_of_one_trace_each_keep_their_run() -> None:
    found = runs(
        agent("a", parent="lost", at=1, until=4),
        llm("a1", parent="a", at=2, given=HELLO, answer=HI),
        agent("b", parent="gone", at=5, until=8),
        llm("b1", parent="b", at=6, given=HELLO, answer=HI),
    )

    assert found.keys() == {"a", "b"}
    assert [(issue.code, issue.span_id) for issue in found["a"].issues] == [("orphan", span_id("a"))]


def test_agents_inside_agents_without_end_stop_being_runs() -> None:
    chain = [agent(f"a{n:05}", parent=f"a{n - 1:05}" if n else None, at=n, until=900 - n) for n in range(300)]
    calls = [llm(f"c{n:05}", parent=f"a{n:05}", at=n, given=HELLO, answer=HI) for n in range(300)]

    found = runs(*chain, *calls)

    assert len(found) == 64


class Loops:
    """A dialect that knows loops by their name."""

    marks: frozenset[str] | None = None
    names = ()
    content_prefixes = ()

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        return Reading(role="loop", agent_name="bot") if span.name.startswith("loop") else None


def test_an_sdks_loop_is_an_agent_only_where_it_holds_model_calls() -> None:
    dialects = DialectSet(dialects=(Loops(), *KNOWN_DIALECTS.dialects))
    holding = trace(span("loop", until=9), llm("call", parent="loop", at=1, given=HELLO, answer=HI))
    lone = trace(llm("loop", given=HELLO, answer=HI))

    assert [(one.run.kind, one.run.agent_name) for one in assemble(holding, dialects=dialects)] == [("agent", "bot")]
    assert [(one.run.kind, brief(one.run.output)) for one in assemble(lone, dialects=dialects)] == [
        ("trace", ["a: hi"])
    ]
