"""Spans, logs and their traces: the first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "logs",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("trace_id", sa.LargeBinary(), nullable=False),
        sa.Column("span_id", sa.LargeBinary(), nullable=False),
        sa.Column("copy_hash", sa.LargeBinary(), nullable=False),
        sa.Column("time_ns", sa.BigInteger(), nullable=False),
        sa.Column("arrived_ns", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id", "span_id", "copy_hash"),
    )
    op.create_table(
        "spans",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("trace_id", sa.LargeBinary(), nullable=False),
        sa.Column("span_id", sa.LargeBinary(), nullable=False),
        sa.Column("copy_hash", sa.LargeBinary(), nullable=False),
        sa.Column("parent_span_id", sa.LargeBinary(), nullable=True),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=False),
        sa.Column("flags", sa.BigInteger(), nullable=False),
        sa.Column("arrived_ns", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id", "span_id", "copy_hash"),
    )
    op.create_table(
        "traces",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("trace_id", sa.LargeBinary(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("first_arrival_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_arrival_ns", sa.BigInteger(), nullable=False),
        sa.Column("ready_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("capped", sa.Boolean(), nullable=False),
        sa.Column("span_count", sa.BigInteger(), nullable=False),
        sa.Column("log_count", sa.BigInteger(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("stage", sa.SmallInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id"),
    )
    op.create_table(
        "compacted",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("trace_id", sa.LargeBinary(), nullable=False),
        sa.Column("span_count", sa.BigInteger(), nullable=False),
        sa.Column("log_count", sa.BigInteger(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id"),
    )
    op.create_table(
        "evaluations",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("evaluation_id", sa.LargeBinary(), nullable=False),
        sa.Column("trace_id", sa.LargeBinary(), nullable=True),
        sa.Column("span_id", sa.LargeBinary(), nullable=True),
        sa.Column("response_id", sa.String(), nullable=True),
        sa.Column("time_ns", sa.BigInteger(), nullable=False),
        sa.Column("arrived_ns", sa.BigInteger(), nullable=False),
        sa.Column("due_at_ns", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project", "evaluation_id"),
    )
    op.create_index(
        "ix_evaluations_due",
        "evaluations",
        ["due_at_ns"],
        unique=False,
        sqlite_where=sa.text("due_at_ns IS NOT NULL"),
        postgresql_where=sa.text("due_at_ns IS NOT NULL"),
    )
    op.create_index("ix_evaluations_trace", "evaluations", ["project", "trace_id"], unique=False)
    op.create_index(
        "ix_traces_waiting",
        "traces",
        ["stage", "ready_at_ns"],
        unique=False,
        sqlite_where=sa.text("ready_at_ns IS NOT NULL"),
        postgresql_where=sa.text("ready_at_ns IS NOT NULL"),
    )
    if op.get_bind().dialect.name == "postgresql":
        # Its own compression costs more than all else of an insert, and a body is a few KB: kept in its row, as it is.
        for table in ("spans", "logs"):
            op.execute(f"ALTER TABLE {table} ALTER COLUMN body SET STORAGE EXTERNAL")
            op.execute(f"ALTER TABLE {table} SET (toast_tuple_target = 8160)")
        op.execute("ALTER TABLE compacted ALTER COLUMN body SET STORAGE EXTERNAL")  # it is compressed already


def downgrade() -> None:
    op.drop_table("evaluations")
    op.drop_table("compacted")
    op.drop_table("traces")
    op.drop_table("spans")
    op.drop_table("logs")
