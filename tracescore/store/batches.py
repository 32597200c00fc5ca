"""Batches: targets asked for together, and what became of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection

from tracescore.store import schema
from tracescore.store.bulk import BulkInsert, query
from tracescore.store.encoding import id_bytes, maybe_id_bytes, maybe_storable, storable
from tracescore.store.records import BatchItem, BatchItemStatus, BatchStatus

_INSERT_BATCH = BulkInsert.into(schema.batches)
_INSERT_ITEMS = BulkInsert.into(schema.batch_items)
_BATCH = "SELECT kind, created_ns FROM batches WHERE project = ? AND batch_id = ?"
_ITEMS = """SELECT i.trace_id, i.span_id, i.run_id, i.job_id, i.outcome, i.reason,
        j.state, j.error, s.outcome, s.reason, s.score, s.score_id
    FROM batch_items AS i LEFT JOIN jobs AS j ON j.job_id = i.job_id LEFT JOIN scores AS s ON s.score_id = j.score_id
    WHERE i.project = ? AND i.batch_id = ? ORDER BY i.position"""
_ENDED = ("done", "not_scorable", "failed")


def create_batch(
    project: str, batch_id: str, kind: str, items: Sequence[BatchItem], now_ns: int
) -> Callable[[Connection], None]:
    """Give the operation that stores a batch."""
    key = (project, id_bytes(batch_id))
    rows = [
        (
            *key,
            position,
            maybe_id_bytes(item.trace_id),
            maybe_id_bytes(item.span_id),
            maybe_id_bytes(item.run_id),
            maybe_id_bytes(item.job_id),
            item.outcome,
            maybe_storable(item.reason),
        )
        for position, item in enumerate(items)
    ]

    def operation(connection: Connection) -> None:
        _INSERT_BATCH.run(connection, [(*key, storable(kind), "open", None, now_ns)])
        _INSERT_ITEMS.run(connection, rows)

    return operation


def read_batch(project: str, batch_id: str) -> Callable[[Connection], BatchStatus | None]:
    """Give the operation that reads a batch."""
    key = (project, id_bytes(batch_id))

    def operation(connection: Connection) -> BatchStatus | None:
        found = query(connection, _BATCH, *key)
        if not found:
            return None
        items = tuple(_item(row) for row in query(connection, _ITEMS, *key))
        return BatchStatus(
            project=project,
            batch_id=batch_id,
            kind=found[0][0],
            created_ns=found[0][1],
            items=items,
            counts=dict(Counter(item.outcome for item in items)),
        )

    return operation


def _item(row: tuple[Any, ...]) -> BatchItemStatus:
    trace_id, span_id, run_id, job_id, outcome, reason, state, error = row[:8]
    score: float | None = None
    score_id: bytes | None = None
    if outcome is None:  # nothing was decided when the batch was made: its job tells
        outcome, reason = state or "pending", error
        if state in _ENDED:
            outcome, reason, score, score_id = row[8:12]
    return BatchItemStatus(
        trace_id=_hex(trace_id),
        span_id=_hex(span_id),
        run_id=_hex(run_id),
        job_id=_hex(job_id),
        outcome=outcome,
        reason=reason,
        score=score,
        score_id=_hex(score_id),
    )


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()
