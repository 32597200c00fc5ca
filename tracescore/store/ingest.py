"""Take in the spans and logs of one request: the operation behind ``Spans.ingest``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from tracescore.otel.records import EvaluationRow, LogRow, SpanRow
from tracescore.store import schema
from tracescore.store.bulk import BulkInsert, ByIds
from tracescore.store.encoding import LARGEST, clamp
from tracescore.store.externals import KEEP_EVALUATIONS, evaluation_rows
from tracescore.store.postgres_sql import LOCK
from tracescore.store.records import Ingested

_Row = tuple[Any, ...]

MAX_COPIES = 50_000
MAX_BYTES = 64 * 1024 * 1024

_INSERT_SPANS = BulkInsert.into(schema.spans, on_conflict="DO NOTHING")
_INSERT_LOGS = BulkInsert.into(schema.logs, on_conflict="DO NOTHING")
_KEYS = ("trace_id", "span_id", "copy_hash")
_TO_ASSEMBLE = schema.STAGES["assemble"]
_TRACE = 1  # where the trace id stands in a row
_UPSERT_TRACES = BulkInsert.into(
    schema.traces,
    on_conflict="""(project, trace_id) DO UPDATE SET
    version = traces.version + 1,
    first_arrival_ns = CASE WHEN excluded.first_arrival_ns < traces.first_arrival_ns
        THEN excluded.first_arrival_ns ELSE traces.first_arrival_ns END,
    last_arrival_ns = CASE WHEN excluded.last_arrival_ns > traces.last_arrival_ns
        THEN excluded.last_arrival_ns ELSE traces.last_arrival_ns END,
    ready_at_ns = CASE WHEN traces.stage = 0 AND traces.ready_at_ns < excluded.ready_at_ns
        THEN traces.ready_at_ns ELSE excluded.ready_at_ns END,
    stage = 0,
    complete = CASE WHEN excluded.complete THEN excluded.complete ELSE traces.complete END,
    capped = CASE WHEN excluded.capped THEN excluded.capped ELSE traces.capped END,
    span_count = traces.span_count + excluded.span_count,
    log_count = traces.log_count + excluded.log_count,
    size_bytes = traces.size_bytes + excluded.size_bytes""",
)
_TOTALS = ByIds(
    sql="SELECT trace_id, span_count, log_count, size_bytes FROM traces WHERE project = ? AND trace_id IN ({ids})"
)
_NEAR_CAP = ByIds(
    sql="SELECT trace_id, span_count + log_count, size_bytes, capped FROM traces "
    f"WHERE project = ? AND trace_id IN ({{ids}}) ORDER BY trace_id {LOCK}"
)
_SPANS_NOW = ByIds(
    sql="SELECT trace_id, count(*), sum(length(body)) FROM spans "
    "WHERE project = ? AND trace_id IN ({ids}) GROUP BY trace_id"
)
_LOGS_NOW = ByIds(sql=_SPANS_NOW.sql.replace("FROM spans", "FROM logs"))
_COMPACTED = ByIds(
    sql="SELECT trace_id, span_count, log_count, size_bytes FROM compacted WHERE project = ? AND trace_id IN ({ids})"
)


class Intake:
    """Store what is new of a request.

    A copy that is there already changes nothing, its trace's version and times included: an exporter that sends again
    and again must not hold its trace open. Rows are made ready by the caller's thread, so that the write lock is held
    for the statements only.
    """

    def __init__(
        self,
        project: str,
        spans: Sequence[SpanRow],
        logs: Sequence[LogRow],
        evaluations: Sequence[EvaluationRow] = (),
        *,
        now_ns: int,
        quiet_ns: int,
    ) -> None:
        self._project = project
        self._now_ns = now_ns
        self._quiet_ns = quiet_ns
        self._spans: list[_Row] = [
            (project, row[0], row[1], row[2], row[3], row[4], row[5], row[6], now_ns, row[8]) for row in spans
        ]
        self._logs: list[_Row] = [(project, row[0], row[1], row[2], row[3], now_ns, row[4]) for row in logs]
        if not all(-LARGEST <= row[4] <= LARGEST >= row[5] >= -LARGEST for row in spans):
            self._spans = [(*row[:5], clamp(row[5]), clamp(row[6]), *row[7:]) for row in self._spans]
        if any(abs(row[3]) > LARGEST for row in logs):
            self._logs = [(*row[:4], clamp(row[4]), *row[5:]) for row in self._logs]
        self._evaluations = evaluation_rows(project, evaluations, now_ns=now_ns, due_ns=now_ns + quiet_ns)
        self._complete = {row[0] for row in spans if row[7]}
        self._gains = _gains(self._spans, self._logs)

    def __call__(self, connection: Connection) -> Ingested:
        """Run within a transaction."""
        KEEP_EVALUATIONS.run(connection, self._evaluations)
        held = {row[0]: row[1:] for row in _TOTALS.rows(connection, tuple(self._gains), self._project)}
        kept_spans, kept_logs, capped = self._within_caps(connection, held)
        spans = _insert(connection, _INSERT_SPANS, kept_spans, held)
        logs = _insert(connection, _INSERT_LOGS, kept_logs, held)
        if spans.all_new and logs.all_new and len(kept_spans) + len(kept_logs) == len(self._spans) + len(self._logs):
            gains = self._gains
        else:
            gains = _gains(spans.new, logs.new)
            gains.update(_recount(connection, self._project, spans.unsure | logs.unsure))
        _UPSERT_TRACES.run(connection, self._trace_rows(gains, capped))
        return Ingested(
            new_spans=spans.count,
            new_logs=logs.count,
            capped=len(self._spans) - len(kept_spans) + len(self._logs) - len(kept_logs),
        )

    def _within_caps(
        self, connection: Connection, held: Mapping[bytes, _Row]
    ) -> tuple[list[_Row], list[_Row], set[bytes]]:
        # Gives the rows to keep, and the traces that lose some for the first time.
        copies, size = len(self._spans) + len(self._logs), sum(gain.size for gain in self._gains.values())
        ids = [
            trace_id
            for trace_id, (spans, logs, held_size) in held.items()
            if spans + logs + copies > MAX_COPIES or held_size + size > MAX_BYTES
        ]
        if not ids and copies <= MAX_COPIES and size <= MAX_BYTES:
            return self._spans, self._logs, set()
        near = {row[0]: row[1:] for row in _NEAR_CAP.rows(connection, ids, self._project)}
        room = {trace_id: _Room(*near.get(trace_id, (0, 0, False))) for trace_id in self._gains}
        kept_spans = [row for row in self._spans if room[row[_TRACE]].take(row)]
        kept_logs = [row for row in self._logs if room[row[_TRACE]].take(row)]
        return kept_spans, kept_logs, {trace_id for trace_id, left in room.items() if left.overrun}

    def _trace_rows(self, gains: Mapping[bytes, _Gain], capped: set[bytes]) -> list[_Row]:
        rows: list[_Row] = []
        for trace_id in sorted(gains.keys() | capped):  # one order of locks for all who write
            gain = gains.get(trace_id, _NOTHING)
            if not (gain.spans or gain.logs or trace_id in capped):
                continue
            complete = gain.spans > 0 and trace_id in self._complete
            ready_at = self._now_ns if complete else self._now_ns + self._quiet_ns
            times = (self._now_ns, self._now_ns, ready_at)
            flags = (complete, trace_id in capped)
            rows.append((self._project, trace_id, 1, *times, *flags, gain.spans, gain.logs, gain.size, _TO_ASSEMBLE))
        return rows


@dataclass(frozen=True, slots=True)
class _Gain:
    """What one request adds to a trace."""

    spans: int = 0
    logs: int = 0
    size: int = 0


_NOTHING = _Gain()


@dataclass(slots=True)
class _Room:
    """How near to its cap a trace is."""

    copies: int
    size: int
    capped: bool
    overrun: bool = False

    def take(self, row: _Row) -> bool:
        """Count a row in, or say that it is one too many."""
        if self.copies >= MAX_COPIES or self.size + len(row[-1]) > MAX_BYTES:
            self.overrun = not self.capped
            return False
        self.copies += 1
        self.size += len(row[-1])
        return True


@dataclass(frozen=True, slots=True)
class _Inserted:
    """What an insert that ignores known copies did, as far as it tells: how many rows of each statement were new."""

    count: int
    new: list[_Row]
    unsure: set[bytes]
    """Traces with rows in a statement of which some were new."""
    all_new: bool


def _insert(connection: Connection, insert: BulkInsert, rows: list[_Row], held: Mapping[bytes, _Row]) -> _Inserted:
    groups = insert.tell_new(connection, rows, keys=_KEYS, known=held.keys())
    written = sum(count for _, count in groups)
    if written == len(rows):
        return _Inserted(written, rows, set(), True)
    new: list[_Row] = []
    unsure: set[bytes] = set()
    for group, count in groups:
        if count == len(group):
            new.extend(group)
        elif count:
            unsure.update(row[_TRACE] for row in group)
    return _Inserted(written, new, unsure, False)


def _gains(spans: Iterable[_Row], logs: Iterable[_Row]) -> dict[bytes, _Gain]:
    counts: dict[bytes, list[int]] = {}
    for kind, rows in enumerate((spans, logs)):
        for row in rows:
            count = counts.get(row[_TRACE])
            if count is None:
                count = counts[row[_TRACE]] = [0, 0, 0]
            count[kind] += 1
            count[2] += len(row[-1])
    return {trace_id: _Gain(*count) for trace_id, count in counts.items()}


def _recount(connection: Connection, project: str, traces: set[bytes]) -> dict[bytes, _Gain]:
    if not traces:
        return {}
    ids = tuple(traces)
    before = {row[0]: row[1:] for row in _TOTALS.rows(connection, ids, project)}
    spans = {row[0]: row[1:] for row in _SPANS_NOW.rows(connection, ids, project)}
    logs = {row[0]: row[1:] for row in _LOGS_NOW.rows(connection, ids, project)}
    apart = {row[0]: row[1:] for row in _COMPACTED.rows(connection, ids, project)}
    gains: dict[bytes, _Gain] = {}
    for trace_id in ids:
        had = zip(before.get(trace_id, (0, 0, 0)), apart.get(trace_id, (0, 0, 0)), strict=True)
        had_spans, had_logs, had_size = (counted - compacted for counted, compacted in had)
        span_count, span_size = spans.get(trace_id, (0, 0))
        log_count, log_size = logs.get(trace_id, (0, 0))
        gains[trace_id] = _Gain(span_count - had_spans, log_count - had_logs, span_size + log_size - had_size)
    return gains
