"""The hand-written golden sets: real files in, whole runs out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tracescore.model import run_to_json
from tracescore.pipeline.assembly import assemble
from tracescore.sources import read_files

TESTS = Path(__file__).parent.parent
SETS = sorted((TESTS / "golden" / "sets").glob("*.json"))
FOLDERS = (TESTS / "corpus", TESTS.parent / "tracescore" / "cli" / "demo_traces")


def traces_of(golden: Path) -> Path:
    """Find the spans that a golden set was written from."""
    folder, _, scenario = golden.stem.partition("__")
    found = [path for root in FOLDERS if (path := root / folder / f"{scenario}.json").exists()]
    assert len(found) == 1, f"{golden.stem}: expected its spans in one of {FOLDERS}, found {found}"
    return found[0]


def runs_of(path: Path) -> list[dict[str, Any]]:
    """Give the runs of a file as `tracescore runs --json` prints them."""
    read = read_files([path])
    assert read.problems == []
    runs = [assembled.run for trace in read.traces for assembled in assemble(trace)]
    return [run_to_json(run) for run in sorted(runs, key=lambda run: (run.start_ns, run.span_id or ""))]


@pytest.mark.parametrize("golden", SETS, ids=[path.stem for path in SETS])
def test_the_runs_of_a_file_are_those_of_its_golden_set(golden: Path) -> None:
    expected = orjson.loads(golden.read_bytes())

    # Through JSON, as the golden set is: a tuple is a list there.
    assert orjson.loads(orjson.dumps(runs_of(traces_of(golden)))) == expected


def test_there_are_golden_sets() -> None:
    assert len(SETS) >= 8
