"""The wheel in an empty environment, beside a project of the same folder names: ``make wheel`` runs this."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_until
from tests.wheel.conftest import ROOT, Project

pytestmark = pytest.mark.wheel

SPANS = ROOT / "tracescore" / "cli" / "demo_traces" / "otel_genai_langchain" / "tool_call.json"


def post(url: str) -> None:
    """Send real spans."""
    request = urllib.request.Request(f"{url}/v1/traces", SPANS.read_bytes(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def get(url: str, path: str) -> Any:
    """Ask the API."""
    with urllib.request.urlopen(url + path, timeout=10) as answer:
        return json.load(answer)


def test_only_one_name_is_installed(project: Project) -> None:
    listed = json.loads(project.run("-c", IMPORTS, program="python"))

    assert listed == {"workers": str(project.folder / "workers" / "__init__.py"), "ours": "tracescore.workers.run"}


IMPORTS = """
import json, workers
from importlib import import_module
print(json.dumps({"workers": workers.__file__, "ours": import_module("tracescore.workers.run").__name__}))
"""


def test_the_demo_runs(project: Project) -> None:
    assert "scores" in project.run("demo")


def test_init_writes_an_app_that_scores(project: Project) -> None:
    project.run("init", "fresh")
    assert (project.folder / "fresh" / "scoring.py").exists()
    assert {row["scorer_id"] for row in map(json.loads, project.run("score", "--json", str(SPANS)).splitlines())} == {
        "brevity"
    }


def test_up_is_ready_scores_and_stops_at_sigterm(project: Project) -> None:
    with project.started("up", "--port", "0", "--data", "of up") as (process, listening):
        with urllib.request.urlopen(f"{listening['url']}/readyz", timeout=10) as answer:
            assert answer.status == 200
        post(listening["url"])
        assert process.stdout is not None
        outcome = json.loads(process.stdout.readline())
        broker = json.loads((project.folder / "of up" / "broker.json").read_text(encoding="utf-8"))
        project.stop(process, "up")

    assert (outcome["scorer_id"], outcome["score"]) == ("brevity", 1.0)
    assert broker["url"].startswith("redis+socket://")
    assert not Path(broker["url"].partition("://")[2]).exists()


def test_a_worker_drains_at_sigterm(project: Project) -> None:
    place = ("--data", "of serve", "--broker", "none")
    with (
        project.started("serve", "--port", "0", *place) as (server, listening),
        project.started("worker", *place, TRACESCORE_APP="scoring:patient_app") as (worker, starting),
    ):
        wait_until(lambda: get(listening["url"], "/api/scorers")["items"], timeout=60, description="the worker's offer")
        post(listening["url"])
        wait_until((project.folder / "begun").exists, timeout=60, description="a job in flight")
        worker.terminate()
        (project.folder / "go").touch()
        project.ended(worker, "worker")
        project.stop(server, "serve")

    assert starting["app"] == "scoring:patient_app"
    assert json.loads(project.run("scores", "--data", "of serve", "--json"))["score"] == 1.0
