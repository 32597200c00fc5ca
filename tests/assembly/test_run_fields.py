"""Identity, status, issues and what a sender states."""

from __future__ import annotations

from tests.assembly.building import agent, asks, brief, dumped, llm, returns, runs, says, span, span_id, tool
from tracescore.model import JSONValue, RetrievedDocument, SpanEvent

ASK = [says("user", "how is it?")]
DONE = says("assistant", "fine")


def raised(kind: str, message: str) -> tuple[SpanEvent, ...]:
    return (SpanEvent(name="exception", attributes={"exception.type": kind, "exception.message": message}),)


def test_identity_is_read_from_where_it_is_stated() -> None:
    resource = {"service.name": "shop", "deployment.environment.name": "prod"}
    found = runs(
        span("app", until=40, attributes={"session.id": "s1", "user.id": "u1", "tag.tags": ["blue"]}),
        agent("bot", parent="app", at=1, until=30, attributes={"gen_ai.conversation.id": "c9"}, resource={**resource}),
        llm(
            "one",
            parent="bot",
            at=2,
            given=ASK,
            answer=DONE,
            attributes={"gen_ai.response.model": "small-2", "gen_ai.provider.name": "acme"},
        ),
    )
    run = found["bot"]

    assert (run.agent_name, run.model, run.provider) == ("bot", "small-2", "acme")
    assert (run.session_id, run.user_id, run.tags) == ("c9", "u1", ("blue",))
    assert (run.service, run.environment) == ("shop", "prod")
    assert run.target is not None
    assert run.target.span_id == span_id("bot")


def test_a_nested_run_has_the_session_of_the_outermost() -> None:
    found = runs(
        agent("boss", until=40, attributes={"session.id": "s1"}),
        llm("b1", parent="boss", at=1, given=ASK, answer=asks("ask")),
        tool("exec", called="ask", parent="boss", at=2, until=30),
        agent("sub", parent="exec", at=3, until=29, attributes={"gen_ai.conversation.id": "random", "user.id": "u2"}),
        llm("s1", parent="sub", at=4, given=ASK, answer=DONE),
    )

    assert (found["sub"].session_id, found["sub"].user_id) == ("s1", "u2")


def test_rules_see_small_attributes_over_those_of_the_resource_and_no_content() -> None:
    run = runs(
        llm(
            "one",
            given=ASK,
            answer=DONE,
            attributes={"team": "a", "note": "x" * 5000, "service.name": "mine"},
            resource={"service.name": "shop", "zone": "eu"},
        )
    )["one"]

    assert run.attributes["team"] == "a"
    assert run.attributes["zone"] == "eu"
    assert run.attributes["service.name"] == "mine"
    assert not {"note", "gen_ai.input.messages", "gen_ai.output.messages"} & run.attributes.keys()


def test_what_a_sender_states_under_tracescore_reaches_the_run() -> None:
    stated = {
        "tracescore.ground_truth": "18C",
        "tracescore.expected_trajectory": '["look", "answer"]',
        "tracescore.request_context.tier": "gold",
        "tracescore.request_context": '{"tier": "silver", "region": "eu"}',
        "tracescore.additional_context.build": 7,
    }
    found = runs(
        span("app", until=30, attributes={**stated}),
        agent("bot", parent="app", at=1, until=20, attributes={"tracescore.ground_truth": "19C"}),
        llm("one", parent="bot", at=2, given=ASK, answer=asks("ask")),
        tool("exec", called="ask", parent="bot", at=3, until=15),
        agent("sub", parent="exec", at=4, until=14),
        llm("two", parent="sub", at=5, given=ASK, answer=DONE),
    )

    assert found["bot"].ground_truth == "19C"
    assert found["bot"].expected_trajectory == ["look", "answer"]
    assert found["bot"].request_context == {"tier": "gold", "region": "eu"}
    assert found["bot"].additional_context == {"build": 7}
    assert found["sub"].ground_truth is None


def test_a_failed_last_call_without_an_answer_fails_the_run() -> None:
    run = runs(agent("bot", until=9), llm("one", parent="bot", at=1, given=ASK, status="error", message="no credit"))[
        "bot"
    ]

    assert (run.status, run.error) == ("error", "no credit")
    assert run.issues == ()


def test_a_run_that_failed_says_why_in_its_own_words_else_in_those_of_its_last_failed_call() -> None:
    of_call = llm("one", parent="bot", at=1, given=ASK, status="error", message="no credit")
    own = runs(agent("bot", until=9, status="error", events=raised("RuntimeError", "kaput")), of_call)["bot"]
    silent = runs(agent("bot", until=9, status="error"), of_call)["bot"]
    long = runs(agent("bot", until=9, status="error", message="x\ud800" * 5000), of_call)["bot"]

    assert (own.error, silent.error) == ("RuntimeError: kaput", "no credit")
    assert long.error == "x\ufffd" * 1000


def test_a_call_that_was_tried_again_does_not_fail_the_run() -> None:
    run = runs(
        agent("bot", until=9),
        llm("one", parent="bot", at=1, given=ASK, status="error"),
        llm("two", parent="bot", at=3, given=ASK, answer=DONE),
    )["bot"]

    assert (run.status, run.error) == ("ok", None)


