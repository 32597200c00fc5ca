"""Backfills over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.calls import call, get, post_json
from tests.server.stored import START, make_run, offer, plan, put_runs
from tracescore.server import RunningServer
from tracescore.store import Store


def test_a_backfill_is_made_followed_and_cancelled(server: RunningServer, store: Store) -> None:
    put_runs(store, *(make_run(number) for number in range(1, 5)), make_run(5, agent="Bob"))
    offer(store, "brevity")
    asked = {"scorer_id": "brevity", "where": {"agent": "Ada"}, "since": START, "sample": 0.5, "limit": 3}
    made = post_json(server, "/api/backfills", asked)
    batch_id = made.json["batch_id"]

    assert made.status == 202
    assert made.json == {
        "batch_id": batch_id,
        "kind": "backfill",
        "scorer_id": "brevity",
        "scorer_version": "v1",
        "state": "planning",
        "created_at": made.json["created_at"],
        "done": False,
        "runs": 4,
        "seen": 0,
        "planned": 0,
        "skipped": 0,
        "left_out": 0,
        "counts": {},
    }
    assert get(server, f"/api/backfills/{batch_id}").json == get(server, f"/api/batches/{batch_id}").json == made.json
    assert [item["batch_id"] for item in get(server, "/api/batches").json["items"]] == [batch_id]
    assert call(server, "POST", f"/api/batches/{batch_id}/cancel").json == {"batch_id": batch_id, "cancelled": 0}
    assert get(server, f"/api/backfills/{batch_id}").json["state"] == "cancelled"


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({"scorer_id": "brevty"}, 404, "did you mean 'brevity'"),
        ({"scorer_id": "brevity", "where": {"agnt": "x"}}, 400, "where key 'agnt' is unknown"),
        ({"scorer_id": "brevity", "where": {"agent": ["\ud83d"]}}, 400, "half a character"),
        ({"scorer_id": "brevity", "sample": 2}, 422, "sample"),
        ({"scorer_id": "brevity", "smaple": 1}, 422, "smaple"),
    ],
)
def test_what_cannot_be_is_said(
    server: RunningServer, store: Store, asked: dict[str, Any], status: int, said: str
) -> None:
    offer(store, "brevity")
    answer = post_json(server, "/api/backfills", asked)

    assert answer.status == status
    assert said in answer.json["error"]
    assert get(server, f"/api/backfills/{'0' * 32}").status == 404
    assert call(server, "POST", f"/api/batches/{'0' * 32}/cancel").status == 404


def test_stranded_jobs_are_listed_with_their_reason(server: RunningServer, store: Store) -> None:
    run = make_run(1)
    put_runs(store, run)
    plan(store, run)
    (alone,) = get(server, "/api/jobs/stranded").json["items"]
    offer(store, "brevity", version="v2")
    (left,) = get(server, "/api/jobs/stranded").json["items"]

    assert alone == {
        "scorer_id": "brevity",
        "scorer_version": "v1",
        "jobs": 1,
        "offered_instead": None,
        "taken_over_at": None,
        "reason": "no live worker offers scorer 'brevity'",
    }
    assert (left["offered_instead"], left["reason"]) == (
        "v2",
        "no live worker offers version v1 of 'brevity'; v2 is offered and takes them over in 10 min",
    )
