"""Whatever of the wrong kind is given to what tracescore exports is told in one line: which argument, what would do."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import tracescore as ts
from tracescore.errors import TracescoreError

THING = object()
TEXT = (5, THING, ["a"], b"x", True)
FLAG = ("yes", THING, [], 2.5, "0")
WHOLE = ("3", THING, -1, 2.5, True)
NUMBER = ("hot", THING, [1], True, math.nan)
LIMIT = ("3", THING, -1, [1], True)
FUNCTION = ("f", 5, THING, [], {})
MAPPING = ("abc", 5, THING, [1], True)
DELAY = ("1", THING, [1], -1, math.nan)
JUDGE = ("j", 5, THING, [], {})
NAMES = ("abc", THING, [5], 2.5, True)
PROCESSORS = ("abc", 5, THING, True, [5])
RANGE = ("0-1", 5, THING, (0,), ("0", "1"))
READS = ("usage", 5, THING, ["usge"], [5])
REDACTION = ("off", 5, THING, [], True)

ANY: Callable[[Any], Any] = lambda given: 1.0  # noqa: E731
OK = ts.create_scorer(id="ok", type="agent").generate_score(ANY)
APP = ts.TraceScore([OK])
OPTIONS: dict[str, Any] = {
    "id": TEXT,
    "name": TEXT,
    "description": TEXT,
    "prepare_run": FUNCTION,
    "score_range": RANGE,
    "higher_is_better": FLAG,
    "reads": READS,
    "version": TEXT,
}
CHECK: dict[str, Any] = {
    "scorers": (OK, 5, "ok", [5], []),
    "strategy": ("al", 5, THING, [], None),
    "parallel": FLAG,
    "timeout": ("1", THING, -1, [1], True),
    "request_context": MAPPING,
    "redaction": REDACTION,
}
PROMPT: dict[str, Any] = {"description": "Look.", "create_prompt": ANY}
OF_PROMPT: dict[str, Any] = {"description": TEXT, "create_prompt": FUNCTION, "judge": JUDGE}
SCHEMA = ("x", 5, THING, [], True)


def begun() -> Any:
    return ts.create_scorer(id="new", type="agent")


def decorated(**options: Any) -> Any:
    return ts.scorer(**options)(lambda run: 1.0)


CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], dict[str, Any]]] = {
    "create_scorer": (ts.create_scorer, {"id": "a", "type": "agent"}, {**OPTIONS, "type": TEXT, "judge": JUDGE}),
    "create_scorer of types": (
        ts.create_scorer,
        {"id": "a"},
        {"input_type": (5, THING, [], {}, b"x"), "output_type": (5, THING, [], {}, b"x")},
    ),
    "scorer": (decorated, {"id": "a"}, OPTIONS),
    "preprocess": (
        begun().preprocess,
        {**PROMPT, "output_schema": {"type": "object"}},
        {**OF_PROMPT, "output_schema": SCHEMA},
    ),
    "generate_score": (
        begun().generate_score,
        {**PROMPT, "output_schema": {"type": "object"}, "calculate_score": ANY},
        {**OF_PROMPT, "output_schema": SCHEMA, "calculate_score": FUNCTION},
    ),
    "generate_reason": (OK.generate_reason, PROMPT, OF_PROMPT),
    "Rule": (
        partial(ts.Rule),
        {"scorer": OK},
        {
            "scorer": (5, THING, None, [], begun()),
            "where": ("agent", 5, THING, [1], {5: 1}, {"agent": THING}, {"agent": {"a": 1}}),
            "sample_rate": ("10%", THING, None, [1], math.nan),
            "kind": (5, THING, "agnt", ["agent"], True),
            "nested": FLAG,
            "paused": FLAG,
            "prepare_run": FUNCTION,
        },
    ),
    "TraceScore": (
        ts.TraceScore,
        {"scorers": [OK]},
        {
            "scorers": (OK, 5, "ok", [5], {"a": OK}),
            "rules": (5, "r", [OK], ts.Rule(OK), {"a": 1}),
            "sinks": (5, "s", [5], THING, ["x"]),
            "judge": JUDGE,
            "prepare_run": FUNCTION,
            "redaction": REDACTION,
            "name": TEXT,
        },
    ),
    "load_app": (ts.load_app, {}, {"location": (5, THING, None, [], b"x")}),
    "Judge": (
        ts.Judge,
        {},
        {
            "model": (5, THING, [], "", True),
            "instructions": TEXT,
            "base_url": TEXT,
            "api_key": (5, THING, [], True, {}),
            "client": (5, "c", [], True, {}),
            "timeout": NUMBER,
            "temperature": NUMBER,
            "top_p": NUMBER,
            "max_output_tokens": WHOLE,
            "seed": ("a", THING, 2.5, [1], True),
            "reasoning_effort": TEXT,
            "json_prompt_injection": ("systm", 5, THING, [], None),
            "strict_settings": FLAG,
            "input_processors": PROCESSORS,
            "output_processors": PROCESSORS,
            "error_processors": PROCESSORS,
            "max_processor_retries": WHOLE,
            "proxy": TEXT,
            "ca_file": (5, THING, ["a"], 2.5, True),
        },
    ),
    "RetryPolicy": (
        ts.RetryPolicy,
        {"match": ANY},
        {"match": FUNCTION, "max_retries": WHOLE, "delay": DELAY, "on_retry": FUNCTION},
    ),
    "StreamErrorRetryProcessor": (
        ts.StreamErrorRetryProcessor,
        {},
        {
            "max_retries": WHOLE,
            "matchers": PROCESSORS,
            "retry_unknown_errors": FLAG,
            "delay": DELAY,
            "max_retry_after": ("1", THING, [1], -1, None),
        },
    ),
    "TrajectoryExpectation": (
        ts.TrajectoryExpectation,
        {},
        {
            "steps": ("search", 5, THING, [5], {"a": 1}),
            "ordering": ("strickt", 5, THING, [], None),
            "allow_repeated_steps": FLAG,
            "max_steps": LIMIT,
            "max_total_tokens": LIMIT,
            "max_total_duration_ms": LIMIT,
            "no_redundant_calls": FLAG,
            "blacklisted_tools": ("t", 5, THING, [5], {"a": 1}),
            "blacklisted_sequences": ("t", 5, THING, ["a"], [[5]]),
            "max_retries_per_tool": (*LIMIT, None),
        },
    ),
    "ExpectedStep": (
        ts.ExpectedStep,
        {"name": "a"},
        {
            "name": TEXT,
            "type": ("tool", 5, THING, [], True),
            "fields": ("x", 5, THING, {"argumnts": 1}, [1]),
            "children": ("x", 5, THING, {}, [1]),
        },
    ),
    "compare_trajectory": (
        ts.compare_trajectory,
        {"trajectory": ts.Trajectory(), "expectation": ts.TrajectoryExpectation()},
        {"trajectory": ("x", 5, THING, [], None), "expectation": ("x", 5, THING, [], None)},
    ),
    "create_rubric_scorer": (
        ts.create_rubric_scorer,
        {"model": "openai/x", "criteria": ["a"]},
        {
            "model": (5, THING, [], True, {}),
            "criteria": (5, THING, [5], True, {"a": 1}),
            "scale": ("1", THING, 0, [1], True),
            "graded": FLAG,
            "evidence": ("txt", 5, THING, [], None),
            "judge": JUDGE,
            "id": TEXT,
            "name": TEXT,
            "description": TEXT,
            "prepare_run": FUNCTION,
            "version": TEXT,
        },
    ),
    "RubricCriterion": (
        ts.RubricCriterion,
        {"description": "a"},
        {"description": TEXT, "id": TEXT, "required": FLAG, "weight": ("1", THING, -1, [1], True)},
    ),
    "filter_run": (
        ts.filter_run,
        {},
        {
            **dict.fromkeys(("part_types", "tool_names", "keep_groups", "drop_groups"), NAMES),
            **dict.fromkeys(("keep_roles", "drop_roles", "keep_parts", "drop_parts"), NAMES),
            **dict.fromkeys(("max_remembered_messages", "max_output_messages", "max_result_chars"), WHOLE),
            **dict.fromkeys(("max_text_chars", "max_remembered_turns", "max_tokens"), WHOLE),
            **dict.fromkeys(("drop_request_context", "drop_expected_trajectory"), FLAG),
            **dict.fromkeys(("drop_ground_truth", "drop_tool_results"), FLAG),
            "encoding": TEXT,
        },
    ),
    "Redaction": (
        ts.Redaction,
        {},
        {
            "rules": ("abc", 5, THING, [5], True),
            "defaults": FLAG,
            "doors": ("store", 5, THING, {"stor": ["email"]}, {"store": 5}),
        },
    ),
    "RedactionRule": (
        ts.RedactionRule,
        {"kind": "badge", "pattern": "EMP-[0-9]+"},
        {
            **dict.fromkeys(("kind", "pattern", "hint", "names"), TEXT),
            "ignore_case": FLAG,
            "in_json": FLAG,
            "check": FUNCTION,
            "doors": ("store", 5, THING, ["stor"], [5]),
        },
    ),
    "TraceScoreSpanExporter": (
        ts.TraceScoreSpanExporter,
        {"app": APP},
        {
            "store": (5, THING, ["a"], True, b"x"),
            "app": ("a", 5, THING, [], OK),
            "project": TEXT,
            "on_outcome": FUNCTION,
            "slots": WHOLE,
            "environ": MAPPING,
        },
    ),
    "is_task_complete": (
        ts.is_task_complete_sync,
        {"run": ts.AgentRun(), "scorers": [OK]},
        {**CHECK, "run": (5, THING, [5], True, {})},
    ),
    "run_until_complete": (
        ts.run_until_complete_sync,
        {"agent": ANY, "task": "Greet.", "scorers": [OK]},
        {
            **CHECK,
            "agent": FUNCTION,
            "task": (5, THING, [5], True, ""),
            "max_steps": WHOLE,
            "on_complete": FUNCTION,
            "suppress_feedback": FLAG,
        },
    ),
    "text_message": (
        ts.text_message,
        {"role": "user", "text": "Hi."},
        {"role": ("usr", 5, THING, [], None), "text": (5, THING, ["a"], b"x", None)},
    ),
    "Target": (ts.Target, {"trace_id": "0" * 32}, {"trace_id": TEXT, "span_id": TEXT}),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_of_the_wrong_kind_is_one_clear_line(name: str) -> None:
    call, base, wrong = CALLS[name]
    for argument, values in wrong.items():
        for value in values:
            with pytest.raises(TracescoreError) as raised:
                call(**{**base, argument: value})
            said = str(raised.value)

            assert "\n" not in said, (argument, value)
            assert any(word in said for word in (argument.removesuffix("s"), argument.replace("_", " "))), said


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: ts.create_scorer(id="a", type="agent", score_range="0-1"),  # type: ignore[call-overload]
            "scorer 'a': create_scorer(score_range='0-1'): give the lowest and the highest score, such as (0, 1), "
            "or None for a free scale",
        ),
        (
            lambda: ts.TrajectoryExpectation(ordering="strickt"),  # type: ignore[arg-type]
            "TrajectoryExpectation(ordering='strickt'): give one of 'strict', 'relaxed', 'unordered'; "
            "did you mean 'strict'?",
        ),
        (
            lambda: ts.Rule("a", sample_rate="10%"),  # type: ignore[arg-type]
            "rule for 'a': sample_rate '10%' is not between 0 and 1 (0.1 is one run in ten)",
        ),
        (
            lambda: ts.Judge(api_key=["sk-secret"]),  # type: ignore[arg-type]
            "Judge(api_key=<list>): give a text or a function, or None",
        ),
    ],
    ids=["range", "nearest", "rate", "secret"],
)
def test_it_says_what_where_and_what_would_do(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(TracescoreError) as raised:
        call()

    assert str(raised.value) == said
