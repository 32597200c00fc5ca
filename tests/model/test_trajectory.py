"""Trajectories: their JSON, what was expected of them, and what a comparison finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from tracescore.model import (
    AgentOutput,
    AgentRun,
    Budget,
    ExpectedStep,
    InvalidExpectation,
    Message,
    ToolInvocationPart,
    Trajectory,
    TrajectoryExpectation,
    TrajectoryRun,
    TrajectoryStep,
    compare_trajectory,
    content_hash,
    dump_run,
    load_run,
    trajectory_from_json,
    trajectory_of_messages,
    trajectory_to_json,
)


def tool(name: str, *, success: bool | None = True, **more: Any) -> TrajectoryStep:
    return TrajectoryStep(name=name, success=success, **more)


def model(given: int | None = 10, answered: int | None = 2) -> TrajectoryStep:
    return TrajectoryStep(name="small", type="model_generation", input_tokens=given, output_tokens=answered)


def way(*steps: TrajectoryStep | str, **more: Any) -> Trajectory:
    return Trajectory(steps=tuple(tool(step) if isinstance(step, str) else step for step in steps), **more)


NESTED = way(
    model(),
    tool(
        "ask_weather",
        arguments={"question": "how is it?"},
        result="sunny",
        children=(
            TrajectoryStep(
                name="weather", type="agent_run", status="ok", span_id="b" * 16, children=(model(), tool("look"))
            ),
        ),
    ),
    tool("book", success=False, error="full", metadata={"cut": ["arguments"]}),
    duration_ms=12.5,
    left_out=3,
)


def test_a_trajectory_comes_back_from_json() -> None:
    assert trajectory_from_json(orjson.loads(orjson.dumps(trajectory_to_json(NESTED)))) == NESTED
    assert trajectory_to_json(way("a")) == {"steps": [{"name": "a", "type": "tool_call", "success": True}]}


def stored_run() -> AgentRun:
    call = ToolInvocationPart(name="ask_weather", arguments={"question": "how is it?"}, result="sunny")
    refused = ToolInvocationPart(name="book", error="full")
    return AgentRun(
        run_id="r",
        output=AgentOutput([Message(role="assistant", parts=(call, refused))]),
        trajectory=NESTED,
    )


def test_a_run_is_stored_with_its_trajectory_and_each_tool_call_once() -> None:
    run = stored_run()
    stored = dump_run(run)

    assert load_run(stored) == run
    assert stored.count(b"how is it?") == 1
    assert stored.count(b"sunny") == 1


def test_calls_that_a_filter_took_out_of_the_output_are_stored_with_the_trajectory() -> None:
    run = replace(stored_run(), output=AgentOutput())

    assert load_run(dump_run(run)) == run


def test_the_hash_of_a_run_knows_its_trajectory_only_for_who_reads_it() -> None:
    run = stored_run()
    other = replace(run, trajectory=way("ask_weather"))
    later = replace(run, trajectory=replace(NESTED, duration_ms=99.0))

    assert content_hash(run) == content_hash(other)
    assert content_hash(run, reads=["trajectory"]) != content_hash(other, reads=["trajectory"])
    assert content_hash(run, reads=["trajectory"]) == content_hash(later, reads=["trajectory"])
    assert content_hash(run, reads=["trajectory", "timing"]) != content_hash(later, reads=["trajectory", "timing"])


def test_the_hash_of_a_trajectory_run_leaves_out_ids_and_what_is_not_read() -> None:
    run = TrajectoryRun(run_id="r", output=way(model(), "a", duration_ms=1.0))
    other = replace(run, output=way(replace(model(7), span_id="c" * 16), "a", duration_ms=2.0))

    assert content_hash(run) == content_hash(other) != content_hash(replace(run, output=way(model(), "b")))
    assert content_hash(run, reads=["usage"]) != content_hash(other, reads=["usage"])
    assert content_hash(run, reads=["timing"]) != content_hash(other, reads=["timing"])


def test_messages_show_the_tool_calls_alone() -> None:
    output = stored_run().output

    assert trajectory_of_messages(output) == Trajectory(
        steps=(
            tool("ask_weather", arguments={"question": "how is it?"}, result="sunny"),
            tool("book", success=False, error="full"),
        ),
        raw_output=output,
    )


def test_tokens_are_those_of_every_depth_or_unknown() -> None:
    assert NESTED.total_tokens == 24
    assert [step.name for step in NESTED.tool_calls] == ["ask_weather", "look", "book"]
    assert way("a").total_tokens is None
    assert way(model(), model(None)).total_tokens is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["a", "b"], TrajectoryExpectation(steps=(ExpectedStep(name="a"), ExpectedStep(name="b")))),
        ({"steps": [{"name": "a", "stepType": "tool_call", "toolArgs": {"x": 1}}], "maxSteps": 3}, None),
        ({"steps": [{"name": "a", "type": "tool_call", "fields": {"arguments": {"x": 1}}}], "max_steps": 3}, None),
        (
            way(tool("a", arguments={"x": 1}), tool("b")),
            TrajectoryExpectation(
                steps=(
                    ExpectedStep(name="a", type="tool_call", fields={"arguments": {"x": 1}}),
                    ExpectedStep(name="b", type="tool_call"),
                )
            ),
        ),
        (
            [{"name": "a", "children": ["b"]}],
            TrajectoryExpectation(
                steps=(ExpectedStep(name="a", children=TrajectoryExpectation(steps=(ExpectedStep(name="b"),))),)
            ),
        ),
        ({"blacklistedSequences": [["a", "b"]]}, TrajectoryExpectation(blacklisted_sequences=(("a", "b"),))),
    ],
)
def test_an_expectation_is_read_from_what_is_at_hand(given: Any, expected: TrajectoryExpectation | None) -> None:
    if expected is None:
        step = ExpectedStep(name="a", type="tool_call", fields={"arguments": {"x": 1}})
        expected = TrajectoryExpectation(steps=(step,), max_steps=3)

    read = TrajectoryExpectation.read(given)

    assert read == expected
    assert TrajectoryExpectation.read(orjson.loads(orjson.dumps(read))) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "a list of steps or a mapping with steps, not int"),
        ("search", "not str"),
        ({"step": []}, "expected_trajectory has no 'step'; did you mean 'steps'"),
        ({"steps": "search"}, "expected_trajectory.steps is a list of steps, not str"),
        ({"ordering": "loose"}, "ordering is one of strict, relaxed, unordered, not 'loose'"),
        ({"maxSteps": "3"}, "max_steps is a number, not '3'"),
        ({"maxSteps": -1}, "max_steps is 0 or more"),
        ({"max_retries_per_tool": None}, "is a number, not None"),
        ({"noRedundantCalls": 1}, "no_redundant_calls is true or false, not 1"),
        ({"blacklistedTools": "rm"}, "blacklisted_tools is a list, not 'rm'"),
        ({"blacklistedTools": [1]}, "holds names of tools, not 1"),
        ({"blacklistedSequences": [["a"], []]}, "is a list of lists of tool names"),
        ([{"nam": "a"}], r"expected_trajectory\[0\] is a step's name, or a mapping with its name"),
        ([{"name": "a", "argments": 1}], r"\[0\]: a step has no 'argments'; did you mean 'arguments'"),
        ([{"name": "a", "type": "tool"}], "the type 'tool' is unknown"),
        ([{"name": "a", "children": 3}], r"\[0\].children is a list of steps"),
        (["a"] * 201, "has 201 steps; 200 is the most"),
    ],
)
def test_what_is_no_expectation_is_said_with_its_place(given: Any, message: str) -> None:
    with pytest.raises(InvalidExpectation, match=message):
        TrajectoryExpectation.read(given)


def test_expectations_are_nested_so_deep_only() -> None:
    given: Any = ["a"]
    for _ in range(20):
        given = [{"name": "a", "children": given}]

    with pytest.raises(InvalidExpectation, match="more than 16 levels deep"):
        TrajectoryExpectation.read(given)


def found(trajectory: Trajectory, **expected: Any) -> Any:
    return compare_trajectory(trajectory, TrajectoryExpectation.read(expected))


@pytest.mark.parametrize(
    ("ordering", "done", "matched", "ok"),
    [
        ("strict", ["a", "b", "c"], [(0, 0), (1, 1), (2, 2)], True),
        ("strict", ["a", "b", "c", "d"], [(0, 0), (1, 1), (2, 2)], False),
        ("strict", ["x", "b", "c"], [(1, 1), (2, 2)], False),
        ("relaxed", ["x", "a", "x", "b", "c", "x"], [(0, 1), (1, 3), (2, 4)], True),
        ("relaxed", ["b", "c", "a"], [(1, 0), (2, 1)], False),
        ("relaxed", [], [], False),
        ("unordered", ["c", "a", "b"], [(0, 1), (1, 2), (2, 0)], True),
        ("unordered", ["c", "c", "b"], [(1, 2), (2, 0)], False),
    ],
)
def test_steps_are_found_in_the_order_asked_for(
    ordering: str, done: list[str], matched: list[tuple[int, int]], ok: bool
) -> None:
    findings = found(way(*done), steps=["a", "b", "c"], ordering=ordering)

    assert (list(findings.matched), findings.ok) == (matched, ok)
    assert [step.name for step in findings.missing] == [
        name for place, name in enumerate("abc") if place not in dict(matched)
    ]


def test_a_step_that_asks_for_more_gets_the_one_that_has_it() -> None:
    done = way(tool("a", arguments={"x": 1}), tool("a", arguments={"x": 2}))

    findings = found(done, steps=["a", {"name": "a", "arguments": {"x": 1}}], ordering="unordered")

    assert findings.matched == ((0, 1), (1, 0))


def test_model_calls_count_only_where_one_is_expected() -> None:
    done = way(model(), "a", model())

    assert found(done, steps=["a"], ordering="strict", max_steps=1).ok
    assert not found(done, steps=["a", {"name": "small", "type": "model_generation"}], max_steps=1).ok


def test_budgets_are_not_kept_where_nothing_was_measured() -> None:
    limits = {"max_steps": 2, "max_total_tokens": 20, "max_total_duration_ms": 5}

    measured = found(way(model(), "a", duration_ms=4.0), **limits)
    unmeasured = found(way("a"), **limits)

    assert measured.ok
    assert unmeasured.budgets == (
        Budget(measure="steps", limit=2, used=1),
        Budget(measure="tokens", limit=20, used=None),
        Budget(measure="duration_ms", limit=5, used=None),
    )
    assert not unmeasured.ok
    assert [budget.kept for budget in found(NESTED, **limits).budgets] == [True, False, False]


def test_repeated_redundant_and_retried_calls_are_told_apart() -> None:
    call = tool("a", arguments={"x": 1})
    failed = replace(call, success=False)

    assert found(way(call, call)).redundant == (call,)
    assert found(way(call, call), no_redundant_calls=False).ok
    assert found(way(failed, failed, failed, call)).retries == {"a": 3}
    assert not found(way(failed, failed, failed, call)).ok
    assert found(way(failed, call)).ok
    assert found(way("a", "b", "a"), allow_repeated_steps=False).repeated == ("a",)
    assert not found(way("a", "b", "a"), allow_repeated_steps=False).ok


def test_what_is_forbidden_is_found_at_every_depth() -> None:
    assert found(NESTED, blacklisted_tools=["look", "other"]).blacklisted == ("look",)
    assert found(way(model(), "a", model(), "b"), blacklisted_sequences=[["a", "b"]]).blacklisted == ("a > b",)
    assert found(way("a", "c", "b"), blacklisted_sequences=[["a", "b"]]).ok


def test_what_is_expected_inside_a_step_is_compared_there() -> None:
    weather = {"name": "weather", "children": {"steps": ["look", "look again"]}}
    findings = found(NESTED, steps=[{"name": "ask_weather", "children": [weather]}, "book"])

    inside = findings.inside[0].inside[0]
    assert (findings.missing, findings.ok, findings.inside[0].ok) == ((), False, False)
    assert [step.name for step in inside.missing] == ["look again"]
