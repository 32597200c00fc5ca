"""A stored score follows from its evidence, and what was changed in it is told."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipeline.stored import PROJECT, all_scores, make_run, new_job, pumping, put_jobs, put_runs, until
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.errors import InputError, JudgeTransientError
from tracescore.judge import Judge, JudgeRequest
from tracescore.judge.learned import EndpointFacts
from tracescore.model import AgentRun, dump_run
from tracescore.pipeline.replay import Replay, replay
from tracescore.scorers import ScoreValue, create_scorer
from tracescore.store import ScoreRow, Store
from tracescore.store.encoding import evidence_digest
from tracescore.testing import FakeJudge

VERDICTS = {
    "type": "object",
    "properties": {"verdicts": {"type": "array", "items": {"type": "string", "enum": ["yes", "no"]}}},
    "required": ["verdicts"],
}


def answer(request: JudgeRequest) -> Any:
    if request.schema is None:
        return "Because one claim of two is supported."
    return {"verdicts": ["yes", "no"]}


def app_asking(judge: FakeJudge, **options: Any) -> TraceScore:
    grounded = (
        create_scorer(
            id="grounded",
            type="agent",
            judge=Judge(model=judge, instructions="You are strict.", error_processors=[]),
            **options,
        )
        .preprocess(lambda ctx: ctx.run.output.text.split())
        .analyze(
            description="Judge each claim",
            create_prompt=lambda ctx: f"Which claims hold?\n{ctx.fenced(ctx.run.output.text)}",
            output_schema=VERDICTS,
        )
        .generate_score(
            lambda ctx: ScoreValue(
                score=ctx.results.analyze_step_result["verdicts"].count("yes") / 2,
                sub_scores={"words": float(len(ctx.results.preprocess_step_result))},
            )
        )
        .generate_reason(description="Say why", create_prompt=lambda ctx: f"Why {ctx.score}?")
    )
    return TraceScore([grounded])


async def scored(store: Store, app: TraceScore, count: int = 1) -> list[ScoreRow]:
    async def ended() -> bool:
        return len(await all_scores(store)) >= count

    async with pumping(store, app):
        await until(ended, description="the outcomes")
    return await all_scores(store)


def scored_once(store: Store, app: TraceScore) -> str:
    async def score() -> str:
        await put_jobs(store, app, [make_run(1)])
        (row,) = await scored(store, app)
        return row.score_id

    return run_sync(score())


def replayed(store: Store, app: TraceScore, score_id: str, *, live: bool = False) -> Replay:
    return run_sync(replay(store, app, score_id, project=PROJECT, live=live))


def parts(done: Replay) -> list[str]:
    return [difference.what for difference in done.differences]


def test_a_score_is_rebuilt_from_its_replies_without_asking(store: Store) -> None:
    judge = FakeJudge(answer)
    app = app_asking(judge)
    score_id = scored_once(store, app)
    asked = len(judge.requests)
    done = replayed(store, app, score_id)

    assert (done.same, done.differences, done.notes) == (True, (), ())
    assert float(done.outcome) == done.stored.score == 0.5
    assert len(judge.requests) == asked == 2


def test_live_asks_again_and_tells_what_differs(store: Store) -> None:
    judge = FakeJudge(answer)
    app = app_asking(judge)
    score_id = scored_once(store, app)
    other = app_asking(FakeJudge(lambda request: "New." if request.schema is None else {"verdicts": ["no"]}))
    done = replayed(store, other, score_id, live=True)

    assert parts(done) == ["score", "reason", "result of analyze"]
    assert (done.differences[0].stored, done.differences[0].replayed) == ("0.5", "0.0")
    assert replayed(store, app, score_id, live=True).same


def test_code_that_changed_is_another_version_and_another_score(store: Store) -> None:
    score_id = scored_once(store, app_asking(FakeJudge(answer)))
    changed = (
        create_scorer(id="grounded", type="agent", judge=Judge(model=FakeJudge(answer), instructions="You are lax."))
        .preprocess(lambda ctx: ctx.run.output.text.split())
        .analyze(description="d", create_prompt=lambda ctx: "Which?", output_schema=VERDICTS)
        .generate_score(lambda ctx: ScoreValue(score=0.25, sub_scores={"words": 2.0}))
        .generate_reason(description="Say why", create_prompt=lambda ctx: f"Why {ctx.score}?")
    )
    done = replayed(store, TraceScore([changed]), score_id)

    assert parts(done) == ["score"]
    assert done.version in done.notes[0]
    assert done.stored.scorer_version in done.notes[0]


def test_a_given_version_hides_no_other_prompt(store: Store) -> None:
    score_id = scored_once(store, app_asking(FakeJudge(answer), version="1"))
    changed = (
        create_scorer(
            id="grounded",
            type="agent",
            version="1",
            judge=Judge(model=FakeJudge(answer), instructions="Be strict."),
        )
        .preprocess(lambda ctx: ctx.run.output.text.split())
        .analyze(description="d", create_prompt=lambda ctx: "Which?", output_schema=VERDICTS)
        .generate_score(lambda ctx: ScoreValue(score=0.5, sub_scores={"words": 2.0}))
        .generate_reason(description="Say why", create_prompt=lambda ctx: f"Why {ctx.score}?")
    )
    fewer = create_scorer(id="grounded", type="agent", version="1").generate_score(lambda ctx: 0.5)

    assert parts(replayed(store, TraceScore([changed]), score_id)) == ["judge call 1 (analyze), prompt"]
    assert parts(replayed(store, TraceScore([fewer]), score_id)) == [
        "reason",
        "sub-score words",
        "result of preprocess",
        "result of analyze",
        "judge calls",
    ]


def test_a_revised_run_no_longer_gives_what_was_judged(store: Store) -> None:
    app = app_asking(FakeJudge(answer))
    score_id = scored_once(store, app)
    run_sync(put_runs(store, [make_run(1, text="another answer")], version=2))
    done = replayed(store, app, score_id)

    assert parts(done)[0] == "judged run"
    assert "revision 2" in done.differences[0].replayed


def test_what_was_queued_is_what_is_replayed(store: Store) -> None:
    """Where preparing for planning cut the run, the cut one was judged, whatever the stage would do today."""
    app = app_asking(FakeJudge(answer))
    whole, cut = make_run(1, text="whole text"), make_run(1, text="text")
    job = new_job(cut, scorer_id="grounded", version=app.scorers["grounded"].version)

    async def score() -> str:
        await put_runs(store, [whole])
        await store.jobs.plan(PROJECT, app.name, [replace(job, prepared=dump_run(cut))], now_ns=time.time_ns())
        return (await scored(store, app))[0].score_id

    done = replayed(store, app, run_sync(score()))

    assert done.same
    assert done.stored.sub_scores[0].value == 1.0


def test_stages_run_again_where_nothing_was_planned(store: Store) -> None:
    """What was asked for by hand goes through the app's prepare_run in the worker."""
    grounded = app_asking(FakeJudge(answer)).scorers["grounded"]
    app = TraceScore([grounded], prepare_run=lambda run: replace(run, output=run.output[-1:]))
    job = replace(new_job(make_run(1), scorer_id="grounded", version=grounded.version), source="manual")

    async def score() -> str:
        await put_runs(store, [make_run(1)])
        await store.jobs.plan(PROJECT, app.name, [job], now_ns=time.time_ns())
        return (await scored(store, app))[0].score_id

    score_id = run_sync(score())

    def refuse(run: AgentRun) -> AgentRun:
        raise ValueError("not today")

    assert replayed(store, app, score_id).same
    assert parts(replayed(store, TraceScore([grounded], prepare_run=refuse), score_id))[0] == "outcome"


