"""Which outcome of a run and scorer is the current one: at most one, held by a unique index."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from tracescore.store.bulk import BulkUpdate, ByIds

_END_RUNS = ByIds(sql="UPDATE scores SET current_flag = 0 WHERE project = ? AND current_flag = 1 AND run_id IN ({ids})")
_END_SCORERS = BulkUpdate(
    table="scores",
    keys=("project", "run_id", "scorer_id"),
    assign="current_flag = 0",
    where="scores.current_flag = 1",
)
_END_LIVE_SCORERS = BulkUpdate(
    table="scores",
    keys=("project", "run_id", "scorer_id"),
    assign="current_flag = 0",
    where="scores.current_flag = 1 AND scores.source = 'live'",
)
# By run first, since that has an index; a sub-score stands with its main row.
_STAND = BulkUpdate(
    table="scores",
    keys=("project", "run_id", "scorer_id"),
    values=("score_id", "revision"),
    assign="current_flag = 1, standing_revision = CASE WHEN v.revision > scores.standing_revision "
    "THEN v.revision ELSE scores.standing_revision END",
    where="(scores.score_id = v.score_id OR scores.parent_id = v.score_id)",
)
_NEWEST = ByIds(
    sql="""SELECT run_id, scorer_id, score_id, standing_revision FROM (
        SELECT run_id, scorer_id, score_id, standing_revision, row_number() OVER (
            PARTITION BY run_id, scorer_id ORDER BY standing_revision DESC, created_ns DESC, score_id DESC) AS place
        FROM scores WHERE project = ? AND parent_id IS NULL AND run_id IN ({ids})) AS ranked WHERE place = 1"""
)

Standing = tuple[bytes, str, bytes, int]
"""Run id, scorer id, the score's row id, and the revision that it is known to hold for."""


def end_runs(connection: Connection, project: str, runs: Sequence[bytes]) -> None:
    """Leave runs without a current outcome."""
    _END_RUNS.run(connection, runs, project)


def end_scorers(
    connection: Connection, project: str, pairs: Sequence[tuple[bytes, str]], *, live_only: bool = False
) -> None:
    """Leave pairs of run and scorer without a current outcome."""
    statement = _END_LIVE_SCORERS if live_only else _END_SCORERS
    statement.run(connection, [(project, run_id, scorer_id) for run_id, scorer_id in pairs])


def stand(connection: Connection, project: str, standing: Sequence[Standing]) -> None:
    """Make these the current outcomes of their runs and scorers."""
    end_scorers(connection, project, [(run_id, scorer_id) for run_id, scorer_id, _, _ in standing])
    _STAND.run(connection, [(project, *row) for row in standing])


def stand_newest(connection: Connection, project: str, runs: Sequence[bytes]) -> None:
    """Make the newest outcome of each scorer the current one again: a withdrawn run came back."""
    rows = _NEWEST.rows(connection, runs, project)
    stand(connection, project, [(row[0], row[1], row[2], row[3]) for row in rows])
