"""Read outcomes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from tracescore.model import SubScore
from tracescore.store import schema
from tracescore.store.records import ScoreRow

_S = schema.scores.c
SCORES = select(schema.scores)
"""What ``read_scores`` takes, with conditions added."""


def read_scores(connection: Connection, statement: Select[Any]) -> list[ScoreRow]:
    """Give main rows with their sub-scores."""
    rows = connection.execute(statement).all()
    subs = _sub_scores(connection, rows)
    return [_score(row, tuple(subs.get(row.score_id, ()))) for row in rows]


def _sub_scores(connection: Connection, rows: Sequence[Row[Any]]) -> dict[str, list[SubScore]]:
    subs: dict[str, list[SubScore]] = {}
    for start in range(0, len(rows), 200):
        part = rows[start : start + 200]
        statement = (
            select(_S.parent_id, _S.name, _S.score, _S.reason)
            .where(  # by run first, since that has an index
                _S.project.in_({row.project for row in part}),
                _S.run_id.in_({row.run_id for row in part}),
                _S.parent_id.in_([row.score_id for row in part]),
            )
            .order_by(_S.score_id)
        )
        for parent_id, name, value, reason in connection.execute(statement):
            subs.setdefault(parent_id, []).append(SubScore(name=name, value=value, reason=reason))
    return subs


def _score(row: Row[Any], sub_scores: tuple[SubScore, ...]) -> ScoreRow:
    return ScoreRow(
        project=row.project,
        score_id=row.score_id,
        score_key=row.score_key,
        job_id=row.job_id,
        run_id=row.run_id,
        trace_id=row.trace_id,
        span_id=row.span_id,
        scorer_id=row.scorer_id,
        scorer_version=row.scorer_version,
        outcome=row.outcome,
        score=row.score,
        reason=row.reason,
        reason_error=row.reason_error,
        error_type=row.error_type,
        failed_step=row.failed_step,
        transient=row.transient,
        score_range=None if row.range_low is None else (row.range_low, row.range_high),
        higher_is_better=row.higher_is_better,
        counted=row.counted,
        sub_scores=sub_scores,
        source=row.source,
        generation=row.generation,
        revision=row.revision,
        probability=row.probability,
        rule_set=row.rule_set,
        judged_hash=row.judged_hash,
        current=bool(row.current_flag),
        created_ns=row.created_ns,
    )
