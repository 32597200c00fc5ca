"""Conversations, kinds of runs that are asked for, and what results of others may call a trace by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "asked_kinds",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("app", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("seen_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "app", "kind"),
    )
    op.create_table(
        "sessions",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("ready_at_ns", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("project", "session_id"),
    )
    due = sa.text("ready_at_ns IS NOT NULL")
    op.create_index("ix_sessions_due", "sessions", ["ready_at_ns"], sqlite_where=due, postgresql_where=due)
    op.create_table(
        "responses",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("response_id", sa.String(), nullable=False),
        sa.Column("trace_id", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project", "response_id"),
    )


def downgrade() -> None:
    op.drop_table("responses")
    op.drop_index("ix_sessions_due", table_name="sessions")
    op.drop_table("sessions")
    op.drop_table("asked_kinds")
