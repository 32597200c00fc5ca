"""What becomes of traces that nothing more is awaited of: those of no agent are dropped, the others compacted."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import Connection

from tracescore.store import schema, schema_settled
from tracescore.store.bulk import BulkInsert, ByIds, execute, query
from tracescore.store.compacted import pack, read_copies
from tracescore.store.database import Database
from tracescore.store.encoding import id_bytes, storable
from tracescore.store.postgres_sql import LOCK, SKIP_LOCKED
from tracescore.store.records import TraceClaim, TraceStage

_CLAIM = f"""UPDATE traces SET ready_at_ns = ? WHERE (project, trace_id) IN (
    SELECT project, trace_id FROM traces WHERE stage = ? AND ready_at_ns IS NOT NULL AND ready_at_ns <= ?
    ORDER BY ready_at_ns LIMIT ? {SKIP_LOCKED})
    RETURNING project, trace_id, version"""
_DUE_ONE = f"SELECT version FROM traces WHERE project = ? AND trace_id = ? AND stage = ? {LOCK}"
_VERSIONS = ByIds(
    sql=f"""SELECT trace_id, version FROM traces
    WHERE project = ? AND stage = {schema.STAGES["drop"]} AND trace_id IN ({{ids}}) ORDER BY trace_id {LOCK}"""
)
_DROPS = tuple(
    ByIds(sql=f"DELETE FROM {table} WHERE project = ? AND trace_id IN ({{ids}})")
    for table in ("traces", "spans", "logs", "compacted")
)
_KEEP = BulkInsert.into(
    schema_settled.compacted,
    on_conflict="""(project, trace_id) DO UPDATE SET span_count = excluded.span_count,
    log_count = excluded.log_count, size_bytes = excluded.size_bytes, body = excluded.body""",
)
_COMPACTED = """UPDATE traces SET ready_at_ns = NULL, stage = 0, span_count = ?, log_count = ?, size_bytes = ?
    WHERE project = ? AND trace_id = ?"""


class SettledTraces:
    """Take up less room for what is settled; what comes for a trace meanwhile or later is not lost by it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, stage: TraceStage, *, now_ns: int, limit: int, lease_ns: int) -> list[TraceClaim]:
        """Take traces that are due at a stage; each is hidden until its lease ends."""
        values = (now_ns + lease_ns, schema.STAGES[stage], now_ns, limit)

        def operation(connection: Connection) -> list[TraceClaim]:
            return [
                TraceClaim(project=row[0], trace_id=row[1].hex(), version=row[2])
                for row in query(connection, _CLAIM, *values)
            ]

        return await self._database.write(operation)

    async def drop(self, claims: Sequence[TraceClaim]) -> int:
        """Forget these traces, but for those that something came for; give how many were."""
        by_project: dict[str, dict[bytes, int]] = defaultdict(dict)
        for claim in claims:
            by_project[storable(claim.project)][id_bytes(claim.trace_id)] = claim.version

        def operation(connection: Connection) -> int:
            count = 0
            for project, wanted in sorted(by_project.items()):
                found = _VERSIONS.rows(connection, sorted(wanted), project)
                ids = [trace_id for trace_id, version in found if wanted[trace_id] == version]
                for statement in _DROPS:
                    statement.run(connection, ids, project)
                count += len(ids)
            return count

        return await self._database.write(operation)

    async def compact(self, claim: TraceClaim) -> bool:
        """Put all that is stored of a trace into one piece; False where something came for it meanwhile.

        Compressing happens in a thread, outside the transaction.
        """
        key = (storable(claim.project), id_bytes(claim.trace_id))
        spans, logs = await self._database.read(lambda connection: read_copies(connection, *key))
        counts = (len(spans), len(logs), sum(len(copy[2]) for copies in (spans, logs) for copy in copies))
        packed = await asyncio.to_thread(pack, spans, logs)
        del spans, logs

        def operation(connection: Connection) -> bool:
            # Whoever brings new copies raises the version in the same transaction, so these are all there are.
            if query(connection, _DUE_ONE, *key, schema.STAGES["compact"]) != [(claim.version,)]:
                return False
            _KEEP.run(connection, [(*key, *counts, packed)])
            for table in ("spans", "logs"):
                execute(connection, f"DELETE FROM {table} WHERE project = ? AND trace_id = ?", *key)
            execute(connection, _COMPACTED, *counts, *key)
            return True

        return await self._database.write(operation)
