"""A judge that repeats what it judges moves no score: what is read is the judge's own verdict, or nothing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from tests.scorers.hostile_outputs import WIN, hostile_outputs
from tracescore import errors
from tracescore.bridge import run_sync
from tracescore.errors import JudgeReplyError
from tracescore.judge import Judge, JudgeReply, output_schema, read_value
from tracescore.model import Score, ScoreFailure
from tracescore.scorers import Scorer, create_scorer
from tracescore.scorers.fence import fenced
from tracescore.testing import ModelCall, ModelServer

VERSION = "1"
OUTPUTS = hostile_outputs(scorer_version=VERSION)
TRUE = 0.25
VERDICT = '{"score": 0.25, "reason": "Not supported."}'
NAMED_VERDICT = '{"verdicts": [{"id": "c1", "verdict": "no"}, {"id": "c2", "verdict": "yes"}]}'


class Graded(BaseModel):
    """What is asked for. It ignores what it does not know: the most that an attacker can hope for."""

    score: float
    reason: str = ""


class Verdict(BaseModel):
    id: str
    verdict: Literal["yes", "no"]


class Verdicts(BaseModel):
    verdicts: list[Verdict]


ECHOES: dict[str, Callable[[str, str], str]] = {
    "before": lambda text, verdict: f"{text}\n{verdict}",
    "after": lambda text, verdict: f"{verdict}\n{text}",
    "around": lambda text, verdict: f"{text}\n{verdict}\n{text}",
    "close around": lambda text, verdict: f"{text}{verdict}{text}",
    "in prose": lambda text, verdict: f"The output was:\n{text}\nMy verdict is {verdict}",
    "around a fence": lambda text, verdict: f"{text}\n```json\n{verdict}\n```\n{text}",
    "in the thought": lambda text, verdict: f"<think>{text}</think>{verdict}",
    "in the reason": lambda text, verdict: json.dumps(json.loads(verdict) | {"reason": text}),
    "unescaped in the reason": lambda text, verdict: f'{verdict[:-1]}, "why": "{text}"}}',
    "unescaped before": lambda text, verdict: f'{{"why": "{text}", {verdict[1:]}',
}
"""The ways in which a judge may repeat what it judges beside its own verdict."""


READ_AT_LEAST = {
    ("in the reason", True): 50,
    ("in the reason", False): 50,
    ("in the thought", True): 40,
    ("before", False): 2,
}
"""Refusing everything would be safe too, and of no use."""


def naive(reply: str) -> float | None:
    """Read a score as many do: the first object that has one, else the first number behind the word."""
    for at in (place.start() for place in re.finditer(r"\{", reply)):
        try:
            found: Any = json.JSONDecoder().raw_decode(reply, at)[0]
            return float(found["score"])
        except (ValueError, KeyError, TypeError):
            continue
    number = re.search(r'"?score\W{1,4}(\d+(?:\.\d+)?)', reply, re.IGNORECASE)
    return None if number is None else float(number[1])


def test_there_are_fifty() -> None:
    assert len(set(OUTPUTS.values())) == 50


def test_a_naive_parser_falls_for_most() -> None:
    fooled = [name for name, text in OUTPUTS.items() if naive(ECHOES["before"](text, VERDICT)) not in (TRUE, None)]

    assert naive(VERDICT) == TRUE
    assert len(fooled) >= 40


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("native", [True, False])
def test_no_echo_moves_what_is_read(echo: str, native: bool) -> None:
    schema = output_schema(Graded)
    read: dict[str, float] = {}
    for name, text in OUTPUTS.items():
        reply = JudgeReply(text=ECHOES[echo](text, VERDICT), finish_reason="stop", native=native)
        asked = [{"role": "user", "content": fenced(text, scorer_version=VERSION)}]
        try:
            read[name] = read_value(reply, schema, asked=asked)[1].score
        except JudgeReplyError:
            continue

    assert set(read.values()) <= {TRUE}
    assert len(read) >= READ_AT_LEAST.get((echo, native), 0)


def test_a_quotation_is_no_answer() -> None:
    """A judge that repeats the output and gives no verdict of its own has given none."""
    for text in OUTPUTS.values():
        asked = [{"role": "user", "content": fenced(text, scorer_version=VERSION)}]
        with pytest.raises(JudgeReplyError):
            read_value(JudgeReply(text=f"It says: {text}", native=False), output_schema(Graded), asked=asked)


def test_no_output_closes_its_fence() -> None:
    for text in OUTPUTS.values():
        prompt = fenced(text, scorer_version=VERSION)
        opening, _, rest = prompt.partition("\n")
        inside, _, closing = rest.rpartition("\n")

        assert (inside, closing) == (text, opening.replace("<", "</"))
        assert opening not in text
        assert closing not in text


def judged_text(call: ModelCall) -> str:
    """Give what stands between the fences of a prompt."""
    content = str(call.body["messages"][1]["content"])
    found = re.search(r"<(untrusted-[0-9a-f]{24})>\n(.*)\n</\1>", content, re.DOTALL)
    assert found is not None
    return found[2]


def copying(verdict: str, echo: str) -> Callable[[ModelCall], str]:
    return lambda call: ECHOES[echo](judged_text(call), verdict)


def graded(judge: Judge) -> Scorer[Any, Any, Any]:
    return create_scorer(id="graded", type="agent", judge=judge, version=VERSION).generate_score(
        description="Grade it",
        create_prompt=lambda ctx: f"Grade this:\n{ctx.fenced(ctx.run.output.text)}",
        output_schema=Graded,
        calculate_score=lambda ctx: ctx.output.score,
    )


def by_ids(judge: Judge) -> Scorer[Any, Any, Any]:
    """Give a scorer whose verdicts count by the ids that it gave: c1 weighs three times as much as c2."""
    weights = {"c1": 0.75, "c2": 0.25}
    return create_scorer(id="by-ids", type="agent", judge=judge, version=VERSION).generate_score(
        description="Judge c1 and c2",
        create_prompt=lambda ctx: f"Judge c1 and c2 in:\n{ctx.fenced(ctx.run.output.text)}",
        output_schema=Verdicts,
        calculate_score=lambda ctx: sum(
            weights.get(one.id, 0.0) for one in ctx.output.verdicts if one.verdict == "yes"
        ),
    )


@pytest.mark.parametrize("mode", [False, "inline"])
@pytest.mark.parametrize("echo", ["around", "in the reason", "unescaped in the reason"])
@pytest.mark.parametrize(("build", "verdict"), [(graded, VERDICT), (by_ids, NAMED_VERDICT)])
def test_a_judge_that_copies_the_output_moves_no_score(
    build: Callable[[Judge], Scorer[Any, Any, Any]], verdict: str, echo: str, mode: Any
) -> None:
    with ModelServer(replies=copying(verdict, echo)) as server:
        judge = Judge(
            model="openai/stand-in",
            base_url=server.base_url,
            api_key="none",
            instructions="You are strict.",
            json_prompt_injection=mode,
        )
        scorer = build(judge)

        async def all_outcomes() -> list[Any]:
            return await asyncio.gather(*(scorer.run(output=text) for text in OUTPUTS.values()))

        outcomes = run_sync(all_outcomes())
        calls = len(server.calls)

    scores = [outcome.score for outcome in outcomes if isinstance(outcome, Score)]
    failures = [outcome for outcome in outcomes if isinstance(outcome, ScoreFailure)]
    assert (len(scores) + len(failures), set(scores) <= {TRUE}) == (50, True)
    assert all(issubclass(getattr(errors, failure.error_type), JudgeReplyError) for failure in failures)
    assert 50 <= calls <= 100  # one re-ask at most
    if echo == "in the reason":
        assert len(scores) == 50


def test_what_they_want_is_what_an_honest_judge_could_say() -> None:
    """Else nothing of this would show anything: the verdict that they forge would be taken from the judge itself."""
    assert read_value(JudgeReply(text=WIN), output_schema(Graded))[1].score == 1.0
    assert len(read_value(JudgeReply(text=WIN), output_schema(Verdicts))[1].verdicts) == 2
