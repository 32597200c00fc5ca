"""Runs, jobs, scores and what processes tell each other: the first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "assemblies",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("settle_key", sa.String(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("assembled_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "settle_key"),
    )
    op.create_table(
        "backfills",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("batch_id", sa.LargeBinary(), nullable=False),
        sa.Column("scorer_id", sa.String(), nullable=False),
        sa.Column("scorer_version", sa.String(), nullable=False),
        sa.Column("spec", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("mark_ns", sa.BigInteger(), nullable=False),
        sa.Column("mark_id", sa.LargeBinary(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.Column("planned", sa.BigInteger(), nullable=False),
        sa.Column("skipped", sa.BigInteger(), nullable=False),
        sa.Column("left_out", sa.BigInteger(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("batch_id"),
    )
    op.create_index(
        "ix_backfills_planning",
        "backfills",
        ["project", "created_ns"],
        unique=False,
        sqlite_where=sa.text("state = 'planning'"),
        postgresql_where=sa.text("state = 'planning'"),
    )
    op.create_table(
        "offered_versions",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("scorer_id", sa.String(), nullable=False),
        sa.Column("scorer_version", sa.String(), nullable=False),
        sa.Column("since_ns", sa.BigInteger(), nullable=False),
        sa.Column("seen_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "scorer_id", "scorer_version"),
    )
    op.create_table(
        "described_versions",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("scorer_id", sa.String(), nullable=False),
        sa.Column("scorer_version", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project", "scorer_id", "scorer_version"),
    )
    op.create_table(
        "batch_items",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("batch_id", sa.LargeBinary(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("trace_id", sa.LargeBinary(), nullable=True),
        sa.Column("span_id", sa.LargeBinary(), nullable=True),
        sa.Column("run_id", sa.LargeBinary(), nullable=True),
        sa.Column("job_id", sa.LargeBinary(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("batch_id", "position"),
    )
    op.create_table(
        "batches",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("batch_id", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("spec", sa.String(), nullable=True),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("batch_id"),
    )
    op.create_table(
        "budgets",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("reserved", sa.Float(), nullable=False),
        sa.Column("spent", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("project", "scope", "day"),
    )
    op.create_table(
        "counters",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "name"),
    )
    op.create_table(
        "cursors",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("app", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "app"),
    )
    op.create_table(
        "decision_counts",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("rule_set", sa.String(), nullable=False),
        sa.Column("scorer_id", sa.String(), nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("example", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("project", "rule_set", "scorer_id", "hour", "outcome"),
    )
    op.create_table(
        "evidence",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("score_id", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("score_id"),
    )
    op.create_table(
        "jobs",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("app", sa.String(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("scorer_id", sa.String(), nullable=False),
        sa.Column("scorer_version", sa.String(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("planned_hash", sa.String(), nullable=False),
        sa.Column("probability", sa.Float(), nullable=False),
        sa.Column("rule_set", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("queue", sa.SmallInteger(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("due_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("leased_by", sa.String(), nullable=True),
        sa.Column("token", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("leases_taken", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("lone_deaths", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("deferrals", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("reserved_cost", sa.Float(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("batch_id", sa.LargeBinary(), nullable=True),
        sa.Column("score_id", sa.LargeBinary(), nullable=True),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("finished_ns", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("job_id"),
    )
    op.create_index(
        "ix_jobs_batch",
        "jobs",
        ["batch_id"],
        unique=False,
        sqlite_where=sa.text("batch_id IS NOT NULL"),
        postgresql_where=sa.text("batch_id IS NOT NULL"),
    )
    op.create_index(
        "ix_jobs_open",
        "jobs",
        ["project", "scorer_id", "scorer_version", "queue", "due_at_ns", "job_id"],
        unique=False,
        sqlite_where=sa.text("state IN ('pending', 'leased')"),
        postgresql_where=sa.text("state IN ('pending', 'leased')"),
    )
    op.create_index("ix_jobs_run", "jobs", ["project", "run_id", "scorer_id"], unique=False)
    op.create_table(
        "leases",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("until_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "offers",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("app", sa.String(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("scorer_id", sa.String(), nullable=False),
        sa.Column("scorer_version", sa.String(), nullable=False),
        sa.Column("range_low", sa.Float(), nullable=True),
        sa.Column("range_high", sa.Float(), nullable=True),
        sa.Column("higher_is_better", sa.Boolean(), nullable=False),
        sa.Column("needs_judge", sa.Boolean(), nullable=False),
        sa.Column("reads", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("first_seen_ns", sa.BigInteger(), nullable=False),
        sa.Column("seen_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "app", "worker", "scorer_id", "scorer_version"),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("sink", sa.String(), nullable=False),
        sa.Column("score_id", sa.LargeBinary(), nullable=False),
        sa.Column("due_at_ns", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_due", "outbox", ["sink", "due_at_ns"], unique=False)
    op.create_table(
        "prepared_runs",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("planned_hash", sa.String(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project", "run_id", "planned_hash"),
    )
    op.create_table(
        "replies",
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("prompt_hash", sa.String(), nullable=False),
        sa.Column("reply", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "step", "prompt_hash"),
    )
    op.create_table(
        "rule_sets",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("app", sa.String(), nullable=False),
        sa.Column("rule_set", sa.String(), nullable=False),
        sa.Column("spec", sa.String(), nullable=False),
        sa.Column("first_seen_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "app", "rule_set"),
    )
    op.create_table(
        "rules",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("app", sa.String(), nullable=False),
        sa.Column("rule_hash", sa.String(), nullable=False),
        sa.Column("first_seen_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "app", "rule_hash"),
    )
    op.create_table(
        "runs",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("settle_key", sa.String(), nullable=False),
        sa.Column("trace_id", sa.LargeBinary(), nullable=True),
        sa.Column("span_id", sa.LargeBinary(), nullable=True),
        sa.Column("parent_run_id", sa.LargeBinary(), nullable=True),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("agent_name", sa.String(), nullable=True),
        sa.Column("service", sa.String(), nullable=True),
        sa.Column("environment", sa.String(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("started_ns", sa.BigInteger(), nullable=False),
        sa.Column("ended_ns", sa.BigInteger(), nullable=False),
        sa.Column("first_arrival_ns", sa.BigInteger(), nullable=False),
        sa.Column("outermost", sa.Boolean(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("plan_hash", sa.String(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("withdrawn", sa.Boolean(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("seen_states", sa.BigInteger(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_ns", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project", "run_id"),
    )
    op.create_index("ix_runs_created", "runs", ["project", "created_ns", "run_id"], unique=False)
    op.create_index("ix_runs_seq", "runs", ["project", "seq"], unique=True)
    paused = sa.text("paused")
    op.create_index("ix_runs_paused", "runs", ["project", "session_id"], sqlite_where=paused, postgresql_where=paused)
    named = sa.text("session_id IS NOT NULL")
    op.create_index("ix_runs_session", "runs", ["project", "session_id"], sqlite_where=named, postgresql_where=named)
    op.create_index("ix_runs_settle_key", "runs", ["project", "settle_key"], unique=False)
    op.create_index("ix_runs_trace", "runs", ["project", "trace_id"], unique=False)
    op.create_table(
        "scores",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("score_id", sa.LargeBinary(), nullable=False),
        sa.Column("parent_id", sa.LargeBinary(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("score_key", sa.LargeBinary(), nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=True),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("standing_revision", sa.BigInteger(), nullable=False),
        sa.Column("trace_id", sa.LargeBinary(), nullable=True),
        sa.Column("span_id", sa.LargeBinary(), nullable=True),
        sa.Column("scorer_id", sa.String(), nullable=False),
        sa.Column("scorer_version", sa.String(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("reason_error", sa.String(), nullable=True),
        sa.Column("error_type", sa.String(), nullable=True),
        sa.Column("failed_step", sa.String(), nullable=True),
        sa.Column("transient", sa.Boolean(), nullable=False),
        sa.Column("range_low", sa.Float(), nullable=True),
        sa.Column("range_high", sa.Float(), nullable=True),
        sa.Column("higher_is_better", sa.Boolean(), nullable=False),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("probability", sa.Float(), nullable=False),
        sa.Column("rule_set", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("judged_hash", sa.String(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("duration_ms", sa.Float(), nullable=True),
        sa.Column("current_flag", sa.SmallInteger(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("score_id"),
    )
    op.create_index("ix_scores_created", "scores", ["project", "created_ns", "score_id"], unique=False)
    op.create_index("ix_scores_run", "scores", ["project", "run_id", "scorer_id"], unique=False)
    op.create_index("ix_scores_trace", "scores", ["project", "trace_id"], unique=False)
    op.create_index(
        "ux_scores_current",
        "scores",
        ["project", "run_id", "scorer_id", "name"],
        unique=True,
        sqlite_where=sa.text("current_flag = 1"),
        postgresql_where=sa.text("current_flag = 1"),
    )
    op.create_table(
        "workers",
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("info", sa.LargeBinary(), nullable=False),
        sa.Column("started_ns", sa.BigInteger(), nullable=False),
        sa.Column("seen_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("worker"),
    )
    op.create_table(
        "tokens",
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("token_id", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_used_ns", sa.BigInteger(), nullable=True),
        sa.Column("revoked_ns", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("token_id"),
    )


def downgrade() -> None:
    op.drop_table("tokens")
    op.drop_table("workers")
    op.drop_table("scores")
    op.drop_table("runs")
    op.drop_table("rules")
    op.drop_table("rule_sets")
    op.drop_table("replies")
    op.drop_table("prepared_runs")
    op.drop_table("outbox")
    op.drop_table("offers")
    op.drop_table("leases")
    op.drop_table("jobs")
    op.drop_table("evidence")
    op.drop_table("decision_counts")
    op.drop_table("cursors")
    op.drop_table("counters")
    op.drop_table("budgets")
    op.drop_table("described_versions")
    op.drop_table("offered_versions")
    op.drop_table("batches")
    op.drop_index("ix_backfills_planning", table_name="backfills")
    op.drop_table("backfills")
    op.drop_table("batch_items")
    op.drop_table("assemblies")
