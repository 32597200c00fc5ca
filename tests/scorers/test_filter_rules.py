"""``filter_run`` beyond whole messages: groups, roles, parts, results, texts, turns, chains and the record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tracescore import (
    AgentInput,
    AgentOutput,
    AgentRun,
    ConfigurationError,
    Cut,
    DataPart,
    FilterChain,
    Message,
    Messages,
    ReasoningPart,
    ScorerRun,
    TextPart,
    ToolInvocationPart,
    create_scorer,
    filter_run,
    text_message,
)
from tracescore.model import MediaPart, dump_run, load_run
from tracescore.pipeline.described import described
from tracescore.scorers.trimming import RESULT_LEFT_OUT

SEARCH = ToolInvocationPart(name="search", id="c1", arguments={"q": "Rome"}, result={"hits": ["a" * 30, "b" * 30]})
FAILED = ToolInvocationPart(name="search", id="c2", arguments={"q": "Oslo"}, error="timed out")
QUESTION = Message(role="user", parts=(TextPart(text="And Rome?"), MediaPart(type="image", url="https://x/y.png")))
RUN = AgentRun(
    run_id="run-1",
    input=AgentInput(
        input_messages=Messages([QUESTION]),
        remembered_messages=Messages(
            [
                text_message("assistant", "Welcome."),
                text_message("user", "Hello"),
                text_message("assistant", "Hi."),
                text_message("user", "Is it"),
                text_message("user", "warm in Paris?"),
                text_message("assistant", "It is."),
            ]
        ),
        system_messages=Messages([text_message("system", "Be brief.")]),
        tagged_system_messages={"memory": Messages([text_message("system", "Likes maps.")])},
    ),
    output=AgentOutput(
        [
            Message(role="assistant", parts=(ReasoningPart(text="Look it up."), SEARCH, FAILED)),
            Message(role="assistant", parts=(TextPart(text="Rome is warm."),)),
        ]
    ),
)
REMEMBERED = list(RUN.input.remembered_messages)


def cut(**options: Any) -> AgentRun:
    """Filter the run, and see that it is the same the second time."""
    keep = filter_run(**options)
    once = keep(RUN)

    assert keep(once) == once
    return once


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"keep_groups": ["input"]}, {"input"}),
        ({"drop_groups": ["system", "tagged"]}, {"input", "remembered"}),
        ({"keep_groups": ["input", "system"], "drop_groups": ["system"]}, {"input"}),
        ({"keep_groups": []}, set[str]()),
        ({"drop_groups": []}, {"input", "remembered", "system", "tagged"}),
    ],
)
def test_groups_are_kept_or_dropped_and_the_output_stays(options: dict[str, Any], left: set[str]) -> None:
    run = cut(**options)
    given = run.input
    found = {
        "input": given.input_messages,
        "remembered": given.remembered_messages,
        "system": given.system_messages,
        "tagged": given.tagged_system_messages,
    }

    assert {group for group, messages in found.items() if messages} == left
    assert run.output == RUN.output


def test_roles_are_kept_or_dropped_in_every_group_and_the_output() -> None:
    users, others = cut(keep_roles=["user"]), cut(drop_roles=["user", "system"])

    assert [message.role for message in users.input.remembered_messages] == ["user"] * 3
    assert (users.input.input_messages, len(users.output), len(users.input.system_messages)) == (
        Messages([QUESTION]),
        0,
        0,
    )
    assert [message.role for message in others.input.remembered_messages] == ["assistant"] * 3
    assert (len(others.input.input_messages), others.output, others.input.tagged_system_messages) == (0, RUN.output, {})


def test_parts_go_and_messages_without_any_left_too() -> None:
    no_images = cut(drop_parts=["image", "reasoning"])
    calls = cut(keep_parts=["tool"])

    assert no_images.input.input_messages == Messages([text_message("user", "And Rome?")])
    assert [part.type for part in no_images.output[0].parts] == ["tool-invocation", "tool-invocation"]
    assert calls.output == AgentOutput([Message(role="assistant", parts=(SEARCH, FAILED))])
    assert calls.input == AgentInput()


def test_tool_results_go_and_calls_stay_with_their_errors() -> None:
    assert cut(drop_tool_results=True).output.tool_calls == (replace(SEARCH, result=RESULT_LEFT_OUT), FAILED)


def test_long_results_are_cut_at_the_beginning_of_their_json() -> None:
    (call, failed) = cut(max_result_chars=60).output.tool_calls

    assert call.result == '{"hits":["aaaaaaaaaaaaaaaaaaaaaaa [... 76 characters in all]'
    assert len(str(call.result)) == 60
    assert failed == FAILED
    assert cut(max_result_chars=0).output.tool_calls[0].result == ""


def test_long_texts_are_cut_and_say_so_where_there_is_room() -> None:
    long = replace(RUN, output=AgentOutput([text_message("assistant", "word " * 40)]))
    shorter = filter_run(max_text_chars=50)(long)

    assert shorter.output.text == "word word word word wo [... 200 characters in all]"
    assert len(shorter.output.text) == 50
    assert filter_run(max_text_chars=4)(long).output.text == "word"
    assert len(filter_run(max_text_chars=0)(long).output) == 0
    assert filter_run(max_text_chars=50)(shorter) == shorter


@pytest.mark.parametrize(("turns", "first"), [(0, 6), (1, 3), (2, 1), (3, 0), (9, 0)])
def test_the_last_turns_stay(turns: int, first: int) -> None:
    assert cut(max_remembered_turns=turns).input.remembered_messages == Messages(REMEMBERED[first:])


def test_filters_are_chained_in_order() -> None:
    texts, last = filter_run(drop_parts=["reasoning", "tool"]), filter_run(max_output_messages=1)
    chain = texts | last | filter_run(max_remembered_messages=0)

    assert isinstance(chain, FilterChain)
    assert chain == texts | (last | filter_run(max_remembered_messages=0))
    assert chain(RUN) == filter_run(max_remembered_messages=0)(last(texts(RUN)))
    assert [one.rule for one in chain(RUN).cuts] == [
        "drop_parts=['reasoning', 'tool']",
        "max_remembered_messages=0",
    ]
    with pytest.raises(TypeError):
        texts | (lambda run: run)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]


def test_each_cut_is_recorded_by_its_rule() -> None:
    run = cut(drop_parts=["image", "reasoning"], max_remembered_messages=2, drop_ground_truth=True)

    assert run.cuts == (
        Cut(
            rule="drop_parts=['image', 'reasoning']", what="input_messages", parts=1, tokens=765, counted_by="estimate"
        ),
        Cut(rule="drop_parts=['image', 'reasoning']", what="output", parts=1, tokens=3, counted_by="estimate"),
        Cut(
            rule="max_remembered_messages=2",
            what="remembered_messages",
            messages=4,
            parts=4,
            tokens=23,
            counted_by="estimate",
        ),
    )
    assert load_run(dump_run(run)) == run
    assert load_run(dump_run(RUN)).cuts == ()


def test_the_record_and_the_hash_of_what_was_judged_are_evidence() -> None:
    keep = filter_run(drop_tool_results=True) | filter_run(max_remembered_messages=0)
    judged = create_scorer(id="x", type="agent", prepare_run=keep).generate_score(lambda ctx: len(ctx.run.output) / 2)

    evidence = judged.run_inline(RUN).evidence

    assert evidence.cuts == keep(RUN).cuts
    assert evidence.cut == {"remembered_messages": 6}
    assert evidence.judged_hash == judged.prepare_inline(RUN).judged_hash != ""


def test_a_filter_counts_in_the_scorers_version() -> None:
    def version(prepare_run: Any) -> str:
        return create_scorer(id="x", type="agent", prepare_run=prepare_run).generate_score(lambda _: 1.0).version

    one, other = filter_run(max_tokens=100), filter_run(max_tokens=101)
    versions = [version(keep) for keep in (one, other, one | other, other | one)]

    assert len(set(versions)) == 4
    assert version(filter_run(max_tokens=100)) == versions[0]


def test_a_filters_fingerprint_is_the_same_on_every_python() -> None:
    chain = filter_run(part_types=["text", "tool-invocation"], max_remembered_messages=10) | filter_run(
        drop_parts=["reasoning"], max_tokens=4000
    )

    assert described(chain) == "b00a57ae0c7adf2a"


def test_a_custom_run_is_filtered_as_far_as_it_has_messages() -> None:
    custom: ScorerRun[str, list[Any]] = ScorerRun(run_id="1", input="q", output=["a", 1, text_message("user", "b")])

    assert filter_run(drop_roles=["user"], drop_groups=["input"], max_tokens=0)(custom).output == ["a", 1]


def test_an_answer_that_is_an_object_is_trimmed_like_any_part() -> None:
    run = replace(RUN, output=AgentOutput([Message(role="assistant", parts=(DataPart(data={"a": 1}),))]))

    assert len(filter_run(keep_parts=["text"])(run).output) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"drop_groups": ["remember"]}, "did you mean 'remembered'"),
        ({"keep_groups": ["output"]}, "'output' is unknown"),
        ({"drop_roles": ["asistant"]}, "did you mean 'assistant'"),
        ({"keep_parts": ["txt"]}, "did you mean 'text'"),
        ({"drop_parts": [3]}, "3 is no name"),
        ({"drop_parts": 3}, "give a list of names"),
        ({"max_tokens": -1}, r"max_tokens=-1\): give a whole number from 0"),
        ({"max_text_chars": -5}, "give a whole number from 0"),
        ({"max_result_chars": "5"}, "give a whole number from 0"),
        ({"max_remembered_turns": True}, "give a whole number from 0"),
        ({"encoding": "o200k"}, "did you mean 'o200k_base'"),
    ],
)
def test_what_is_mistyped_is_refused_with_the_nearest(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        filter_run(**options)
