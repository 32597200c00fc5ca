"""Scoring what someone names: a batch follows each target to its outcome."""

from __future__ import annotations

from typing import Any

from tests.otel.requests import SPAN_ID, TRACE_ID, as_json, span, traces
from tests.server.calls import call, get, post_json
from tests.server.stored import make_run, offer, plan, put_runs, work
from tracescore.app import TraceScore
from tracescore.bridge import run_sync
from tracescore.model import NotScorable
from tracescore.otel import JSON
from tracescore.pipeline.plan import plan_runs
from tracescore.pipeline.wake import MemoryWake
from tracescore.scorers import create_scorer
from tracescore.server import RunningServer
from tracescore.store import Store


def score(server: RunningServer, *targets: dict[str, Any], scorer_id: str = "brevity") -> str:
    answer = post_json(server, "/api/traces/score", {"scorer_id": scorer_id, "targets": list(targets)})
    assert answer.status == 202, answer.json
    return answer.json["batch_id"]


def outcomes(server: RunningServer, batch_id: str) -> list[tuple[str | None, str, float | None, str | None]]:
    batch = get(server, f"/api/batches/{batch_id}").json
    return [(item["span_id"], item["outcome"], item["score"], item["reason"]) for item in batch["items"]]


def test_a_span_of_a_run_is_scored(server: RunningServer, store: Store, wake: MemoryWake) -> None:
    run = make_run()
    put_runs(store, run)
    offer(store, "brevity")
    batch_id = score(server, {"trace_id": run.trace_id, "span_id": run.span_id})
    before = get(server, f"/api/batches/{batch_id}").json
    [job] = work(store)
    after = get(server, f"/api/batches/{batch_id}").json

    assert (before["done"], before["items"][0]["outcome"]) == (False, "pending")
    assert wake.sent == [("live", (job.job_id,))]
    assert (job.source, job.run_id) == ("manual", run.run_id)
    assert after == {
        "batch_id": batch_id,
        "kind": "score",
        "created_at": before["created_at"],
        "done": True,
        "counts": {"score": 1},
        "items": [
            {
                "trace_id": run.trace_id,
                "span_id": run.span_id,
                "run_id": run.run_id,
                "outcome": "score",
                "reason": "short enough",
                "score": 0.5,
                "score_id": after["items"][0]["score_id"],
            }
        ],
    }


def test_a_trace_means_its_outermost_runs(server: RunningServer, store: Store) -> None:
    outer, second, nested = make_run(1, span=1), make_run(1, span=2), make_run(1, span=3, outermost=False)
    put_runs(store, outer, second, nested)
    offer(store, "brevity")
    batch_id = score(server, {"trace_id": outer.trace_id})
    work(store)

    assert [item[:2] for item in outcomes(server, batch_id)] == [(outer.span_id, "score"), (second.span_id, "score")]


def test_what_was_scored_before_is_the_outcome_at_once(server: RunningServer, store: Store, wake: MemoryWake) -> None:
    run = make_run()
    put_runs(store, run)
    offer(store, "brevity")
    first = score(server, {"trace_id": run.trace_id})
    work(store)
    second = score(server, {"trace_id": run.trace_id}, {"trace_id": run.trace_id})

    assert outcomes(server, second) == outcomes(server, first)
    assert (len(wake.sent), work(store)) == (1, [])


def test_what_a_rule_had_scored_is_the_outcome_of_a_scorer_that_reads_more_than_the_content(
    server: RunningServer, store: Store, wake: MemoryWake
) -> None:
    run = make_run()
    put_runs(store, run)
    live = TraceScore([create_scorer(id="brevity", type="agent", version="v1", reads=("usage",)).generate_score(_half)])
    stored = run_sync(store.runs.runs_after("default", 0, 10))
    planned = plan_runs(live, stored, first_seen=dict.fromkeys(live.rule_set.rule_hashes, 0), now_ns=1)
    run_sync(store.jobs.plan("default", "app", planned.jobs))
    offer(store, "brevity", reads=("usage",))
    work(store)
    batch_id = score(server, {"trace_id": run.trace_id})

    assert outcomes(server, batch_id) == [(run.span_id, "score", 0.5, "short enough")]
    assert wake.sent == []


def _half(_: object) -> float:
    return 0.5


def test_not_scorable_and_its_reason_reach_the_batch(server: RunningServer, store: Store) -> None:
    run = make_run()
    put_runs(store, run)
    offer(store, "brevity")
    batch_id = score(server, {"trace_id": run.trace_id})
    work(
        store,
        outcome=lambda job: NotScorable(
            run_id=job.run_id, scorer_id="brevity", scorer_version="v1", reason="nothing was said"
        ),
    )

    assert outcomes(server, batch_id) == [(run.span_id, "not_scorable", None, "nothing was said")]


