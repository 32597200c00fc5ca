"""Public bugs of reading traces, by their numbers in the list of them: what was lost, doubled or mistaken elsewhere."""

from __future__ import annotations

import pytest

from tests.assembly.building import TRACE_ID, agent, asks, brief, dumped, llm, returns, runs, says, span, tool, trace
from tracescore.model import JSONValue, SpanEvent
from tracescore.pipeline.assembly import assemble

ASK = [says("user", "how warm is it?")]
DONE = says("assistant", "18 °C")
USED: dict[str, JSONValue] = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}


@pytest.mark.parametrize(
    ("provider", "scope", "counts", "total"),
    [
        ("anthropic", "opentelemetry.instrumentation.anthropic", (100, 80, 5), 100),
        ("anthropic", "ai", (15, 80, 5), 100),
    ],
    ids=["the total", "without what was cached"],
)
def test_bug_04_cached_tokens_are_counted_once_whether_or_not_the_total_holds_them(
    provider: str, scope: str, counts: tuple[int, int, int], total: int
) -> None:
    given, read, written = counts
    usage: dict[str, JSONValue] = {
        "gen_ai.provider.name": provider,
        "gen_ai.usage.input_tokens": given,
        "gen_ai.usage.cache_read.input_tokens": read,
        "gen_ai.usage.cache_creation.input_tokens": written,
    }
    run = runs(agent("Ada", until=9), llm("chat", parent="Ada", given=ASK, answer=DONE, scope=scope, attributes=usage))

    assert run["Ada"].usage.input == total