@pytest.mark.parametrize(
    ("fails", "outcome"),
    [
        (JudgeTransientError("the line is dead"), "failure"),
        ("no JSON at all", "failure"),
        ({"verdicts": ["maybe"]}, "failure"),
    ],
)
def test_a_failure_is_rebuilt_too(store: Store, fails: Any, outcome: str) -> None:
    def failing(request: JudgeRequest) -> Any:
        if isinstance(fails, Exception):
            raise fails
        return fails

    app = app_asking(FakeJudge(failing))
    done = replayed(store, app, scored_once(store, app))

    assert (done.outcome.outcome, done.differences) == (outcome, ())


def test_a_re_ask_is_rebuilt_with_its_own_reply(store: Store) -> None:
    answers = iter(["no JSON at all", {"verdicts": ["yes", "yes"]}, "Because."])
    judge = FakeJudge(lambda request: next(answers))
    app = app_asking(judge)
    done = replayed(store, app, scored_once(store, app))

    assert (done.stored.score, done.differences, len(judge.requests)) == (1.0, (), 3)


def test_a_re_ask_that_brought_no_reply_is_rebuilt(store: Store) -> None:
    answers = iter(["no JSON at all", JudgeTransientError("the line is dead")])

    def answered(request: JudgeRequest) -> Any:
        given = next(answers)
        if isinstance(given, Exception):
            raise given
        return given

    app = app_asking(FakeJudge(answered))
    done = replayed(store, app, scored_once(store, app))

    assert (done.stored.reason, done.differences) == ("the line is dead", ())