def test_a_span_inside_a_run_is_a_run_of_its_own(server: RunningServer, store: Store) -> None:
    call(server, "POST", "/v1/traces", as_json(traces(span({"gen_ai.operation.name": "chat"}))), content_type=JSON)
    offer(store, "brevity")
    batch_id = score(server, {"trace_id": TRACE_ID, "span_id": SPAN_ID})
    [job] = work(store)
    row = run_sync(store.runs.get("default", job.run_id))

    assert row is not None
    assert (row.kind, row.span_id) == ("llm", SPAN_ID)
    assert [item[:2] for item in outcomes(server, batch_id)] == [(SPAN_ID, "score")]


def test_targets_that_cannot_be_scored_say_why_and_cost_the_others_nothing(server: RunningServer, store: Store) -> None:
    run = make_run()
    put_runs(store, run)
    call(server, "POST", "/v1/traces", as_json(traces(span())), content_type=JSON)
    offer(store, "brevity")
    batch_id = score(
        server,
        {"trace_id": "f" * 32},
        {"trace_id": TRACE_ID},
        {"trace_id": TRACE_ID, "span_id": "f" * 16},
        {"trace_id": run.trace_id},
    )
    work(store)

    assert outcomes(server, batch_id) == [
        (None, "not_scorable", None, "nothing of this trace was received"),
        (
            None,
            "not_scorable",
            None,
            "the trace has no settled run yet: ask again when it has settled, or say that it is complete",
        ),
        ("f" * 16, "not_scorable", None, "the trace has no such span"),
        (run.span_id, "score", 0.5, "short enough"),
    ]


def test_a_scorer_that_nobody_offers_is_not_found_and_the_nearest_is_named(server: RunningServer, store: Store) -> None:
    asked: dict[str, Any] = {"scorer_id": "brevty", "targets": [{"trace_id": TRACE_ID}]}
    nobody = post_json(server, "/api/traces/score", asked)
    offer(store, "brevity", "tone")
    nearest = post_json(server, "/api/traces/score", asked)
    far = post_json(server, "/api/traces/score", {**asked, "scorer_id": "x"})

    assert (nobody.status, "is a worker running?" in nobody.json["error"]) == (404, True)
    assert nearest.json["error"] == "no live worker offers scorer 'brevty'; did you mean 'brevity'?"
    assert far.json["error"] == "no live worker offers scorer 'x'; offered are 'brevity', 'tone'"


def test_a_batch_that_makes_no_sense_is_told_why(server: RunningServer) -> None:
    target = {"trace_id": TRACE_ID}
    bad: list[tuple[Any, str]] = [
        ({"scorer_id": "brevity", "targets": []}, "targets: give at least 1"),
        ({"scorer_id": "brevity", "targets": [target] * 1001}, "targets: "),
        ({"scorer_id": "brevity", "targets": [{"trace_id": "1"}]}, "targets.0.trace_id: "),
        (
            {"scorer_id": "brevity", "targets": [{**target, "span": "1"}]},
            "targets.0.span: there is no such field; did you mean 'span_id'? Known are span_id, trace_id",
        ),
        ({"targets": [target]}, "scorer_id: it is missing"),
        ([], "body: give an object"),
    ]

    for asked, words in bad:
        answer = post_json(server, "/api/traces/score", asked)
        assert (answer.status, answer.json["error"].startswith(words)) == (422, True), answer.json


def test_a_trace_can_be_said_to_be_complete(server: RunningServer, store: Store) -> None:
    path = f"/api/traces/{TRACE_ID}/complete"
    unknown = call(server, "POST", path, b"")
    call(server, "POST", "/v1/traces", as_json(traces(span())), content_type=JSON)
    known = call(server, "POST", path)
    trace = run_sync(store.spans.load_trace("default", TRACE_ID))

    assert (unknown.status, unknown.json["error"]) == (404, f"nothing of trace {TRACE_ID} was received")
    assert (known.status, known.json) == (202, {"trace_id": TRACE_ID, "complete": True})
    assert trace is not None
    assert trace.complete


def test_a_waiting_live_job_is_followed_and_not_doubled(server: RunningServer, store: Store) -> None:
    run = make_run()
    put_runs(store, run)
    offer(store, "brevity", "tone")
    plan(store, run, scorer_id="tone")
    batch_id = score(server, {"trace_id": run.trace_id})
    work(store)

    assert outcomes(server, batch_id) == [(run.span_id, "score", 0.5, "short enough")]


def test_a_received_trace_is_explained(server: RunningServer) -> None:
    body = as_json(traces(span({"gen_ai.operation.name": "chat", "gen_ai.prompt": "q"})))
    sent = call(server, "POST", "/v1/traces", body, **{"content-type": JSON})
    answer = get(server, f"/api/traces/{TRACE_ID}/explain")
    [explained] = answer.json["spans"]

    assert sent.status == 200
    assert (explained["span_id"], explained["role"], explained["dialects"]) == (SPAN_ID, "llm", ["GenAI"])
    assert [run["kind"] for run in answer.json["runs"]] == ["trace"]
    assert get(server, f"/api/traces/{'0' * 31}1/explain").status == 404
