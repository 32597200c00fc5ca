"""Sessions: which conversations have changed, and when each is to be looked at."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection

from tracescore.store.bulk import BulkInsert, BulkUpdate, execute, query
from tracescore.store.database import Database
from tracescore.store.encoding import storable
from tracescore.store.postgres_sql import SKIP_LOCKED
from tracescore.store.records import SessionClaim, StoredTurn
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

    async def settle(self, claim: SessionClaim, *, next_check_ns: int | None = None) -> None:
        """Say when a session is due next; one that changed since stays due."""
        row = (storable(claim.project), storable(claim.session_id), claim.version, next_check_ns)
        await self._database.write(lambda connection: _SETTLE.run(connection, [row]))
