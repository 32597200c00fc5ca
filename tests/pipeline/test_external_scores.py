"""Results of others become scores of the run that holds their span, once, whenever they come, and settle nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests.otel.requests import as_json, log, logs
from tests.pipeline.exports import agent_span, receive
from tests.pipeline.stored import PROJECT, all_scores, until
from tracescore.bridge import run_sync
from tracescore.otel import JSON, decode_logs
from tracescore.pipeline import external_scores
from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.external_scores import ExternalScores
from tracescore.pipeline.settling import Settling
from tracescore.store import RunFilters, ScoreRow, Store

TIMES = SettleTimes(quiet_ns=0, orphan_ns=0)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_scores, "FIRST_PAUSE_NS", 0)


def result(trace: int = 1, span: int | None = 1, name: str = "Relevance", **stated: Any) -> dict[str, Any]:
    named = {"gen_ai.evaluation.name": name}
    fields = {"value": "score.value", "label": "score.label", "explanation": "explanation"}
    named |= {f"gen_ai.evaluation.{fields[key]}": value for key, value in stated.items() if key in fields}
    others = {"error": "error.type", "response": "gen_ai.response.id"}
    named |= {others[key]: value for key, value in stated.items() if key in others}
    return log(
        None,
        named,
        eventName="gen_ai.evaluation.result",
        traceId=f"{trace:032x}" if trace else "",
        spanId=f"{span:016x}" if span else "",
        timeUnixNano=str(stated.get("at", 5)),
    )


async def send(store: Store, *records: dict[str, Any]) -> None:
    decoded = decode_logs(as_json(logs(*records)), JSON)
    assert len(decoded.evaluations) == len(records)
    await store.spans.ingest(PROJECT, [], [], decoded.evaluations, now_ns=time.time_ns(), quiet_ns=0)


async def work(store: Store, *, expecting: int, of_runs: int = 0) -> list[ScoreRow]:
    """Settle and join until there are so many scores, and runs; give the current ones."""
    step = Settling(store, times=TIMES, on_runs=lambda: None)
    external = ExternalScores(store, in_child=step.in_child)

    async def joined() -> bool:
        while await step.step():
            pass
        await external.step()
        runs = await store.runs.list(PROJECT, filters=RunFilters())
        return len(await all_scores(store)) >= expecting and len(runs.items) >= of_runs

    try:
        await until(joined, description=f"{expecting} scores")
    finally:
        step.close()
    return await all_scores(store, current=True)


def told(rows: Sequence[ScoreRow]) -> list[tuple[str, str, float | None, str | None]]:
    return sorted((row.scorer_id, row.outcome, row.score, row.reason) for row in rows)


@pytest.mark.parametrize("first", ["result", "spans"])
def test_a_result_is_a_score_of_its_spans_run_whichever_comes_first(store: Store, first: str) -> None:
    async def scenario() -> None:
        if first == "result":
            await send(store, result(value=0.75, label="good", explanation="It answers."))
        await receive(store, [agent_span(1, 1)], quiet_ns=0)
        if first == "spans":
            await send(store, result(value=0.75, label="good", explanation="It answers."))
        (row,) = await work(store, expecting=1)
        (run,) = (await store.runs.list(PROJECT, filters=RunFilters(trace_id=f"{1:032x}"))).items
        stored = await store.scores.get(row.score_id)

        assert (row.run_id, row.span_id, row.source, row.job_id) == (run.run_id, f"{1:016x}", "external", None)
        assert told([row]) == [("external/Relevance", "score", 0.75, "good: It answers.")]
        assert run.revision == 1
        assert stored is not None
        assert (stored.evidence or {})["label"] == "good"

    run_sync(scenario())


def test_a_result_touches_no_settling(store: Store) -> None:
    async def scenario() -> None:
        await receive(store, [agent_span(1, 1)], quiet_ns=60_000_000_000)
        (before,) = await store.spans.pending(PROJECT)
        await send(store, result(value=1.0))
        trace = await store.spans.load_trace(PROJECT, f"{1:032x}")

        assert await store.spans.pending(PROJECT) == [before]
        assert trace is not None
        assert (trace.version, trace.logs) == (1, ())

    run_sync(scenario())


def test_the_same_result_again_is_one_score_and_a_newer_one_supersedes_it(store: Store) -> None:
    async def scenario() -> None:
        await receive(store, [agent_span(1, 1)], quiet_ns=0)
        await send(store, result(value=0.2, at=7))
        await send(store, result(value=0.2, at=7), result(value=0.1, at=6))
        current = await work(store, expecting=2)

        assert [row.score for row in current] == [0.2]
        assert sorted(row.score or 0 for row in await all_scores(store)) == [0.1, 0.2]

    run_sync(scenario())


def test_results_about_several_spans_of_a_run_stand_beside_each_other(store: Store) -> None:
    async def scenario() -> None:
        chat = agent_span(1, 2, parent=1, attributes={"gen_ai.operation.name": "chat", "gen_ai.response.id": "r-1"})
        await receive(store, [agent_span(1, 1), chat], quiet_ns=0)
        await send(store, result(value=1.0), result(span=2, value=0.5), result(name="Tone", span=2, label="kind"))
        await send(store, result(name="Safety", span=2, error="timeout"))
        rows = await work(store, expecting=4)

        assert told(rows) == [
            ("external/Relevance", "score", 0.5, None),
            ("external/Relevance", "score", 1.0, None),
            ("external/Safety", "failure", None, "the evaluation failed"),
            ("external/Tone", "not_scorable", None, "kind"),
        ]
        assert len({row.run_id for row in rows}) == 1

    run_sync(scenario())


@pytest.mark.parametrize("trace", [0, 1], ids=["no trace id", "a trace id, another span"])
def test_a_result_that_names_a_response_finds_its_run(store: Store, trace: int) -> None:
    async def scenario() -> None:
        chat = agent_span(1, 2, parent=1, attributes={"gen_ai.operation.name": "chat", "gen_ai.response.id": "r-1"})
        await receive(store, [agent_span(1, 1), chat], quiet_ns=0)
        await send(store, result(trace=trace, span=99 if trace else None, value=0.5, response="r-1"))
        (row,) = await work(store, expecting=1)

        assert (row.trace_id, row.span_id, row.score) == (f"{1:032x}", f"{2:016x}", 0.5)

    run_sync(scenario())


def test_a_result_follows_its_span_into_another_run(store: Store) -> None:
    async def scenario() -> None:
        inner = agent_span(1, 2, parent=1, attributes={"gen_ai.agent.name": "inner"})
        plain = {**agent_span(1, 2, parent=1), "name": "step", "attributes": []}
        await receive(store, [agent_span(1, 1), plain], quiet_ns=0)
        await send(store, result(span=2, value=0.5))
        (before,) = await work(store, expecting=1)
        await receive(store, [inner], quiet_ns=0)
        (after,) = await work(store, expecting=1, of_runs=2)

        assert (before.score_id, before.span_id) == (after.score_id, after.span_id)
        assert before.run_id != after.run_id
        run = await store.runs.get(PROJECT, after.run_id)
        assert run is not None
        assert run.agent_name == "inner"

    run_sync(scenario())


def test_a_result_of_nothing_that_is_there_waits_and_keeps_nobody(store: Store) -> None:
    async def scenario() -> None:
        await send(store, result(trace=9, value=0.5), result(trace=0, span=None, response="nobody's"))
        await receive(store, [agent_span(1, 1)], quiet_ns=0)
        await send(store, result(value=1.0))

        assert [row.score for row in await work(store, expecting=1)] == [1.0]

    run_sync(scenario())
