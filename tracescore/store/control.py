"""Workers, what they offer, leases and rule sets."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from tracescore.store import schema, schema_versions
from tracescore.store.batches import create_batch, read_batch
from tracescore.store.bulk import BulkInsert, ByIds, execute, query
from tracescore.store.database import Database
from tracescore.store.encoding import dump_json, is_id, load_json, new_id, storable
from tracescore.store.records import BatchItem, BatchStatus, OfferRecord, OfferRow, WorkerRow
from tracescore.store.statistics import analyze_grown

_INSERT_OFFERS = BulkInsert.into(
    schema.offers,
    on_conflict="""(project, app, worker, scorer_id, scorer_version) DO UPDATE SET
    range_low = excluded.range_low, range_high = excluded.range_high, higher_is_better = excluded.higher_is_better,
    needs_judge = excluded.needs_judge, reads = excluded.reads, description = excluded.description,
    seen_ns = excluded.seen_ns""",
)
_OFFER_GAP_NS = 30_000_000_000
"""A version that no worker spoke of for so long was not offered meanwhile."""
_SEE_VERSIONS = BulkInsert.into(
    schema_versions.offered_versions,
    on_conflict=f"""(project, scorer_id, scorer_version) DO UPDATE SET seen_ns = excluded.seen_ns,
    since_ns = CASE WHEN offered_versions.seen_ns < excluded.seen_ns - {_OFFER_GAP_NS}
        THEN excluded.since_ns ELSE offered_versions.since_ns END""",
)
_SEEN = """INSERT INTO workers (worker, info, started_ns, seen_ns) VALUES (?, ?, ?, ?)
    ON CONFLICT (worker) DO UPDATE SET info = excluded.info, seen_ns = excluded.seen_ns"""
_ACQUIRE = """INSERT INTO leases (name, holder, until_ns) VALUES (?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ns = excluded.until_ns
    WHERE leases.holder = excluded.holder OR leases.until_ns <= ?"""
_ASK = BulkInsert.into(
    schema_versions.asked_kinds, on_conflict="(project, app, kind) DO UPDATE SET seen_ns = excluded.seen_ns"
)
_INSERT_RULES = BulkInsert.into(schema.rules, on_conflict="DO NOTHING")
_FIRST_SEEN = ByIds(
    sql="SELECT rule_hash, first_seen_ns FROM rules WHERE project = ? AND app = ? AND rule_hash IN ({ids})"
)
_INSERT_RULE_SET = """INSERT INTO rule_sets (project, app, rule_set, spec, first_seen_ns) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING"""
# Each project counts its runs, so that a few rows say which there are.
_PROJECTS = """SELECT project FROM counters WHERE name = 'run_seq' UNION SELECT project FROM tokens ORDER BY project"""
_OFFERS = """SELECT project, app, worker, seen_ns, scorer_id, scorer_version, range_low, range_high, higher_is_better,
    needs_judge, reads, description FROM offers WHERE project = ? AND seen_ns >= ?
    ORDER BY seen_ns DESC, scorer_id, first_seen_ns DESC, worker"""


class Control:
    """Keep what processes tell each other."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register_offers(
        self,
        worker: str,
        app: str,
        project: str,
        offers: Sequence[OfferRecord],
        *,
        now_ns: int,
        kinds: Collection[str] = (),
    ) -> None:
        """Make these the worker's offers in a project, and say which kinds of runs its app's rules ask for."""
        key = (storable(project), storable(app), storable(worker))
        rows = [
            (
                *key,
                storable(offer.scorer_id),
                storable(offer.version),
                *(offer.score_range or (None, None)),
                offer.higher_is_better,
                offer.needs_judge,
                storable(",".join(offer.reads)),
                storable(offer.description),
                now_ns,
                now_ns,
            )
            for offer in {(offer.scorer_id, offer.version): offer for offer in offers}.values()
        ]

        def operation(connection: Connection) -> None:
            _INSERT_OFFERS.run(connection, rows)
            _ASK.run(connection, [(*key[:2], kind, now_ns) for kind in sorted(kinds)])
            _SEE_VERSIONS.run(connection, [(key[0], row[3], row[4], now_ns, now_ns) for row in rows])
            stale = "DELETE FROM offers WHERE project = ? AND app = ? AND worker = ? AND seen_ns < ?"
            execute(connection, stale, *key, now_ns)

        await self._database.write(operation)

    async def offers(self, project: str, since_ns: int = 0) -> list[OfferRow]:
        """List offers seen since, the newest first."""
        rows = await self._database.read(lambda connection: query(connection, _OFFERS, storable(project), since_ns))
        return [_offer(row) for row in rows]

    async def projects(self) -> list[str]:
        """List the projects that have tokens, or had runs."""
        rows = await self._database.read(lambda connection: query(connection, _PROJECTS))
        return [row[0] for row in rows]

    async def heartbeat(self, worker: str, info: Mapping[str, Any], now_ns: int) -> None:
        """Note that a worker is alive, and its offers with it."""
        values = (storable(worker), dump_json(dict(info)), now_ns, now_ns)

        def operation(connection: Connection) -> None:
            execute(connection, _SEEN, *values)
            execute(connection, "UPDATE offers SET seen_ns = ? WHERE worker = ?", now_ns, values[0])

        await self._database.write(operation)

    async def workers(self, since_ns: int = 0) -> list[WorkerRow]:
        """List workers seen since."""
        sql = "SELECT worker, info, started_ns, seen_ns FROM workers WHERE seen_ns >= ? ORDER BY started_ns, worker"
        rows = await self._database.read(lambda connection: query(connection, sql, since_ns))
        return [WorkerRow(worker=row[0], info=load_json(row[1]), started_ns=row[2], seen_ns=row[3]) for row in rows]

    async def forget_worker(self, worker: str) -> None:
        """Drop a worker that stops, and its offers."""

        def operation(connection: Connection) -> None:
            execute(connection, "DELETE FROM offers WHERE worker = ?", storable(worker))
            execute(connection, "DELETE FROM workers WHERE worker = ?", storable(worker))

        await self._database.write(operation)

    async def acquire_lease(self, name: str, holder: str, *, now_ns: int, until_ns: int) -> bool:
        """Take or keep a named lease; False while another holds it."""
        values = (storable(name), storable(holder), until_ns, now_ns)
        return await self._database.write(lambda connection: execute(connection, _ACQUIRE, *values) > 0)

    async def release_lease(self, name: str, holder: str) -> None:
        """Give a lease back, where it is still held."""
        sql = "DELETE FROM leases WHERE name = ? AND holder = ?"
        await self._database.write(lambda connection: execute(connection, sql, storable(name), storable(holder)))

    async def rule_set(
        self,
        project: str,
        app: str,
        rule_set: str,
        spec: str,
        rule_hashes: Sequence[str],
        *,
        now_ns: int,
        kinds: Collection[str] = (),
    ) -> dict[str, int]:
        """Keep a rule set and the kinds that it asks for; give when each of its rules was first seen in this app."""
        key = (storable(project), storable(app))

        def operation(connection: Connection) -> dict[str, int]:
            _ASK.run(connection, [(*key, kind, now_ns) for kind in sorted(kinds)])
            execute(connection, _INSERT_RULE_SET, *key, rule_set, storable(spec), now_ns)
            _INSERT_RULES.run(connection, [(*key, rule_hash, now_ns) for rule_hash in sorted(set(rule_hashes))])
            return {row[0]: row[1] for row in _FIRST_SEEN.rows(connection, rule_hashes, *key)}

        return await self._database.write(operation)

    async def kept_rules(self, project: str) -> dict[str, str]:
        """Give the newest rule set that each app kept in a project, as JSON."""
        sql = "SELECT app, spec FROM rule_sets WHERE project = ? ORDER BY first_seen_ns"
        return dict(await self._database.read(lambda connection: query(connection, sql, storable(project))))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # rows of two

    async def has_rules(self) -> bool:
        """Tell whether any app ever kept rules, in whichever project."""
        sql = "SELECT 1 FROM rule_sets LIMIT 1"
        return bool(await self._database.read(lambda connection: query(connection, sql)))

    async def first_seen(self, project: str, app: str, rule_hashes: Sequence[str]) -> dict[str, int]:
        """Give when an app's rules were first seen, those that were."""
        key = (storable(project), storable(app))
        rows = await self._database.read(lambda connection: _FIRST_SEEN.rows(connection, rule_hashes, *key))
        return {row[0]: row[1] for row in rows}

    async def asked_kinds(self) -> dict[str, dict[str, int]]:
        """Give each project's kinds that any app's rules ever asked for, each with when they last did."""
        sql = "SELECT project, kind, max(seen_ns) FROM asked_kinds GROUP BY project, kind"
        asked: dict[str, dict[str, int]] = {}
        for name, kind, seen_ns in await self._database.read(lambda connection: query(connection, sql)):
            asked.setdefault(name, {})[kind] = seen_ns
        return asked

    async def analyze(self) -> list[str]:
        """Have the database look at tables that have grown much since it last did; give their names."""
        return await self._database.read(analyze_grown)

    async def create_batch(
        self, project: str, kind: str, items: Sequence[BatchItem], *, now_ns: int | None = None
    ) -> str:
        """Store a batch and give its id."""
        batch_id = new_id()
        created_ns = time.time_ns() if now_ns is None else now_ns
        await self._database.write(create_batch(storable(project), batch_id, kind, items, created_ns))
        return batch_id

    async def batch(self, project: str, batch_id: str) -> BatchStatus | None:
        """Read a batch with each target's live outcome."""
        if not is_id(batch_id):
            return None
        return await self._database.read(read_batch(storable(project), batch_id))


def _offer(row: tuple[Any, ...]) -> OfferRow:
    return OfferRow(
        project=row[0],
        app=row[1],
        worker=row[2],
        seen_ns=row[3],
        offer=OfferRecord(
            scorer_id=row[4],
            version=row[5],
            score_range=None if row[6] is None else (row[6], row[7]),
            higher_is_better=bool(row[8]),
            needs_judge=bool(row[9]),
            reads=tuple(word for word in row[10].split(",") if word),
            description=row[11],
        ),
    )
