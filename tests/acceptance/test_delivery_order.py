"""The same spans in whatever order, number and repetition: the same runs, the same scores, no second judge call."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_until
from tests.workers.processes import ROOT
from tracescore.cli.address import free_port
from tracescore.cli.demo_traffic import TRACES, demo_files
from tracescore.cli.system import one_machine
from tracescore.settings import Settings
from tracescore.testing import ModelServer

QUIET = 3.0
REQUESTS = 10
MARKER = "f" * 32


def resource_spans(files: list[Path], key: str, scope_key: str, item_key: str) -> list[dict[str, Any]]:
    """Take exports apart: one resource group for each single span or log record."""
    parts: list[dict[str, Any]] = []
    for path in files:
        for group in json.loads(path.read_bytes())[key]:
            for scope in group[scope_key]:
                for item in scope[item_key]:
                    parts.append({**group, scope_key: [{**scope, item_key: [item]}]})
    return parts


def post(url: str, key: str, groups: list[dict[str, Any]]) -> None:
    request = urllib.request.Request(url, json.dumps({key: groups}).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert json.loads(answer.read()) == {}


def printed_runs(*arguments: str) -> list[str]:
    """Give what ``tracescore runs --json`` prints, a line a run, sorted."""
    done = subprocess.run(
        [sys.executable, "-m", "tracescore", "runs", "--json", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(done.stdout.splitlines())


def items(url: str) -> list[dict[str, Any]]:
    """Give all current scores of a server."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        with urllib.request.urlopen(f"{url}/api/scores?limit=200{after}", timeout=10) as answer:
            page = json.loads(answer.read())
        found += page["items"]
        if not page.get("next"):
            return found
        after = f"&after={page['next']}"


def test_any_order_and_any_repetition_give_the_same_runs_and_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [part for file in demo_files() for _, part in file.parts]
    spans = resource_spans(
        [path for path in paths if not path.name.endswith(".logs.json")], "resourceSpans", "scopeSpans", "spans"
    )
    logs = resource_spans(
        [path for path in paths if path.name.endswith(".logs.json")], "resourceLogs", "scopeLogs", "logRecords"
    )
    random.Random(7).shuffle(spans)
    expected = printed_runs(*(str(path) for path in sorted(TRACES.glob("*/*.json"))))
    outermost = [run for run in map(json.loads, expected) if run["parent_run_id"] is None]
    data = tmp_path / "data"
    settings = Settings(
        app="tests.workers.judged_app:app", store=str(data), port=free_port("127.0.0.1"), settle_quiet=QUIET
    )
    monkeypatch.chdir(ROOT)
    with ModelServer() as model:
        monkeypatch.setenv("TEST_MODEL_URL", model.base_url)
        with one_machine(settings, say=print, logs=tmp_path / "logs") as supervisor:
            supervisor.wait_ready()
            url = f"http://127.0.0.1:{settings.port}"

            def send() -> None:
                post(f"{url}/v1/logs", "resourceLogs", logs)
                for number in range(REQUESTS):
                    post(f"{url}/v1/traces", "resourceSpans", spans[number::REQUESTS])

            def has_scores(count: int) -> bool:
                return len(items(url)) >= count

            send()
            wait_until(
                lambda: has_scores(2 * len(outermost)), timeout=60, description=f"two scores of {len(outermost)} runs"
            )
            runs = printed_runs("--data", str(data), "--limit", "1000")
            scores = sorted(map(json.dumps, items(url)))
            calls = len(model.calls)
            send()
            # A run that comes after all that was repeated is scored: what was repeated was looked at before.
            marker = json.loads(json.dumps(spans[0]))
            marker["scopeSpans"][0]["spans"][0] |= {"traceId": MARKER, "parentSpanId": ""}
            post(f"{url}/v1/traces", "resourceSpans", [marker])
            wait_until(lambda: has_scores(2 * len(outermost) + 2), timeout=60, description="the marker's scores")
            again = [score for score in items(url) if score["trace_id"] != MARKER]

    assert runs == expected
    assert len(scores) == 2 * len(outermost)
    assert len({(score["run_id"], score["scorer_id"]) for score in map(json.loads, scores)}) == len(scores)
    assert sorted(map(json.dumps, again)) == scores
    assert calls == len(outermost)
    assert len(model.calls) == calls + 1
