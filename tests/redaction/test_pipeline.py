"""The policy at work: over HTTP into the store, out of a worker into the store, and out to a sink."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.otel.requests import TRACE_ID, as_json, as_protobuf, span, traces
from tests.pipeline.stored import PROJECT, all_scores, make_run, pumping, put_jobs, until
from tests.redaction.policies import KEY, RAISING
from tests.server.calls import call
from tracescore import AgentRun, ConfigurationError, Redaction, ScoreValue, SubScore, TraceScore, create_scorer
from tracescore.bridge import run_sync
from tracescore.otel import JSON, PROTOBUF
from tracescore.pipeline.deliver import Delivering
from tracescore.redaction import load_redaction
from tracescore.server import serving
from tracescore.settings import Settings
from tracescore.sinks import MemorySink
from tracescore.store import ScoreRow, Store

POLICY = Redaction()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def settings(redaction: str) -> Settings:
    return Settings(port=0, broker="none", settle_quiet=0.0, redaction=redaction)


def test_a_secret_never_reaches_the_stores_files(store: Store, tmp_path: Path) -> None:
    request = traces(span({"a": f"the key is {KEY}"}))
    with serving(store, settings("default")) as server:
        answers = [
            call(server, "POST", "/v1/traces", body, content_type=kind)
            for body, kind in ((as_json(request), JSON), (as_protobuf(request), PROTOBUF), (as_json(request), JSON))
        ]
    trace = run_sync(store.spans.load_trace(PROJECT, TRACE_ID))

    assert [answer.status for answer in answers] == [200, 200, 200]
    assert trace is not None
    assert [len(stored.copies) for stored in trace.spans] == [1]
    assert all(KEY.encode() not in path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())


def test_a_policy_is_found_by_its_name_and_one_that_raises_stores_nothing(store: Store) -> None:
    with serving(store, settings("tests.redaction.policies:RAISING")) as server:
        answer = call(server, "POST", "/v1/traces", as_json(traces(span({"a": "an oddity x"}))), content_type=JSON)

    assert (answer.status, answer.headers["retry-after"]) == (503, "60")
    assert answer.json["error"] == "nothing was stored: redaction rule 'odd' raised ValueError"
    assert run_sync(store.spans.load_trace(PROJECT, TRACE_ID)) is None


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("on", "expected 'default', 'off' or 'module:attribute'"),
        ("tests.redaction.policies:KEY", "KEY is a str, not a Redaction"),
        ("tests.redaction.nowhere:x", "importing tests.redaction.nowhere failed: ModuleNotFoundError"),
    ],
)
def test_a_setting_that_names_no_policy_is_refused(setting: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        load_redaction(setting)


def test_the_settings_name_the_default_or_none() -> None:
    assert load_redaction("default").version == POLICY.version
    assert load_redaction("off").store_door.open


def told(run: AgentRun) -> ScoreValue:
    if run.output.text == "fail":
        raise RuntimeError(f"refused: {KEY}")
    return ScoreValue(score=1.0, reason=f"Told {run.output.text} and b@example.com by {KEY}")


SCORER = (
    create_scorer(id="told", type="agent", version="1")
    .analyze(lambda ctx: {"seen": [KEY, ctx.run.output.text]})
    .generate_score(lambda ctx: told(ctx.run))
)


async def scored(store: Store, policy: Redaction, *texts: str) -> list[ScoreRow]:
    app = TraceScore([SCORER], rules=[], redaction=policy)
    await put_jobs(store, app, [make_run(number, text=text) for number, text in enumerate(texts)])
    async with pumping(store, app, sinks=["memory"], redaction=app.redaction) as pump:

        async def done() -> bool:
            return pump.written == len(texts)

        await until(done, description="outcomes")
    rows = [await store.scores.get(row.score_id) for row in await all_scores(store)]
    return sorted((row for row in rows if row is not None), key=lambda row: row.run_id)


def test_outcomes_are_stored_without_secrets_and_leave_without_addresses(store: Store) -> None:
    async def scenario() -> tuple[list[ScoreRow], MemorySink]:
        rows = await scored(store, POLICY, "a@example.com", "fail")
        sink = MemorySink("memory")
        await Delivering(store, [sink], redaction=POLICY).step()
        return rows, sink

    rows, sink = run_sync(scenario())
    by_outcome = {row.outcome: row for row in rows}
    score, failure = by_outcome["score"], by_outcome["failure"]
    evidence = score.evidence or {}

    assert KEY not in repr(rows)
    assert str(score.reason).startswith("Told a@example.com and b@example.com by [api_key:")
    assert str(failure.reason).startswith("refused: [api_key:")
    assert evidence["redaction"] == POLICY.version
    assert evidence["results"]["analyze"]["seen"][1] == "a@example.com"
    assert evidence["results"]["analyze"]["seen"][0].startswith("[api_key:")
    sent = {item.outcome: item.reason or "" for item in sink.items}
    assert sent["score"].startswith("Told [email:1] and [email:2] by [api_key:")


def test_an_outcome_that_cannot_be_redacted_is_a_failure(store: Store) -> None:
    rows = run_sync(scored(store, RAISING, "an oddity x"))

    assert [(row.outcome, row.error_type, row.reason) for row in rows] == [
        ("failure", "RedactionError", "redaction rule 'odd' raised ValueError")
    ]


def test_what_cannot_be_redacted_for_a_sink_stays_owed(store: Store) -> None:
    async def scenario() -> MemorySink:
        await scored(store, POLICY, "an oddity x")
        sink = MemorySink("memory")
        await Delivering(store, [sink], redaction=RAISING).step()
        return sink

    assert run_sync(scenario()).items == []


def test_sub_scores_share_the_markers_of_their_outcome(store: Store) -> None:
    def both(run: AgentRun) -> ScoreValue:
        parts = tuple(SubScore(name=name, value=1.0, reason=f"{name}@example.com") for name in ("a", "b"))
        return ScoreValue(score=1.0, reason="b@example.com", sub_scores=parts)

    scorer = create_scorer(id="both", type="agent", version="1").generate_score(lambda ctx: both(ctx.run))

    async def scenario() -> MemorySink:
        app = TraceScore([scorer], rules=[])
        await put_jobs(store, app, [make_run(0)])
        async with pumping(store, app, sinks=["memory"]) as pump:

            async def done() -> bool:
                return pump.written == 1

            await until(done, description="the outcome")
        sink = MemorySink("memory")
        await Delivering(store, [sink], redaction=POLICY).step()
        return sink

    [item] = run_sync(scenario()).items

    assert (item.reason, [sub.reason for sub in item.sub_scores]) == ("[email:1]", ["[email:2]", "[email:1]"])
