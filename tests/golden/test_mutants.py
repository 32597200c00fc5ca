"""Recorded files in disguise read as the files themselves do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.golden.conformance import runs_in
from tests.golden.mutants import MUTANTS, MUTATIONS, mutant_of, original_of, path_of, turned_back
from tracescore.model import run_to_json

IDS = ("run_id", "trace_id", "span_id", "parent_run_id")


def comparable(path: Path, *, mutations: tuple[str, ...] = ()) -> list[Any]:
    """Give the runs of a file in the order of time, without what a disguise may change: ids, and where a root is."""
    found: list[dict[str, Any]] = []
    runs = sorted(runs_in(path), key=lambda run: (run.start_ns, run.kind, run.agent_name or ""))
    numbers = {run.run_id: number for number, run in enumerate(runs)}
    for run in runs:
        body = {key: value for key, value in run_to_json(run).items() if key not in IDS}
        body["parent"] = numbers.get(run.parent_run_id or "")
        body["issues"] = [issue["code"] for issue in body["issues"] if issue["code"] != "orphan"]
        found.append(body)
    return orjson.loads(turned_back(orjson.dumps(found).decode(), mutations))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_reads_as_its_original(name: str) -> None:
    assert comparable(path_of(name), mutations=MUTANTS[name]) == comparable(original_of(name))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_what_is_made_of_its_original(name: str) -> None:
    assert {path: path.read_bytes() for path in mutant_of(name)} == mutant_of(name)


def test_there_are_twenty_and_they_change_everything() -> None:
    assert len(MUTANTS) == 20
    assert {mutation for mutations in MUTANTS.values() for mutation in mutations} == MUTATIONS.keys()
