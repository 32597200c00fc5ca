"""A single span as what is scored."""

from __future__ import annotations

from tests.assembly.building import agent, asks, brief, llm, returns, says, span, span_id, tool, trace
from tracescore.model import RetrievedDocument
from tracescore.model.ids import run_id
from tracescore.pipeline.assembly import assemble, read_target

ASK = [says("system", "be brief"), says("user", "how is it?")]
SEARCH = {
    "openinference.span.kind": "RETRIEVER",
    "input.value": "sky",
    "retrieval.documents.0.document.content": "blue",
}
SPANS = (
    span("app", until=40, attributes={"input.value": '{"q": 1}', "output.value": "done", "session.id": "s1"}),
    agent("bot", parent="app", at=1, until=30),
    llm("one", parent="bot", at=2, given=ASK, answer=asks("look", {"at": "sky"})),
    tool(
        "exec",
        called="look",
        parent="bot",
        at=4,
        until=6,
        attributes={"gen_ai.tool.call.arguments": '{"at": "sky"}', "gen_ai.tool.call.result": "blue"},
    ),
    span("search", parent="bot", at=7, until=8, attributes={**SEARCH}),
    llm("two", parent="bot", at=9, given=[*ASK, asks("look"), returns("blue")], answer=says("assistant", "fine")),
)
TRACE = trace(*SPANS)


def test_a_model_call_is_its_messages() -> None:
    found = read_target(TRACE, span_id("two"))

    assert found is not None
    assert (found.kind, found.model, found.usage.input, found.session_id) == ("llm", "small", 10, "s1")
    assert brief(found.input) == ["s: be brief", "u: how is it?", "a: look({}) -> blue"]
    assert brief(found.output) == ["a: fine"]
    assert found.run_id == run_id(kind="llm", trace_id=TRACE.trace_id, span_id=span_id("two"))


def test_a_tool_is_its_arguments_and_its_result() -> None:
    found = read_target(TRACE, span_id("exec"))

    assert found is not None
    assert (found.kind, found.input, found.output, found.agent_name) == ("tool", {"at": "sky"}, "blue", "bot")


def test_a_retrieval_is_its_query_and_its_documents() -> None:
    found = read_target(TRACE, span_id("search"))

    assert found is not None
    assert (found.kind, found.input) == ("retrieval", "sky")
    assert found.output == [{"id": None, "text": "blue", "score": None, "source": None}]
    assert found.contexts == (RetrievedDocument(text="blue"),)


def test_any_other_span_is_what_it_records() -> None:
    found = read_target(TRACE, span_id("app"))

    assert found is not None
    assert (found.kind, found.name, found.input, found.output) == ("span", "app", {"q": 1}, "done")


def test_an_agent_invocation_is_its_run() -> None:
    (assembled,) = assemble(TRACE)

    assert read_target(TRACE, span_id("bot")) == assembled.run


def test_a_span_that_is_not_there_is_nothing() -> None:
    assert read_target(TRACE, "f" * 16) is None
