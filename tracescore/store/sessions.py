"""Sessions: which conversations have changed, and when each is to be looked at."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection

from tracescore.store.bulk import BulkInsert, BulkUpdate, execute, query
from tracescore.store.database import Database
from tracescore.store.encoding import clamp, id_bytes, storable
from tracescore.store.postgres_sql import SKIP_LOCKED
from tracescore.store.records import RunRecord, SessionClaim, StoredTurn, TurnRow
from tracescore.store.schema_versions import sessions

_TOUCH = "UPDATE sessions SET version = version + 1, ready_at_ns = ? WHERE project = ? AND session_id = ?"
_OPEN = BulkInsert.into(
    sessions,
    on_conflict="(project, session_id) DO UPDATE SET version = sessions.version + 1, "
    "ready_at_ns = excluded.ready_at_ns",
)
_CLAIM = f"""UPDATE sessions SET ready_at_ns = ? WHERE (project, session_id) IN (
    SELECT project, session_id FROM sessions WHERE ready_at_ns IS NOT NULL AND ready_at_ns <= ?
    ORDER BY ready_at_ns LIMIT ? {SKIP_LOCKED})
    RETURNING project, session_id, version"""
# A session that changed since it was claimed keeps the time that its change set.
_SETTLE = BulkUpdate(
    table="sessions",
    keys=("project", "session_id", "version"),
    values=("ready_at_ns",),
    assign="ready_at_ns = v.ready_at_ns",
)
# The newest first, since a long one is cut to these.
_TURNS = """SELECT body, first_arrival_ns FROM runs WHERE project = ? AND session_id = ?
    AND CASE WHEN kind IN ('agent', 'trace') AND outermost AND NOT withdrawn THEN TRUE ELSE FALSE END
    ORDER BY started_ns DESC, run_id DESC LIMIT ?"""


def session_key(session_id: str) -> str:
    """Give the key of the set that a session's run is."""
    return f"session:{session_id}"


def touch_sessions(
    connection: Connection, project: str, changed: Collection[str], *, ready_at_ns: int, opens: bool
) -> None:
    """Note that outermost runs of sessions changed; one that is not known is made known where ``opens`` says so."""
    for session_id in sorted(changed):
        if opens:
            _OPEN.run(connection, [(project, session_id, 1, ready_at_ns)])
        else:
            execute(connection, _TOUCH, ready_at_ns, project, session_id)


_EARLIER = """SELECT run_id, trace_id, parent_run_id, body FROM runs WHERE paused AND project = ? AND session_id = ?
    AND CASE WHEN trace_id <> ? AND NOT withdrawn AND outermost AND started_ns <= ? THEN TRUE ELSE FALSE END
    ORDER BY started_ns, run_id"""
_LATER = """SELECT run_id, trace_id, parent_run_id, body FROM runs WHERE project = ? AND session_id = ?
    AND CASE WHEN trace_id <> ? AND NOT withdrawn AND kind IN ('agent', 'trace') AND started_ns >= ?
        AND (outermost OR parent_run_id = ?) THEN TRUE ELSE FALSE END
    ORDER BY CASE WHEN parent_run_id = ? THEN 0 ELSE 1 END, started_ns, run_id LIMIT ?"""


class Sessions:
    """Keep when each conversation is to be looked at."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, *, now_ns: int, limit: int, lease_ns: int) -> list[SessionClaim]:
        """Take sessions that are due, longest due first; each is hidden until its lease ends or it is settled."""

        def operation(connection: Connection) -> list[SessionClaim]:
            rows = query(connection, _CLAIM, now_ns + lease_ns, now_ns, limit)
            return [SessionClaim(project=row[0], session_id=row[1], version=row[2]) for row in rows]

        return await self._database.write(operation)

    async def turns(self, project: str, session_id: str, *, limit: int) -> list[StoredTurn]:
        """Read the newest outermost runs of a session, in the order of their start."""
        values = (storable(project), storable(session_id), limit)
        rows = await self._database.read(lambda connection: query(connection, _TURNS, *values))
        return [StoredTurn(body=row[0], first_arrival_ns=row[1]) for row in reversed(rows)]

    async def paused_before(self, project: str, session_id: str, run: RunRecord) -> list[TurnRow]:
        """Read the outermost runs of a session that were paused before a run of another trace began."""
        values = (storable(project), storable(session_id), id_bytes(run.trace_id or ""), clamp(run.started_ns))
        return await self._turn_rows(_EARLIER, values)

    async def begun_after(self, project: str, session_id: str, run: RunRecord, *, limit: int) -> list[TurnRow]:
        """Read the runs of a session that began, in other traces, after a run: its children, then outermost ones."""
        key = (storable(project), storable(session_id), id_bytes(run.trace_id or ""))
        own = id_bytes(run.run_id)
        return await self._turn_rows(_LATER, (*key, clamp(run.ended_ns), own, own, limit))

    async def _turn_rows(self, sql: str, values: tuple[Any, ...]) -> list[TurnRow]:
        rows = await self._database.read(lambda connection: query(connection, sql, *values))
        return [
            TurnRow(
                run_id=row[0].hex(),
                trace_id=row[1].hex(),
                parent_run_id=None if row[2] is None else row[2].hex(),
                body=row[3],
            )
            for row in rows
        ]

    async def settle(self, claim: SessionClaim, *, next_check_ns: int | None = None) -> None:
        """Say when a session is due next; one that changed since stays due."""
        row = (storable(claim.project), storable(claim.session_id), claim.version, next_check_ns)
        await self._database.write(lambda connection: _SETTLE.run(connection, [row]))
