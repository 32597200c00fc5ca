"""The query API: runs, outcomes and scorers as JSON."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.server.calls import get
from tests.server.stored import PROJECT, SECOND, START, make_run, offer, plan, put_runs, work
from tracescore.bridge import run_sync
from tracescore.model import ScoreFailure, run_to_json
from tracescore.server import RunningServer
from tracescore.store import DecisionCount, Store
from tracescore.store.decisions import HOUR_NS


def ids(answer: Any) -> list[str]:
    return [item["run_id"] for item in answer.json["items"]]


def test_runs_are_listed_newest_first_without_their_content(server: RunningServer, store: Store) -> None:
    first, second = make_run(1, session="s"), make_run(2)
    put_runs(store, first, second)
    answer = get(server, "/api/runs")
    [_, listed] = answer.json["items"]

    assert ids(answer) == [second.run_id, first.run_id]
    assert listed == {
        "run_id": first.run_id,
        "kind": "agent",
        "trace_id": first.trace_id,
        "span_id": first.span_id,
        "parent_run_id": None,
        "agent_name": "Ada",
        "session_id": "s",
        "service": "shop",
        "environment": None,
        "status": "ok",
        "outermost": True,
        "revision": 1,
        "started_at": "2026-11-30T13:24:18.000000000Z",
        "ended_at": "2026-11-30T13:24:18.000000005Z",
        "updated_at": listed["updated_at"],
    }


@pytest.mark.parametrize(
    "query",
    [
        {"agent": "Bob"},
        {"trace_id": f"{2:032x}"},
        {"trace_id": f"{2:032X}"},
        {"session": "t"},
        {"status": "error"},
        {"outermost": "false"},
        {"since": START + 2 * SECOND},
        {"since": "2026-11-30T13:24:19Z"},
        {"since": "2026-11-30T14:24:19+01:00"},
    ],
    ids=str,
)
def test_runs_are_filtered(server: RunningServer, store: Store, query: dict[str, Any]) -> None:
    other = make_run(2, agent="Bob", session="t", status="error", outermost=False)
    put_runs(store, make_run(1), other)

    assert ids(get(server, "/api/runs", **query)) == [other.run_id]


def test_pages_follow_each_other_to_the_end(server: RunningServer, store: Store) -> None:
    put_runs(store, *(make_run(number) for number in range(1, 6)))
    seen: list[str] = []
    sizes: list[int] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = get(server, "/api/runs", **query)
        seen += ids(page)
        sizes.append(len(ids(page)))
        if page.json["next"] is None:
            break
        query["after"] = page.json["next"]

    assert seen == [make_run(number).run_id for number in (5, 4, 3, 2, 1)]
    assert sizes == [2, 2, 1]


@pytest.mark.parametrize(
    ("path", "query", "words"),
    [
        ("/api/runs", {"limit": 0}, "limit: give 1 or more"),
        ("/api/runs", {"limit": 501}, "limit: give 500 or less"),
        ("/api/runs", {"trace_id": "xyz"}, "trace_id: give 32 hex digits"),
        ("/api/runs", {"trace_id": "0" * 32}, "an id of zeros names nothing"),
        (
            "/api/runs",
            {"trace": "1" * 32},
            "trace: there is no such field; did you mean 'trace_id'? Known are after, agent, ",
        ),
        ("/api/runs", {"since": "yesterday"}, "since: not a time: give RFC 3339"),
        ("/api/runs", {"status": "good"}, "status: give 'ok', 'error' or 'paused'"),
        ("/api/scores", {"span_id": "1" * 32}, "span_id: "),
        ("/api/scores", {"outcome": "error"}, "outcome: "),
        ("/api/runs/12", {}, "run_id: "),
    ],
    ids=str,
)
def test_a_question_that_makes_no_sense_is_told_why(
    server: RunningServer, path: str, query: dict[str, Any], words: str
) -> None:
    answer = get(server, path, **query)

    assert (answer.status, words in answer.json["error"]) == (422, True)


def test_a_page_token_that_was_made_up_is_refused(server: RunningServer) -> None:
    assert get(server, "/api/runs", after="made up").status == 400


def test_a_run_is_shown_whole_with_its_outcomes_and_what_it_waits_for(server: RunningServer, store: Store) -> None:
    run = make_run()
    put_runs(store, run)
    plan(store, run)
    work(store)
    plan(store, run, scorer_id="tone")
    shown = get(server, f"/api/runs/{run.run_id}").json

    assert {name: shown[name] for name in run_to_json(run)} == run_to_json(run)
    assert [(item["scorer_id"], item["score"]) for item in shown["outcomes"]] == [("brevity", 0.5)]
    assert shown["waiting"] == [{"scorer_id": "tone", "scorer_version": "v1", "state": "pending", "reason": None}]
    assert (shown["revision"], shown["withdrawn"]) == (1, False)


@pytest.mark.parametrize("path", ["/api/runs/", "/api/scores/", "/api/batches/"])
def test_what_is_not_stored_is_not_found(server: RunningServer, path: str) -> None:
    answer = get(server, path + "1" * 32)

    assert (answer.status, "1" * 32 in answer.json["error"]) == (404, True)


def test_outcomes_are_listed_with_what_they_say(server: RunningServer, store: Store) -> None:
    run = make_run()
    put_runs(store, run)
    plan(store, run)
    work(store, now_ns=START + 100 * SECOND)
    [listed] = get(server, "/api/scores").json["items"]

    assert listed == {
        "score_id": listed["score_id"],
        "score_key": listed["score_key"],
        "run_id": run.run_id,
        "trace_id": run.trace_id,
        "span_id": run.span_id,
        "scorer_id": "brevity",
        "scorer_version": "v1",
        "outcome": "score",
        "score": 0.5,
        "reason": "short enough",
        "reason_error": None,
        "error_type": None,
        "failed_step": None,
        "score_range": [0.0, 1.0],
        "higher_is_better": True,
        "counted": True,
        "sub_scores": [],
        "source": "live",
        "probability": 1.0,
        "revision": 1,
        "current": True,
        "created_at": "2026-11-30T13:25:57.000000000Z",
    }
    shown = get(server, f"/api/scores/{listed['score_id']}").json
    assert shown == {**listed, "evidence": shown["evidence"]}
    assert "judge_calls" in shown["evidence"]


def test_outcomes_are_filtered(server: RunningServer, store: Store) -> None:
    run, other = make_run(1), make_run(2)
    put_runs(store, run, other)
    plan(store, run)
    work(store, now_ns=START + 100 * SECOND)
    plan(store, other, scorer_id="tone")
    work(
        store,
        scorer_id="tone",
        outcome=lambda job: ScoreFailure(
            run_id=job.run_id,
            scorer_id="tone",
            scorer_version="v1",
            failed_step="analyze",
            error_type="ValueError",
            message="no",
        ),
        now_ns=START + 200 * SECOND,
    )
    queries: list[dict[str, Any]] = [
        {"trace_id": other.trace_id},
        {"trace_id": other.trace_id, "span_id": other.span_id},
        {"run_id": other.run_id},
        {"scorer_id": "tone"},
        {"outcome": "failure"},
        {"since": START + 150 * SECOND},
    ]

    for query in queries:
        [found] = get(server, "/api/scores", **query).json["items"]
        assert (found["run_id"], found["outcome"], found["score"], found["error_type"], found["failed_step"]) == (
            *(other.run_id, "failure", None),
            *("ValueError", "analyze"),
        )
    [early] = get(server, "/api/scores", until=START + 150 * SECOND).json["items"]
    assert early["run_id"] == run.run_id


def test_scorers_are_those_of_live_workers_in_their_newest_version(server: RunningServer, store: Store) -> None:
    now = time.time_ns()
    offer(store, "brevity", version="v0", worker="w1", seen_ns=now - 5 * SECOND)
    offer(store, "brevity", version="v1", worker="w2", seen_ns=now - 2 * SECOND)
    offer(store, "brevity", version="v1", worker="w3", seen_ns=now - 1 * SECOND)
    offer(store, "gone", worker="w4", seen_ns=now - 3600 * SECOND)
    [listed] = get(server, "/api/scorers").json["items"]

    assert listed == {
        "scorer_id": "brevity",
        "version": "v1",
        "app": "app",
        "workers": 2,
        "score_range": [0.0, 1.0],
        "higher_is_better": True,
        "needs_judge": False,
        "description": "what brevity says",
        "seen_at": listed["seen_at"],
    }


def test_the_api_describes_itself(server: RunningServer) -> None:
    described = get(server, "/api/openapi.json").json

    assert {"/api/runs", "/api/scores", "/api/traces/score", "/v1/traces"} <= described["paths"].keys()


def test_decisions_are_added_up_with_the_newest_reason(server: RunningServer, store: Store) -> None:
    hour = time.time_ns() // HOUR_NS
    for at, example in ((hour - 30, "long ago"), (hour - 1, "old"), (hour, "new")):
        decided = DecisionCount(
            rule_set="r", scorer_id="brevity", hour=at, outcome="prepare_failed", count=2, example=example
        )
        run_sync(store.jobs.plan(PROJECT, "app", [], counts=[decided]))
    item = {"scorer_id": "brevity", "outcome": "prepare_failed", "example": "new"}
    day_ago = get(server, "/api/decisions").json["items"]
    longer = get(server, "/api/decisions", since=(hour - 40) * HOUR_NS).json["items"]

    assert (day_ago, longer) == ([{**item, "count": 4}], [{**item, "count": 6}])
    assert get(server, "/api/decisions", since="soon").status == 422
