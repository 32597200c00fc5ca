"""Golden sets of every kind of target: real files in, what a scorer of that kind is given out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.golden.conformance import TESTS, named, recorded_files
from tracescore.model import DEFAULT_PROJECT, PART_KINDS, RUN_KINDS, ScorerRun, run_to_json
from tracescore.pipeline.assembly import assemble_all
from tracescore.pipeline.session_runs import session_run
from tracescore.sources import read_files

SETS = sorted((TESTS / "golden" / "targets").glob("*/*.json"))
"""One folder a kind; files are named after those that their spans are in."""


FILES = {named(path).replace("/", "__"): path for path in recorded_files()}


def targets_of(kind: str, path: Path) -> list[dict[str, Any]]:
    """Give the runs of one kind in a file as the API gives them."""
    read = read_files([path])
    assert read.problems == []
    found = [assemble_all(trace, [one for one in PART_KINDS if one == kind]) for trace in read.traces]
    runs: list[ScorerRun[Any, Any]] = [part.run for _, parts in found for part in parts]
    whole = [assembled.run for runs_of_trace, _ in found for assembled in runs_of_trace]
    if kind == "session":
        turns = sorted((run for run in whole if run.outermost), key=lambda run: (run.start_ns, run.run_id))
        names = sorted({turn.session_id for turn in turns if turn.session_id})
        runs = [session_run(DEFAULT_PROJECT, name, [run for run in turns if run.session_id == name]) for name in names]
    runs += [run for run in whole if run.kind == kind]
    return [run_to_json(run) for run in sorted(runs, key=lambda run: (run.start_ns, run.span_id or ""))]


@pytest.mark.parametrize("golden", SETS, ids=[f"{path.parent.name}-{path.stem}" for path in SETS])
def test_the_targets_of_a_kind_are_those_of_its_golden_set(golden: Path) -> None:
    expected = orjson.loads(golden.read_bytes())

    assert orjson.loads(orjson.dumps(targets_of(golden.parent.name, FILES[golden.stem]))) == expected


def test_every_kind_has_a_golden_set() -> None:
    assert {path.parent.name for path in SETS} == set(RUN_KINDS)
