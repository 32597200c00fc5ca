"""Replace the set of runs of a trace: the operation behind ``Runs.replace_runs``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from tracescore.model import PART_KINDS
from tracescore.store import schema, standing
from tracescore.store.bulk import BulkInsert, ByIds, execute, query
from tracescore.store.encoding import clamp, id_bytes, maybe_id_bytes, maybe_storable, storable
from tracescore.store.postgres_sql import LOCK
from tracescore.store.records import ReplacedRuns, RunRecord
from tracescore.store.sessions import touch_sessions

_Row = tuple[Any, ...]
_TURNS = ("agent", "trace")
"""Kinds whose outermost runs are the turns of a session."""

_KEPT = ("project", "run_id", "created_ns")
_UPSERT = BulkInsert.into(
    schema.runs,
    on_conflict="(project, run_id) DO UPDATE SET "
    + ", ".join(
        f"{column.name} = excluded.{column.name}" for column in schema.runs.columns if column.name not in _KEPT
    ),
)
_NEXT_SEQ = """INSERT INTO counters (project, name, value) VALUES (?, 'run_seq', ?)
    ON CONFLICT (project, name) DO UPDATE SET value = counters.value + excluded.value RETURNING value"""
_NOTE_ASSEMBLY = """INSERT INTO assemblies (project, settle_key, version, assembled_ns) VALUES (?, ?, ?, ?)
    ON CONFLICT (project, settle_key) DO UPDATE
    SET version = excluded.version, assembled_ns = excluded.assembled_ns
    WHERE assemblies.version <= excluded.version"""
_KNOWN = f"""SELECT run_id, content_hash, plan_hash, revision, withdrawn, seq, seen_states, kind, outermost, session_id,
        paused, parent_run_id
    FROM runs WHERE project = ? AND settle_key = ? ORDER BY run_id {LOCK}"""
_ALONE = ByIds(
    sql="SELECT run_id, content_hash, plan_hash, revision, withdrawn, seq, seen_states, kind, outermost, session_id, "
    "paused, parent_run_id "
    f"FROM runs WHERE project = ? AND settle_key = '' AND run_id IN ({{ids}}) ORDER BY run_id {LOCK}"
)
_RESUMED = ByIds(
    sql="SELECT trace_id FROM runs "
    "WHERE project = ? AND CASE WHEN paused THEN TRUE ELSE FALSE END AND run_id IN ({ids})"
)
_RESUMING = ByIds(sql="SELECT trace_id FROM runs WHERE project = ? AND session_id = ? AND parent_run_id IN ({ids})")
_WITHDRAW = """UPDATE runs SET withdrawn = ?, seq = ?, seen_states = seen_states + 1, updated_ns = ?
    WHERE project = ? AND run_id = ?"""
_SUPERSEDE = ByIds(
    sql="UPDATE jobs SET state = 'superseded', finished_ns = ?, error = ? "
    f"WHERE project = ? AND {schema.STATE} = 'pending' AND run_id IN ({{ids}})"
)
_SUPERSEDE_LIVE = ByIds(
    sql="UPDATE jobs SET state = 'superseded', finished_ns = ?, error = ? "
    f"WHERE project = ? AND {schema.STATE} = 'pending' AND source = 'live' AND run_id IN ({{ids}})"
)


@dataclass(frozen=True, slots=True)
class _Known:
    content_hash: str
    plan_hash: str
    revision: int
    withdrawn: bool
    seq: int | None
    seen_states: int
    kind: str
    outermost: bool
    session_id: str | None
    paused: bool
    parent_run_id: bytes | None

    @property
    def turn_of(self) -> str | None:
        """Give the session that the run is a turn of."""
        return self.session_id if self.outermost and self.kind in _TURNS else None

    def is_as(self, run: RunRecord) -> bool:
        """Tell whether a planner has seen the run in this state."""
        return (self.content_hash, self.plan_hash) == (run.content_hash, run.plan_hash) and self.seq is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionClock:
    """When a session whose runs change is due: ``idle_ns`` later; one not known yet only if ``opens``."""

    idle_ns: int
    opens: bool


@dataclass(slots=True)
class _Changes:
    new: list[str] = field(default_factory=list)
    revised: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.new) + len(self.revised) + len(self.withdrawn)


def trace_key(trace_id: str) -> str:
    """Give the key of a trace's set of runs."""
    return f"trace:{trace_id}"


