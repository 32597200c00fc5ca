"""What became of each span of a trace, in words."""

from __future__ import annotations

from tests.assembly.building import agent, asks, llm, returns, says, span, span_id, trace
from tracescore.model import SpanEvent, Trace
from tracescore.pipeline.assembly import ExplainedSpan, assemble, explain

ASK = says("user", "how is it?")
DONE = says("assistant", "fine")


def explained(of: Trace) -> dict[str, ExplainedSpan]:
    return {one.name: one for one in explain(of).spans}


def test_every_span_is_explained_and_the_runs_are_those_of_assembly() -> None:
    of = trace(
        span("http", until=40),
        agent("shell", called="bot", parent="http", until=30),
        agent("bot", parent="shell", until=29),
        llm("one", parent="bot", at=1, until=4, given=[ASK], answer=asks("look", {"at": 1})),
        span(
            "again", parent="one", at=2, until=3, attributes={"gen_ai.request.model": "small", "ai.model.id": "small"}
        ),
        span("tool", parent="bot", at=5, attributes={"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}),
        llm("in tool", parent="tool", at=5, until=5.5),
        llm("two", parent="bot", at=9, given=[ASK, asks("look", {"at": 1}), returns("busy")], answer=DONE),
        llm("outside", parent="http", at=35, given=[ASK], answer=DONE),
    )
    explanation = explain(of)
    spans = explained(of)
    run_id = explanation.runs[0].run.run_id

    assert list(explanation.runs) == assemble(of)
    assert {name: one.became for name, one in spans.items()} == {
        "http": "not read: no dialect knows it",
        "shell": f"records the same invocation as 'bot' ({span_id('bot')})",
        "bot": "the run of this agent",
        "one": "model call 1 of its run",
        "again": f"the same model call as 'one' ({span_id('one')}): what one lacks the other gives",
        "tool": "the execution of a call of its run",
        "in tool": "a model call inside a tool: counted in the usage, no turn of its run",
        "two": "model call 2 of its run",
        "outside": "a model call outside every agent: in no run",
    }
    assert {one.run_id for name, one in spans.items() if name not in ("http", "outside")} == {run_id}
    assert spans["one"].dialects == ("GenAI",)
    assert "tokens 10/2" in spans["one"].read
    assert [one.depth for one in explanation.spans] == [0, 1, 2, 3, 4, 3, 4, 3, 1]


def test_what_tracescore_wrote_itself_is_counted_and_not_shown() -> None:
    own = span("score", scope="tracescore", until=5)
    explanation = explain(trace(own, llm("judge", parent="score", given=[ASK], answer=DONE)))

    assert (explanation.spans, explanation.runs, explanation.left_out) == ((), (), 2)


def test_a_span_that_failed_says_why_on_one_line() -> None:
    raised = SpanEvent(name="exception", attributes={"exception.type": "RuntimeError", "exception.message": "kaput"})
    spans = explained(
        trace(
            agent("fine", until=30, events=(raised,)),
            agent("told", parent="fine", status="error", message="\x1b[31mno\x1b[0m\n  credit\x07", events=(raised,)),
            agent("raised", parent="fine", status="error", events=(raised,)),
            agent("stack", parent="fine", status="error", message="late\n\nTraceback (most recent call last):\n  File"),
            agent("typed", parent="fine", status="error", attributes={"error.type": "timeout"}),
            agent("silent", parent="fine", status="error"),
            agent("long", parent="fine", status="error", message="x" * 5000),
        )
    )

    assert {name: one.error for name, one in spans.items()} == {
        "fine": None,
        "told": "no credit",
        "raised": "RuntimeError: kaput",
        "stack": "late",
        "typed": "timeout",
        "silent": "no message",
        "long": "x" * 199 + "…",
    }
