"""Redaction at the store's door: spans per second that are looked at, beside the same pass with an open door.

Real spans of 2.3 KB, decoded beforehand. The limit, measured in the same run, is the hash that each body is given
anyway: what a look at every byte costs at the least. Prints one JSON line for spans without secrets, one for spans of
which each holds one, and one for what a judge is sent.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence

from benchmarks.bench_ingest import span_bodies
from benchmarks.figures import Stopwatch, report
from tracescore.otel import PROTOBUF, SpanRow, decode_traces
from tracescore.otel.body import copy_hash
from tracescore.redaction import Redaction

KEY = "sk-" + "proj-0123456789abcdefghij"
LIMIT_US = 10.0
"""What a span may cost."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = [row for body in span_bodies(options.requests) for row in decode_traces(body, PROTOBUF).rows]
    policy = Redaction()
    door = policy.store_door
    size = sum(len(row.body) for row in rows) // len(rows)
    keyed = [row._replace(body=row.body.replace(b'"name":"', b'"name":"' + KEY.encode() + b" ", 1)) for row in rows]

    def store_door(bodies: Sequence[SpanRow]) -> None:
        for row in bodies:
            door.redact(row.body, row.trace_id)

    def judge_door(bodies: Sequence[SpanRow]) -> None:
        for row in bodies:
            policy.judge_redactor().redact(row.body.decode())

    for name, look, given in (
        ("redaction_store", store_door, rows),
        ("redaction_store_with_a_secret_in_each", store_door, keyed),
        ("redaction_judge", judge_door, rows),
    ):
        measured = [(_cpu(look, given), _cpu(_bare, rows)) for _ in range(options.rounds)]
        seconds = statistics.median(first for first, _ in measured)
        limit = statistics.median(second for _, second in measured)
        report(
            benchmark=name,
            unit=f"texts of {size} bytes, CPU seconds; a span at the store's door may cost {LIMIT_US:g} µs",
            figure=len(rows) / seconds,
            cpu_ms_per_unit=seconds / len(rows) * 1000,
            limit=len(rows) / limit,
            limit_is="the copy's hash alone, in the same run",
            target_ratio=0.2 if name == "redaction_store" else 0.0,
        )


def _bare(rows: Sequence[SpanRow]) -> None:
    for row in rows:
        copy_hash(row.body)


def _cpu(look: Callable[[Sequence[SpanRow]], None], rows: Sequence[SpanRow]) -> float:
    with Stopwatch() as watch:
        look(rows)
    return watch.cpu


if __name__ == "__main__":
    main()