class Replacement:
    """Make runs the set of a trace: new, revised, unchanged or withdrawn, with what hangs on them."""

    def __init__(
        self,
        project: str,
        settle_key: str,
        version: int,
        runs: Sequence[RunRecord],
        *,
        now_ns: int,
        sessions: SessionClock | None = None,
    ) -> None:
        self._project = project
        self._key = settle_key
        self._version = version
        self._runs = runs
        self._now_ns = now_ns
        self._sessions = sessions

    def __call__(self, connection: Connection) -> ReplacedRuns:
        """Run within a transaction."""
        if not execute(connection, _NOTE_ASSEMBLY, self._project, self._key, self._version, self._now_ns):
            return ReplacedRuns(refused=True)
        rows = list(query(connection, _KNOWN, self._project, self._key))
        # A part that somebody asked for by hand was stored alone, before its kind was asked for.
        have = {row[0] for row in rows}
        parts = [id_bytes(run.run_id) for run in self._runs if run.kind in PART_KINDS and run.settled]
        rows += _ALONE.rows(connection, sorted(set(parts) - have), self._project)
        known = {row[0].hex(): _Known(*row[1:]) for row in rows}
        changes = self._compare(known)
        seqs = iter(self._take_seqs(connection, changes.count))
        rows = [self._row(run, known.get(run.run_id), changes, seqs) for run in self._runs if run.settled]
        _UPSERT.run(connection, rows)
        for run_id in changes.withdrawn:
            execute(connection, _WITHDRAW, True, next(seqs), self._now_ns, self._project, id_bytes(run_id))
        self._follow_up(connection, changes)
        self._touch_sessions(connection, changes, known)
        return ReplacedRuns(
            new=tuple(changes.new),
            revised=tuple(changes.revised),
            withdrawn=tuple(changes.withdrawn),
            beside=self._beside(connection, changes, known),
        )

    def _compare(self, known: dict[str, _Known]) -> _Changes:
        changes = _Changes()
        for run in self._runs:
            if not run.settled:
                continue
            before = known.get(run.run_id)
            if before is None:
                changes.new.append(run.run_id)
            elif before.withdrawn:
                changes.revised.append(run.run_id)
                changes.returned.append(run.run_id)
            elif not before.is_as(run):
                changes.revised.append(run.run_id)
        given = {run.run_id for run in self._runs}
        changes.withdrawn = [run_id for run_id, row in known.items() if run_id not in given and not row.withdrawn]
        return changes

    def _beside(self, connection: Connection, changes: _Changes, known: dict[str, _Known]) -> tuple[str, ...]:
        waits = {run.run_id for run in self._runs if run.paused}
        gone = [run_id for run_id in (*changes.withdrawn, *changes.revised) if known[run_id].paused]
        gone = [id_bytes(run_id) for run_id in gone if run_id not in waits]
        taken_up = [parent for run_id in changes.withdrawn if (parent := known[run_id].parent_run_id) is not None]
        found = set(_RESUMED.rows(connection, taken_up, self._project))
        for session_id in sorted({row.session_id for row in known.values() if row.session_id and gone}):
            found |= set(_RESUMING.rows(connection, gone, self._project, session_id))
        traces = {row[0].hex() for row in found}
        return tuple(sorted(trace_id for trace_id in traces if trace_key(trace_id) != self._key))

    def _touch_sessions(self, connection: Connection, changes: _Changes, known: dict[str, _Known]) -> None:
        if self._sessions is None:
            return
        changed = {*changes.new, *changes.revised, *changes.withdrawn}
        turns = {known[run_id].turn_of for run_id in changed if run_id in known}
        turns |= {
            maybe_storable(run.session_id)
            for run in self._runs
            if run.run_id in changed and run.outermost and run.kind in _TURNS
        }
        touch_sessions(
            connection,
            self._project,
            {session_id for session_id in turns if session_id},
            ready_at_ns=clamp(self._now_ns + self._sessions.idle_ns),
            opens=self._sessions.opens,
        )

    def _take_seqs(self, connection: Connection, count: int) -> range:
        # A counter's row is locked until the commit, so that whoever reads up to a seq has seen all before it.
        if not count:
            return range(0)
        ((last,),) = query(connection, _NEXT_SEQ, self._project, count)
        return range(last - count + 1, last + 1)

    def _row(self, run: RunRecord, before: _Known | None, changes: _Changes, seqs: Any) -> _Row:
        if before is None:
            return run_row(self._project, run, self._key, now_ns=self._now_ns, seq=next(seqs))
        content_changed = before.content_hash != run.content_hash
        changed = before.withdrawn or not before.is_as(run)
        return run_row(
            self._project,
            run,
            self._key,
            now_ns=self._now_ns,
            revision=before.revision + content_changed,
            seq=next(seqs) if changed else before.seq,
            seen_states=before.seen_states + changed,
        )

    def _follow_up(self, connection: Connection, changes: _Changes) -> None:
        withdrawn = [id_bytes(run_id) for run_id in changes.withdrawn]
        _SUPERSEDE.run(connection, withdrawn, self._now_ns, "the run was withdrawn", self._project)
        standing.end_runs(connection, self._project, withdrawn)
        # What was asked for by hand or by a backfill is no planner's to plan again: it scores the newest revision.
        revised = [id_bytes(run_id) for run_id in changes.revised]
        _SUPERSEDE_LIVE.run(connection, revised, self._now_ns, "the run was revised", self._project)
        standing.stand_newest(connection, self._project, [id_bytes(run_id) for run_id in changes.returned])


def run_row(
    project: str,
    run: RunRecord,
    settle_key: str,
    *,
    now_ns: int,
    revision: int = 1,
    seq: int | None = None,
    seen_states: int = 1,
) -> _Row:
    """Give a run's row in the order of its table."""
    return (
        project,
        id_bytes(run.run_id),
        run.kind,
        settle_key,
        maybe_id_bytes(run.trace_id),
        maybe_id_bytes(run.span_id),
        maybe_id_bytes(run.parent_run_id),
        maybe_storable(run.session_id),
        maybe_storable(run.agent_name),
        maybe_storable(run.service),
        maybe_storable(run.environment),
        storable(run.status),
        clamp(run.started_ns),
        clamp(run.ended_ns),
        clamp(run.first_arrival_ns),
        run.outermost,
        run.paused,
        run.content_hash,
        run.plan_hash,
        revision,
        False,
        seq,
        seen_states,
        now_ns,
        now_ns,
        run.body,
    )


def add_run(connection: Connection, project: str, run: RunRecord, *, now_ns: int) -> None:
    """Store a run that is in no set and that no planner sees."""
    found = query(
        connection,
        "SELECT settle_key, revision, content_hash FROM runs WHERE project = ? AND run_id = ?",
        project,
        id_bytes(run.run_id),
    )
    revision = 1
    if found:
        settle_key, known_revision, known_hash = found[0]
        if settle_key:  # its set keeps it
            return
        revision = known_revision + (known_hash != run.content_hash)
    _UPSERT.run(connection, [run_row(project, run, "", now_ns=now_ns, revision=revision)])