def test_bug_05_what_an_agent_sums_up_is_not_added_to_what_its_calls_used() -> None:
    run = runs(
        agent("Ada", until=20, attributes={"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 4}),
        llm("one", parent="Ada", at=1, until=5, given=ASK, answer=asks("weather")),
        llm("two", parent="Ada", at=6, until=9, given=[*ASK, asks("weather"), returns("18")], answer=DONE),
    )["Ada"]

    assert (run.usage.input, run.usage.output) == (20, 4)


def test_bug_05_where_the_calls_say_nothing_the_sum_stands_in() -> None:
    quiet: dict[str, JSONValue] = {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}
    run = runs(
        agent("Ada", until=20, attributes=USED),
        llm("one", parent="Ada", at=1, until=5, given=ASK, answer=DONE, attributes=quiet),
    )["Ada"]

    assert (run.usage.input, run.usage.output) == (10, 2)


def test_bug_06_two_instrumentations_of_one_call_are_one_call() -> None:
    run = runs(
        agent("Ada", until=20),
        llm("crew", parent="Ada", at=1, until=9, given=ASK, answer=DONE, attributes={"gen_ai.response.id": "r1"}),
        llm("sdk", parent="crew", at=2, until=8, scope="sdk", attributes={"gen_ai.response.id": "r1"}),
    )["Ada"]

    assert (run.usage.input, brief(run.output)) == (10, ["a: 18 °C"])


def test_bug_07_of_two_records_of_one_call_the_richer_is_kept() -> None:
    run = runs(
        agent("Ada", until=20),
        llm("chain", parent="Ada", at=1, until=9, attributes={"gen_ai.response.id": "r1"}),
        llm(
            "client",
            parent="chain",
            at=2,
            until=8,
            given=ASK,
            answer=DONE,
            attributes={"gen_ai.response.id": "r1", "gen_ai.usage.cache_read.input_tokens": 4},
        ),
    )["Ada"]

    assert (run.usage.cache_read, brief(run.input.input_messages)) == (4, ["u: how warm is it?"])


def test_bug_08_a_scope_that_says_ai_may_write_another_dialect() -> None:
    run = runs(agent("Ada", until=9, scope="ai"), llm("chat", parent="Ada", given=ASK, answer=DONE, scope="ai"))["Ada"]

    assert run.output.text == "18 °C"


@pytest.mark.parametrize(
    "stated",
    [
        "Be brief.",
        ["Be brief."],
        [{"type": "text", "content": "Be brief."}],
        [{"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}],
        [{"text": "Be brief."}],
    ],
)
def test_bug_09_instructions_in_any_form_are_text(stated: JSONValue) -> None:
    value = stated if isinstance(stated, str) else dumped(stated)
    run = runs(
        agent("Ada", until=9),
        llm("chat", parent="Ada", given=ASK, answer=DONE, attributes={"gen_ai.system_instructions": value}),
    )["Ada"]

    assert brief(run.input.system_messages) == ["s: Be brief."]


def test_bug_10_instructions_are_system_messages_without_the_role() -> None:
    stated = dumped([{"type": "text", "content": "Be brief."}])
    run = runs(
        agent("Ada", until=9, attributes={"gen_ai.system_instructions": stated}),
        llm("chat", parent="Ada", given=ASK, answer=DONE, attributes={"gen_ai.system_instructions": stated}),
    )["Ada"]

    assert brief(run.input.system_messages) == ["s: Be brief."]


@pytest.mark.parametrize(
    ("arguments", "result"),
    [("tool_arguments", "tool_response"), ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")],
)
def test_bug_11_old_and_new_names_of_a_tools_input_and_output_are_read(arguments: str, result: str) -> None:
    run = runs(
        agent("Ada", until=9),
        llm("chat", parent="Ada", at=1, until=2, given=ASK, answer=None),
        tool("run", parent="Ada", at=3, until=4, called="weather", attributes={arguments: '{"x": 1}', result: "18"}),
    )["Ada"]
    (call,) = run.output.tool_calls

    assert (call.name, call.result) in (("weather", "18"), ("weather", 18))


def test_bug_12_input_in_an_envelope_is_unwrapped() -> None:
    messages = {"messages": [{"role": "user", "content": "how warm is it?"}]}
    run = runs(
        span(
            "graph",
            until=9,
            attributes={
                "traceloop.span.kind": "agent",
                "traceloop.entity.name": "Ada",
                "traceloop.entity.input": dumped({"inputs": messages, "kwargs": {"tags": []}}),
                "traceloop.entity.output": dumped(
                    {"outputs": {"messages": [{"role": "assistant", "content": "18 °C"}]}, "kwargs": {}}
                ),
            },
        )
    )["graph"]

    assert (brief(run.input.input_messages), run.output.text) == (["u: how warm is it?"], "18 °C")


def test_bug_13_an_attribute_that_nobody_knows_is_no_message() -> None:
    run = runs(
        agent("Ada", until=9),
        llm(
            "chat",
            parent="Ada",
            given=ASK,
            answer=DONE,
            attributes={"gen_ai.cost.total": "0.12", "gen_ai.unknown.messages": dumped([says("user", "no")])},
        ),
    )["Ada"]

    assert (brief(run.input.input_messages), brief(run.output)) == (["u: how warm is it?"], ["a: 18 °C"])


@pytest.mark.parametrize("levels", [1, 2])
def test_bug_14_json_in_json_is_read(levels: int) -> None:
    given = dumped(ASK)
    for _ in range(levels):
        given = dumped(given)
    stated: dict[str, JSONValue] = {"gen_ai.input.messages": given}
    run = runs(agent("Ada", until=9), llm("chat", parent="Ada", answer=DONE, attributes=stated))

    assert brief(run["Ada"].input.input_messages) == ["u: how warm is it?"]


def test_bug_20_a_child_whose_parent_never_comes_is_a_run_that_says_so() -> None:
    run = runs(agent("Ada", parent="lost", until=9), llm("chat", parent="Ada", given=ASK, answer=DONE))["Ada"]

    assert (run.output.text, [issue.code for issue in run.issues]) == ("18 °C", ["orphan"])


def test_bug_21_a_trace_without_its_root_gives_all_its_runs() -> None:
    found = runs(
        agent("Ada", parent="lost", until=9),
        llm("one", parent="Ada", given=ASK, answer=DONE),
        agent("Bob", parent="lost too", at=10, until=0),
        llm("two", parent="Bob", at=11, given=ASK, answer=DONE),
    )

    assert {name: run.output.text for name, run in found.items()} == {"Ada": "18 °C", "Bob": "18 °C"}


def test_bug_22_a_second_process_that_joins_a_trace_changes_no_run_in_any_order() -> None:
    spans = [
        agent("Ada", until=20),
        llm("one", parent="Ada", at=1, until=2, given=ASK, answer=DONE),
        agent("Bob", parent="a call to it", at=5, until=9, flags=0x300),
        llm("two", parent="Bob", at=6, until=7, given=[says("user", "and Bob?")], answer=says("assistant", "me too")),
    ]

    assert assemble(trace(*spans)) == assemble(trace(*reversed(spans)))
    assert {name: run.output.text for name, run in runs(*spans).items()} == {"Ada": "18 °C", "Bob": "me too"}


def test_bug_24_steps_that_are_traces_of_their_own_are_runs_joined_by_their_conversation_alone() -> None:
    stated: dict[str, JSONValue] = {"gen_ai.conversation.id": "s-1"}
    first = runs(llm("one", given=ASK, answer=DONE, attributes=stated))["one"]
    second = runs(llm("two", given=ASK, answer=DONE))["two"]

    assert [(run.kind, run.session_id, run.output.text) for run in (first, second)] == [
        ("trace", "s-1", "18 °C"),
        ("trace", None, "18 °C"),
    ]


def test_bug_25_an_exception_event_on_a_span_that_is_no_error_fails_no_run() -> None:
    closed = SpanEvent(name="exception", attributes={"exception.type": "GeneratorExit", "exception.message": ""})
    run = runs(
        agent("Ada", until=9, events=(closed,)), llm("chat", parent="Ada", given=ASK, answer=DONE, events=(closed,))
    )["Ada"]

    assert (run.status, run.output.text) == ("ok", "18 °C")


def test_bug_28_a_list_of_messages_that_breaks_off_keeps_its_beginning() -> None:
    cut = dumped([says("user", "how warm is it?"), says("assistant", "x" * 2000)])[:1028]
    run = runs(
        agent("Ada", until=9), llm("chat", parent="Ada", answer=DONE, attributes={"gen_ai.input.messages": cut})
    )["Ada"]

    # Which message was the last one, nobody knows any more: what is there is remembered.
    assert brief(run.input.remembered_messages) == ["u: how warm is it?"]
    assert [issue.code for issue in run.issues] == ["truncated"]


def test_bug_29_attributes_that_an_sdk_dropped_are_said() -> None:
    gone: dict[str, JSONValue] = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "how warm is it?",
        "llm.output_messages.0.message.content": "18 °C",
    }
    run = runs(agent("Ada", until=9), span("chat", parent="Ada", attributes=gone, dropped=70))["Ada"]

    assert run.output.text == "18 °C"
    assert [issue.code for issue in run.issues] == ["truncated"]


@pytest.mark.parametrize("count", [2**63, -5, 1e300, "lots", True])
def test_bug_36_an_absurd_count_is_no_count(count: JSONValue) -> None:
    run = runs(
        agent("Ada", until=9),
        llm("chat", parent="Ada", given=ASK, answer=DONE, attributes={"gen_ai.usage.input_tokens": count}),
    )["Ada"]

    assert (run.usage.input, run.usage.output, run.target.trace_id if run.target else None) == (None, 2, TRACE_ID)