def test_prose_that_was_allowed_then_is_allowed_again(store: Store) -> None:
    """The endpoint took no schema, so that the prompt stated it: a replay must read by the same rules."""

    class Endpoint(FakeJudge):
        facts = EndpointFacts(schema_refused=True)

    def answered(request: JudgeRequest) -> Any:
        return "Fine." if request.schema is None else 'Here it is: {"verdicts": ["yes", "yes"]}'

    app = app_asking(Endpoint(answered))
    done = replayed(store, app, scored_once(store, app))

    assert (done.stored.score, done.differences) == (1.0, ())


def test_a_reason_that_failed_is_rebuilt(store: Store) -> None:
    def no_reason(request: JudgeRequest) -> Any:
        if request.schema is None:
            raise JudgeTransientError("the line is dead")
        return answer(request)

    app = app_asking(FakeJudge(no_reason))
    done = replayed(store, app, scored_once(store, app))

    assert (done.stored.score, done.differences) == (0.5, ())


def test_what_cannot_be_replayed_is_said(store: Store) -> None:
    app = app_asking(FakeJudge(answer))
    score_id = scored_once(store, app)

    with pytest.raises(InputError, match="no outcome 'nonsense'"):
        replayed(store, app, "nonsense")
    with pytest.raises(InputError, match="no outcome"):
        run_sync(replay(store, app, score_id, project="another"))
    with pytest.raises(InputError, match="the app has no scorer 'grounded'; it has none"):
        replayed(store, TraceScore([]), score_id)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One judged score in a store whose file the test can write into."""

    store: Store
    app: TraceScore
    score_id: str
    body: bytes
    write: Callable[[bytes, bytes], None]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    folder: Path = tmp_path_factory.mktemp("replay")
    app = app_asking(FakeJudge(answer))
    with Store.open(folder) as store:
        score_id = scored_once(store, app)
        connection = sqlite3.connect(folder / "work.db", isolation_level=None)
        ((body,),) = connection.execute("SELECT body FROM evidence").fetchall()

        def write(changed: bytes, digest: bytes) -> None:
            connection.execute("UPDATE evidence SET body = ?, digest = ?", (changed, digest))

        yield Kept(store=store, app=app, score_id=score_id, body=body, write=write)
        connection.close()


@given(data=st.data())
def test_one_changed_byte_in_a_stored_reply_is_told(kept: Kept, data: st.DataObject) -> None:
    replies = [b'{\\"verdicts\\":[\\"yes\\",\\"no\\"]}', b"Because one claim of two is supported."]
    places = [place.start() for reply in replies for place in re.finditer(re.escape(reply), kept.body)]
    assert len(places) == 4  # each of two replies stands in its call's list, and as the call's last one
    begin = data.draw(st.sampled_from(places))
    end = begin + next(len(reply) for reply in replies if kept.body.startswith(reply, begin))
    at = data.draw(st.integers(begin, end - 1))
    digest = evidence_digest(kept.body)
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != kept.body[at]))
    kept.write(kept.body[:at] + bytes([byte]) + kept.body[at + 1 :], digest)
    try:
        done = replayed(kept.store, kept.app, kept.score_id)
    finally:
        kept.write(kept.body, digest)

    assert not done.same
    assert replayed(kept.store, kept.app, kept.score_id).same


def test_a_reply_that_was_changed_with_its_digest_gives_another_score(kept: Kept) -> None:
    changed = kept.body.replace(b'[\\"yes\\",\\"no\\"]', b'[\\"yes\\",\\"yes\\"]')
    kept.write(changed, evidence_digest(changed))
    try:
        done = replayed(kept.store, kept.app, kept.score_id)
    finally:
        kept.write(kept.body, evidence_digest(kept.body))

    assert {"score", "result of analyze"} <= set(parts(done))
    assert "evidence" not in parts(done)


@pytest.mark.parametrize("changed", [b"", b"[1]", b'{"judge_calls":7,"results":[]}', b'{"judge_calls":[1,{"step":1}]}'])
def test_evidence_that_is_none_is_told(kept: Kept, changed: bytes) -> None:
    kept.write(changed, evidence_digest(changed))
    try:
        done = replayed(kept.store, kept.app, kept.score_id)
    finally:
        kept.write(kept.body, evidence_digest(kept.body))

    assert "outcome" in parts(done)
    assert "asks the judge more often than the evidence holds replies" in str(done.outcome)
