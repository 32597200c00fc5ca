"""However a file's spans arrive, its runs are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.conformance import named, recorded_files
from tests.golden.doors import DOORS, unlike_by_door
from tests.golden.variants import ARRIVALS, differing, requests_of, runs_from

FILES = recorded_files()
WITH_LOGS = next(path for path in FILES if named(path) == "otel_genai_openai_v2/tool_call")


@pytest.mark.parametrize("path", FILES, ids=[named(path) for path in FILES])
def test_runs_are_the_same_however_their_spans_arrive(path: Path) -> None:
    assert differing(path, ["all at once"]) == []


def test_runs_are_the_same_through_every_door_of_the_receiver(tmp_path: Path) -> None:
    # `make conformance` sends all files through the doors, in every way to arrive.
    files = [WITH_LOGS, *FILES[::4]]

    assert unlike_by_door(files, ARRIVALS["shuffled"], tmp_path / "store") == {door: [] for door in DOORS}


def test_every_way_to_arrive_is_one() -> None:
    requests = requests_of(WITH_LOGS)
    sent = {name: arrival(list(requests)) for name, arrival in ARRIVALS.items()}

    assert len(requests) == 2
    assert [name for name, one in sent.items() if one == requests] == ["as recorded"]
    assert differing(WITH_LOGS, list(ARRIVALS)) == []


def test_a_file_that_lost_its_log_records_reads_otherwise() -> None:
    requests = requests_of(WITH_LOGS)

    assert runs_from(requests[:1]) != runs_from(requests)
