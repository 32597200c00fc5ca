"""Scores, and what sinks are owed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, literal, tuple_

from tracescore.store import schema
from tracescore.store.bulk import ByIds, execute, query
from tracescore.store.columns import HexId
from tracescore.store.database import Database
from tracescore.store.encoding import (
    evidence_digest,
    id_bytes,
    is_id,
    load_json,
    page_limit,
    page_mark,
    read_page_mark,
    storable,
)
from tracescore.store.postgres_sql import SKIP_LOCKED
from tracescore.store.read_scores import SCORES, read_scores
from tracescore.store.records import JudgedScore, OutboxItem, OutcomeName, Page, ScoreRow

_S = schema.scores.c
_EVIDENCE = "SELECT body FROM evidence WHERE score_id = ?"
_JUDGED = """SELECT e.body, e.digest, r.revision, r.body, p.body,
        j.source <> 'manual' AND j.planned_hash <> '' AND (p.body IS NOT NULL OR r.revision = j.revision)
    FROM scores AS s LEFT JOIN evidence AS e ON e.score_id = s.score_id
    LEFT JOIN jobs AS j ON j.job_id = s.job_id
    LEFT JOIN runs AS r ON r.project = s.project AND r.run_id = s.run_id
    LEFT JOIN prepared_runs AS p
        ON p.project = j.project AND p.run_id = j.run_id AND p.planned_hash = j.planned_hash
    WHERE s.score_id = ?"""
_CLAIM_OUTBOX = """UPDATE outbox SET due_at_ns = ?, attempts = attempts + 1 WHERE id IN (
    SELECT id FROM outbox WHERE due_at_ns <= ? AND sink IN ({sinks}) ORDER BY due_at_ns, id LIMIT ? {lock})
    RETURNING id, sink, score_id, attempts"""
_DONE = ByIds(sql="DELETE FROM outbox WHERE id IN ({ids})")
_RETRY = "UPDATE outbox SET due_at_ns = ?, error = ? WHERE id = ?"


class Scores:
    """Keep outcomes with their evidence."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(
        self,
        project: str,
        *,
        trace_id: str | None = None,
        span_id: str | None = None,
        run_id: str | None = None,
        scorer_id: str | None = None,
        outcome: OutcomeName | None = None,
        since_ns: int | None = None,
        until_ns: int | None = None,
        current: bool | None = True,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[ScoreRow]:
        """List outcomes, newest first, sub-scores on their score; at most 500 at once.

        Raises:
            InputError: ``after`` is not what a page gave.
        """
        conditions: list[ColumnElement[bool]] = [_S.project == storable(project), _S.parent_id.is_(None)]
        for column, value, digits in ((_S.trace_id, trace_id, 32), (_S.span_id, span_id, 16), (_S.run_id, run_id, 32)):
            if value is not None:
                if not is_id(value, digits=digits):
                    return Page(items=())
                conditions.append(column == value)
        if scorer_id is not None:
            conditions.append(_S.scorer_id == storable(scorer_id))
        if outcome is not None:
            conditions.append(_S.outcome == outcome)
        if since_ns is not None:
            conditions.append(_S.created_ns >= since_ns)
        if until_ns is not None:
            conditions.append(_S.created_ns < until_ns)
        if current is not None:
            conditions.append(_S.current_flag == int(current))
        if after is not None:
            created_ns, score_id = read_page_mark(after)
            conditions.append(
                tuple_(_S.created_ns, _S.score_id) < tuple_(literal(created_ns), literal(score_id, HexId))
            )
        count = page_limit(limit)
        statement = SCORES.where(*conditions).order_by(_S.created_ns.desc(), _S.score_id.desc()).limit(count + 1)

        def operation(connection: Connection) -> Page[ScoreRow]:
            rows = read_scores(connection, statement)
            mark = page_mark(rows[count - 1].created_ns, rows[count - 1].score_id) if len(rows) > count else None
            return Page(items=tuple(rows[:count]), next=mark)

        return await self._database.read(operation)

    async def get(self, score_id: str, *, project: str | None = None) -> ScoreRow | None:
        """Read an outcome with its evidence; None where it is another project's."""
        if not is_id(score_id):
            return None
        statement = SCORES.where(_S.score_id == score_id, _S.parent_id.is_(None))
        if project is not None:
            statement = statement.where(_S.project == storable(project))

        def operation(connection: Connection) -> ScoreRow | None:
            rows = read_scores(connection, statement)
            if not rows:
                return None
            stored = query(connection, _EVIDENCE, id_bytes(score_id))
            return replace(rows[0], evidence=load_json(stored[0][0]) if stored else {})

        return await self._database.read(operation)

    async def judged(self, score_id: str, *, project: str) -> JudgedScore | None:
        """Read an outcome with all that it was made of; None where there is none, or it is another project's."""
        if not is_id(score_id):
            return None
        statement = SCORES.where(_S.score_id == score_id, _S.parent_id.is_(None), _S.project == storable(project))

        def operation(connection: Connection) -> JudgedScore | None:
            rows = read_scores(connection, statement)
            if not rows:
                return None
            ((body, digest, run_revision, run_body, prepared, as_planned),) = query(
                connection, _JUDGED, id_bytes(score_id)
            )
            try:
                evidence = load_json(body)
            except (ValueError, TypeError):  # some byte of it was changed, or there is none
                evidence = {}
            return JudgedScore(
                score=replace(rows[0], evidence=evidence if isinstance(evidence, dict) else {}),
                intact=body is not None and evidence_digest(body) == digest,
                run_body=run_body if prepared is None else prepared,
                run_revision=run_revision,
                as_planned=bool(as_planned),
            )

        return await self._database.read(operation)

    async def claim_outbox(self, sinks: Sequence[str], *, now_ns: int, lease_ns: int, limit: int) -> list[OutboxItem]:
        """Take deliveries that are due; each is hidden until its lease ends, is done or is put off."""
        names = [storable(sink) for sink in sinks]
        sql = _CLAIM_OUTBOX.format(sinks=", ".join("?" * len(names)), lock=SKIP_LOCKED)
        if not names:
            return []

        def operation(connection: Connection) -> list[OutboxItem]:
            claimed = query(connection, sql, now_ns + lease_ns, now_ns, *names, limit)
            score_ids = {row[2].hex() for row in claimed}
            scores = {row.score_id: row for row in read_scores(connection, SCORES.where(_S.score_id.in_(score_ids)))}
            return [
                OutboxItem(id=row[0], sink=row[1], score_id=row[2].hex(), attempts=row[3], payload=scores[row[2].hex()])
                for row in sorted(claimed)
                if row[2].hex() in scores
            ]

        return await self._database.write(operation)

    async def outbox_done(self, ids: Sequence[int]) -> None:
        """Drop deliveries that arrived."""
        await self._database.write(lambda connection: _DONE.run(connection, ids))

    async def outbox_retry(self, item_id: int, at_ns: int, error: str) -> None:
        """Put a delivery off, with what went wrong."""
        await self._database.write(lambda connection: execute(connection, _RETRY, at_ns, storable(error), item_id))
