"""The schema, continued: backfills, and since when each version of a scorer has been offered."""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, PrimaryKeyConstraint, Table
from sqlalchemy import text as sql

from tracescore.store.columns import hex_id, number, project, text
from tracescore.store.schema import WORK

PLANNING = sql("state = 'planning'")

backfills = Table(  # beside the batch of the same id: which runs, and how far planning has come
    "backfills",
    WORK,
    project(),
    hex_id("batch_id"),
    text("scorer_id"),
    text("scorer_version"),
    text("spec"),
    text("state"),
    number("mark_ns"),
    hex_id("mark_id"),
    number("total"),
    number("seen"),
    number("planned"),
    number("skipped"),
    number("left_out"),
    number("created_ns"),
    PrimaryKeyConstraint("batch_id"),
    Index("ix_backfills_planning", "project", "created_ns", sqlite_where=PLANNING, postgresql_where=PLANNING),
)

offered_versions = Table(  # since when some worker or other has offered a version without a gap, and until when
    "offered_versions",
    WORK,
    project(),
    text("scorer_id"),
    text("scorer_version"),
    number("since_ns"),
    number("seen_ns"),
    PrimaryKeyConstraint("project", "scorer_id", "scorer_version"),
)

described_versions = Table(  # what a version was made of when it was first offered
    "described_versions",
    WORK,
    project(),
    text("scorer_id"),
    text("scorer_version"),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("project", "scorer_id", "scorer_version"),
)