def test_a_tools_error_leaves_the_run_ok() -> None:
    failing = tool(
        "exec", called="look", parent="bot", at=3, until=4, status="error", message="trace", events=raised("V", "dark")
    )
    run = runs(
        agent("bot", until=20),
        llm("one", parent="bot", at=1, given=ASK, answer=asks("look")),
        failing,
        llm("two", parent="bot", at=6, given=[*ASK, asks("look"), returns("Error: dark")], answer=DONE),
    )["bot"]

    assert run.status == "ok"
    assert brief(run.output) == ["a: look({}) -> !dark", "a: fine"]
    assert run.output.tool_calls[0].result == "Error: dark"


def test_an_exception_event_on_a_span_that_did_not_fail_is_no_error() -> None:
    run = runs(
        agent("bot", until=9, events=raised("asyncio.CancelledError", "")),
        llm("one", parent="bot", at=1, given=ASK, answer=DONE),
    )["bot"]

    assert run.status == "ok"


def test_a_run_that_waits_for_a_human_is_paused() -> None:
    run = runs(
        agent("bot", until=9, status="error", events=raised("langgraph.errors.GraphInterrupt", "approve?")),
        llm("one", parent="bot", at=1, given=ASK, answer=asks("pay")),
    )["bot"]

    assert run.status == "paused"


def test_an_interrupt_on_a_span_that_did_not_fail_pauses_it_too() -> None:
    when = span("bot", at=8).start_ns
    event = SpanEvent(name="exception", time_ns=when, attributes={"exception.type": "GraphInterrupt"})

    run = runs(
        agent("bot", until=9, events=(event,)),
        llm("one", parent="bot", at=1, given=ASK, answer=asks("pay")),
    )["bot"]

    assert run.status == "paused"


def test_a_run_that_went_on_after_an_interrupt_is_not_paused() -> None:
    run = runs(
        agent("bot", until=30),
        llm("one", parent="bot", at=1, given=ASK, answer=asks("pay")),
        tool("t1", called="pay", parent="bot", at=3, until=4, status="error", events=raised("GraphInterrupt", "?")),
        tool("t2", called="pay", parent="bot", at=6, until=7, attributes={"gen_ai.tool.call.result": "paid"}),
        llm("two", parent="bot", at=9, given=[*ASK, asks("pay"), returns("paid")], answer=DONE),
    )["bot"]

    assert run.status == "ok"


def test_content_that_broke_off_was_captured() -> None:
    cut: dict[str, JSONValue] = {"gen_ai.output.messages": dumped([DONE])[:-12]}

    run = runs(agent("bot", until=9), llm("one", parent="bot", at=1, given=ASK, attributes=cut))["bot"]

    assert [issue.code for issue in run.issues] == ["truncated"]


def test_a_call_that_was_given_a_tools_result_alone_was_captured() -> None:
    run = runs(llm("one", given=[returns("blue")], answer=DONE))["one"]

    assert run.issues == ()


def test_a_call_that_nothing_answers_is_said() -> None:
    run = runs(agent("bot", until=9), llm("one", parent="bot", at=1, given=ASK, answer=asks("look", id="c7")))["bot"]

    (issue,) = run.issues
    assert (issue.code, issue.detail, issue.span_id) == (
        "tool_result_missing",
        "nothing in the trace answers the call of look (c7)",
        span_id("one"),
    )


def test_history_that_the_provider_keeps_is_said() -> None:
    kept = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.completion": 1}
    asked = dumped({"model": "m", "input": "go on", "previous_response_id": "resp_1"})
    answer = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "ok"}

    run = runs(span("one", attributes={**kept, "input.value": asked, **answer}))["one"]

    assert brief(run.input.input_messages) == ["u: go on"]
    assert [issue.code for issue in run.issues] == ["history_on_server"]


def test_spans_that_no_dialect_knows_are_read_by_the_generic_rules() -> None:
    run = runs(span("call", attributes={"ai.model.id": "m"}))["call"]

    assert run.model == "m"
    assert {issue.code for issue in run.issues} == {"content_not_captured", "unknown_dialect"}


def test_documents_are_contexts_and_each_stands_once() -> None:
    found = runs(
        agent("bot", until=30),
        span(
            "search",
            parent="bot",
            at=1,
            until=5,
            attributes={
                "openinference.span.kind": "RETRIEVER",
                "input.value": "sky",
                "retrieval.documents.0.document.content": "blue",
                "retrieval.documents.0.document.score": 0.5,
                "retrieval.documents.0.document.metadata": '{"source": "book"}',
                "retrieval.documents.1.document.id": "d2",
                "retrieval.documents.1.document.content": "red",
            },
        ),
        span(
            "inner search",
            parent="search",
            at=2,
            until=4,
            attributes={
                "openinference.span.kind": "RETRIEVER",
                "retrieval.documents.0.document.content": "blue",
            },
        ),
        llm("one", parent="bot", at=6, given=ASK, answer=DONE),
    )

    assert found["bot"].contexts == (
        RetrievedDocument(text="blue", score=0.5, source="book"),
        RetrievedDocument(id="d2", text="red"),
    )
    assert found["bot"].output.tool_calls == ()
