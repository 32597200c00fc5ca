"""Two tenants on one server and one worker: the same export is two runs, and neither sees the other's."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.exports import agent_span, request_of
from tests.server.calls import Answer, call
from tests.waiting import wait_until
from tracescore.bridge import run_sync
from tracescore.model import Target
from tracescore.model.ids import run_id
from tracescore.server import RunningServer, serving
from tracescore.settings import Settings
from tracescore.store import PlannableRun, Store, TokenKind
from tracescore.store.runs import Runs
from workers.compose import build_worker

SETTINGS = Settings(app="tests.workers.judged_app:code_only", port=0, broker="none", settle_quiet=0.1)
TARGET = Target(trace_id=f"{1:032x}", span_id=f"{1:016x}")
EXPORT = json.dumps(request_of([agent_span(1, 1)])).encode()


@contextmanager
def running(folder: Path, **changes: Any) -> Generator[tuple[RunningServer, Store]]:
    """Run a server and a worker, each with its own open store, as processes have."""
    settings = replace(SETTINGS, store=str(folder), **changes)
    with Store.open(folder) as store, serving(store, settings) as server:
        worker, workers_store = build_worker(settings, broker="none")
        worker.start()
        try:
            yield server, store
        finally:
            worker.stop(grace=5)
            workers_store.close()


class Tenant:
    """A project's two tokens, and the questions that they let it ask."""

    def __init__(self, server: RunningServer, store: Store, project: str) -> None:
        self._server = server
        self._tokens: dict[TokenKind, str] = {
            "ingest": run_sync(store.tokens.create(project, "ingest")).token,
            "read": run_sync(store.tokens.create(project, "read")).token,
        }
        self.run_id = run_id(project=project, kind="agent", trace_id=TARGET.trace_id, span_id=TARGET.span_id or "")

    def post(self, path: str, body: bytes) -> Answer:
        bearer = f"Bearer {self._tokens['ingest']}"
        return call(self._server, "POST", path, body, content_type="application/json", authorization=bearer)

    def get(self, path: str) -> Answer:
        return call(self._server, "GET", path, authorization=f"Bearer {self._tokens['read']}")

    def scored(self, count: int = 1) -> list[Any]:
        """Give the scores, once there are that many."""
        wait_until(lambda: len(self.get("/api/scores").json.get("items", ())) >= count, description="the scores")
        return self.get("/api/scores").json["items"]


def test_one_export_under_two_tokens_is_scored_for_each_tenant_alone(tmp_path: Path) -> None:
    # The worker runs before either tenant is there, and no run of theirs may be missed for it.
    with running(tmp_path / "store") as (server, store):
        shop, bank = Tenant(server, store, "shop"), Tenant(server, store, "bank")
        wait_until(lambda: call(server, "GET", "/api/runs").status == 401, description="tokens to be asked for")
        for tenant in (shop, bank):
            assert tenant.post("/v1/traces", EXPORT).status == 200
        (of_shop,), (of_bank,) = shop.scored(), bank.scored()

        assert (of_shop["run_id"], of_bank["run_id"]) == (shop.run_id, bank.run_id)
        assert shop.run_id != bank.run_id
        for tenant, other, others in ((shop, bank, of_bank), (bank, shop, of_shop)):
            assert tenant.get(f"/api/runs/{other.run_id}").status == 404
            assert tenant.get(f"/api/scores/{others['score_id']}").status == 404
            assert [run["run_id"] for run in tenant.get("/api/runs").json["items"]] == [tenant.run_id]
            assert [scorer["scorer_id"] for scorer in tenant.get("/api/scorers").json["items"]] == ["length"]

        # Scored on demand, a span is the asker's; the other tenant does not even see the batch.
        assert shop.post("/v1/traces", json.dumps(request_of([agent_span(2, 1, text="longer")])).encode()).status == 200
        asked = json.dumps({"scorer_id": "length", "targets": [{"trace_id": TARGET.trace_id}]}).encode()
        batch = shop.post("/api/traces/score", asked).json["batch_id"]

        assert shop.get(f"/api/batches/{batch}").status == 200
        assert bank.get(f"/api/batches/{batch}").status == 404
        assert len(shop.scored(2)) == 2
        assert len(bank.scored()) == 1


def test_a_worker_that_was_given_projects_scores_no_others(tmp_path: Path) -> None:
    with running(tmp_path / "store", project="shop", projects=("shop",)) as (server, store):
        shop, bank = Tenant(server, store, "shop"), Tenant(server, store, "bank")
        wait_until(lambda: call(server, "GET", "/api/runs").status == 401, description="tokens to be asked for")
        bank.post("/v1/traces", EXPORT)
        wait_until(lambda: bank.get("/api/runs").json["items"], description="the other's run")
        shop.post("/v1/traces", EXPORT)

        assert [row["run_id"] for row in shop.scored()] == [shop.run_id]
        assert bank.get("/api/scores").json["items"] == []
        assert bank.get("/api/scorers").json["items"] == []


def test_what_fails_for_one_tenant_does_not_hold_up_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Runs.runs_after

    async def fails_for_the_bank(runs: Runs, project: str, seq: int, limit: int) -> list[PlannableRun]:
        if project == "bank":
            raise RuntimeError("a defect")
        return await read(runs, project, seq, limit)

    monkeypatch.setattr(Runs, "runs_after", fails_for_the_bank)
    with running(tmp_path / "store") as (server, store):
        bank, shop = Tenant(server, store, "bank"), Tenant(server, store, "shop")
        wait_until(lambda: call(server, "GET", "/api/runs").status == 401, description="tokens to be asked for")
        for number, tenant in enumerate((bank, shop, shop, shop), 1):
            tenant.post("/v1/traces", json.dumps(request_of([agent_span(number, 1)])).encode())

            assert len(tenant.scored(number - 1)) == number - 1


@pytest.mark.parametrize(
    ("text", "project", "projects"),
    [(None, "default", ()), ("shop", "shop", ("shop",)), (" shop , bank,shop", "shop", ("shop", "bank"))],
)
def test_the_projects_of_an_environment(text: str | None, project: str, projects: tuple[str, ...]) -> None:
    settings = Settings.from_env({} if text is None else {"TRACESCORE_PROJECT": text})

    assert (settings.project, settings.projects) == (project, projects)
