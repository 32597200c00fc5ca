"""Evaluation results of others: kept as they come, and made scores of the run that holds what they are about."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from tracescore.model.ids import score_key
from tracescore.otel.records import EvaluationRow
from tracescore.store import schema, schema_settled
from tracescore.store.bulk import BulkInsert, BulkUpdate, ByIds, execute, query
from tracescore.store.database import Database
from tracescore.store.encoding import clamp, evidence_digest, id_bytes, maybe_storable, storable
from tracescore.store.postgres_sql import LOCK, SKIP_LOCKED
from tracescore.store.records import ExternalScore, PendingEvaluation

_Row = tuple[Any, ...]

KEEP_EVALUATIONS = BulkInsert.into(schema_settled.evaluations, on_conflict="DO NOTHING")
_CLAIM = f"""UPDATE evaluations SET due_at_ns = ?, attempts = attempts + 1 WHERE (project, evaluation_id) IN (
    SELECT project, evaluation_id FROM evaluations WHERE due_at_ns IS NOT NULL AND due_at_ns <= ?
    ORDER BY due_at_ns LIMIT ? {SKIP_LOCKED})
    RETURNING project, evaluation_id, trace_id, span_id, response_id, arrived_ns, attempts, body"""
_PUT_OFF = BulkUpdate(
    table="evaluations",
    keys=("project", "evaluation_id"),
    values=("due_at_ns",),
    assign="due_at_ns = v.due_at_ns",
)
JOIN_AGAIN = ByIds(sql="UPDATE evaluations SET due_at_ns = ?, attempts = 0 WHERE project = ? AND trace_id IN ({ids})")
"""For traces whose runs are others now."""
_NOTE_RESPONSES = BulkInsert.into(
    schema_settled.responses,
    on_conflict="(project, response_id) DO UPDATE SET trace_id = excluded.trace_id",
)
_TRACES_OF = ByIds(sql="SELECT response_id, trace_id FROM responses WHERE project = ? AND response_id IN ({ids})")
_RUNS = ByIds(
    sql="SELECT run_id, revision, span_id FROM runs WHERE project = ? AND CASE WHEN withdrawn THEN FALSE ELSE TRUE END "
    f"AND run_id IN ({{ids}}) ORDER BY run_id {LOCK}"
)
_WHERE_THEY_WERE = ByIds(sql="SELECT run_id, scorer_id, name FROM scores WHERE project = ? AND score_id IN ({ids})")
# A span may move to another run, and what was said of it goes with it.
_PUT_SCORES = BulkInsert.into(
    schema.scores,
    on_conflict="(score_id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in ("run_id", "name", "score_key", "revision", "current_flag")),
)
_INSERT_EVIDENCE = BulkInsert.into(schema.evidence, on_conflict="(score_id) DO NOTHING")
_END = """UPDATE scores SET current_flag = 0
    WHERE project = ? AND run_id = ? AND scorer_id = ? AND name = ? AND current_flag = 1"""
_STAND = """UPDATE scores SET current_flag = 1 WHERE score_id = (
    SELECT score_id FROM scores WHERE project = ? AND run_id = ? AND scorer_id = ? AND name = ?
    ORDER BY created_ns DESC, score_id DESC LIMIT 1)"""


def evaluation_rows(project: str, evaluations: Sequence[EvaluationRow], *, now_ns: int, due_ns: int) -> list[_Row]:
    """Give evaluation results as rows, each due to be joined with its run at a time."""
    return [
        (
            project,
            row.copy_hash,
            row.trace_id or None,
            row.span_id or None,
            storable(row.response_id) or None,
            clamp(row.time_ns),
            now_ns,
            due_ns,
            0,
            row.body,
        )
        for row in evaluations
    ]


class Externals:
    """Keep what others said of runs, apart from all that decides when and whether a run is scored."""

    def __init__(self, *, spans: Database, work: Database) -> None:
        self._spans = spans
        self._work = work

    async def claim(self, *, now_ns: int, limit: int, lease_ns: int) -> list[PendingEvaluation]:
        """Take results that are due to be joined, longest due first; each is hidden until its lease ends."""

        def operation(connection: Connection) -> list[PendingEvaluation]:
            return [_pending(row) for row in query(connection, _CLAIM, now_ns + lease_ns, now_ns, limit)]

        return await self._spans.write(operation)

    async def put_off(self, evaluations: Sequence[tuple[PendingEvaluation, int | None]]) -> None:
        """Say when each is to be tried again; None where it is joined, or given up."""
        rows = [(storable(item.project), id_bytes(item.evaluation_id), due_ns) for item, due_ns in evaluations]
        await self._spans.write(lambda connection: _PUT_OFF.run(connection, rows))

    async def note_responses(self, project: str, trace_id: str, response_ids: Sequence[str]) -> None:
        """Remember in which trace these responses are."""
        key = (storable(project), id_bytes(trace_id))
        rows = [(key[0], response_id, key[1]) for response_id in dict.fromkeys(map(storable, response_ids))]
        await self._work.write(lambda connection: _NOTE_RESPONSES.run(connection, rows))

    async def traces_of(self, project: str, response_ids: Sequence[str]) -> dict[str, str]:
        """Give the trace of each response that is known."""
        name, ids = storable(project), [storable(response_id) for response_id in response_ids]
        rows = await self._work.read(lambda connection: _TRACES_OF.rows(connection, ids, name))
        return {row[0]: row[1].hex() for row in rows}

    async def keep(self, project: str, scores: Sequence[ExternalScore]) -> set[str]:
        """Make results scores of their runs, each once; give the evaluation ids of those whose run is there.

        Of several results of one name for one span the newest is the current one, whichever came first.
        """
        name = storable(project)
        run_ids = sorted({id_bytes(score.run_id) for score in scores})

        def operation(connection: Connection) -> set[str]:
            runs = {row[0]: row[1:] for row in _RUNS.rows(connection, run_ids, name)}
            there = [score for score in scores if id_bytes(score.run_id) in runs]
            rows = [_score_row(name, score, *runs[id_bytes(score.run_id)]) for score in there]
            ids = sorted(row[1] for row in rows)
            pairs = {(row[0], row[1], row[2]) for row in _WHERE_THEY_WERE.rows(connection, ids, name)}
            pairs |= {(row[6], row[11], row[3]) for row in rows}
            _PUT_SCORES.run(connection, rows)
            _INSERT_EVIDENCE.run(
                connection,
                [
                    (name, row[1], score.body, evidence_digest(score.body))
                    for row, score in zip(rows, there, strict=True)
                ],
            )
            for pair in sorted(pairs):
                execute(connection, _END, name, *pair)
                execute(connection, _STAND, name, *pair)
            return {score.evaluation_id for score in there}

        return await self._work.write(operation)


def _pending(row: Sequence[Any]) -> PendingEvaluation:
    return PendingEvaluation(
        project=row[0],
        evaluation_id=row[1].hex(),
        trace_id=row[2].hex() if row[2] else None,
        span_id=row[3].hex() if row[3] else None,
        response_id=row[4],
        arrived_ns=row[5],
        attempts=row[6],
        body=row[7],
    )


def _score_row(project: str, score: ExternalScore, revision: int, run_span_id: bytes | None) -> _Row:
    run_id, span_id = id_bytes(score.run_id), id_bytes(score.span_id)
    # Results for several spans of one run stand beside each other; the run's own span needs no name.
    name = "" if span_id == run_span_id else score.span_id
    scorer_id = storable(score.scorer_id)
    score_id = hashlib.blake2b(id_bytes(score.evaluation_id) + project.encode(), digest_size=16).digest()
    return (
        project,
        score_id,
        None,
        name,
        bytes.fromhex(score_key(run_id=score.run_id, scorer_id=scorer_id, name=name)),
        None,
        run_id,
        revision,
        revision,
        id_bytes(score.trace_id),
        span_id,
        scorer_id,
        "",
        0,
        score.outcome,
        score.score,
        maybe_storable(score.reason),
        None,
        maybe_storable(score.error_type),
        None,
        False,
        None,
        None,
        True,
        True,
        1.0,
        "",
        "external",
        "",
        None,
        None,
        0,
        clamp(score.created_ns),
    )
