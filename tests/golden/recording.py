"""The golden set of every recorded file: `sets/` is written by hand, `all/` by `python -m tests.golden.recording`.

What that writes is to be read against the spans, and each difference explained, before it is kept.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from tests.golden.conformance import TESTS, named, recorded_files, runs_in
from tracescore.model import run_to_json

SETS = TESTS / "golden" / "sets"
ALL = TESTS / "golden" / "all"


def golden_of(path: Path) -> Path:
    """Give where the golden set of a file is: among those written by hand, or among the others."""
    name = f"{named(path).replace('/', '__')}.json"
    return SETS / name if (SETS / name).exists() else ALL / name


def runs_of(path: Path) -> list[Any]:
    """Give the runs of a file as `tracescore runs --json` prints them."""
    runs = sorted(runs_in(path), key=lambda run: (run.start_ns, run.span_id or ""))
    # Through JSON, as the golden set is: a tuple is a list there.
    return orjson.loads(orjson.dumps([run_to_json(run) for run in runs]))


def main() -> int:
    """Write the sets that are not written by hand."""
    ALL.mkdir(exist_ok=True)
    for path in recorded_files():
        golden = golden_of(path)
        if golden.parent == ALL:
            golden.write_bytes(orjson.dumps(runs_of(path), option=orjson.OPT_INDENT_2) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
