"""The one schema. Two sets of tables: what servers write (spans) and what workers write (work).

Every row is led by its project. On SQLite each set is a file of its own, since claims beside full ingest in one file
fall to a seventh of their rate.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Index,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
)
from sqlalchemy import text as sql

from tracescore.store.columns import SERIAL, hex_id, maybe_id, maybe_number, maybe_text, number, project, text

SPANS = MetaData()
WORK = MetaData()

OPEN = sql("state IN ('pending', 'leased')")
"""What a partial index covers and its queries must repeat word for word: a bound value would not match it."""
STATE = "jobs.state || ''"
"""A job's state, where jobs are looked up by their ids or their run. The bare column would match the index of what is
open, and PostgreSQL reads all of that where it believes that next to nothing is: it last looked when all was done."""
WAITING = sql("ready_at_ns IS NOT NULL")
STAGES = {"assemble": 0, "drop": 1, "compact": 2}
CURRENT = sql("current_flag = 1")
PAUSED = sql("paused")


def _partial(name: str, *columns: str, where: object, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


# spans.db

spans = Table(
    "spans",
    SPANS,
    project(),
    hex_id("trace_id"),
    hex_id("span_id"),
    hex_id("copy_hash"),
    maybe_id("parent_span_id"),
    number("start_ns"),
    number("end_ns"),
    number("flags"),
    number("arrived_ns"),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("project", "trace_id", "span_id", "copy_hash"),
)

logs = Table(
    "logs",
    SPANS,
    project(),
    hex_id("trace_id"),
    hex_id("span_id"),
    hex_id("copy_hash"),
    number("time_ns"),
    number("arrived_ns"),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("project", "trace_id", "span_id", "copy_hash"),
)

traces = Table(
    "traces",
    SPANS,
    project(),
    hex_id("trace_id"),
    number("version"),
    number("first_arrival_ns"),
    number("last_arrival_ns"),
    maybe_number("ready_at_ns"),  # when to look at it next: NULL where there is nothing to wait for
    Column("complete", Boolean, nullable=False),
    Column("capped", Boolean, nullable=False),
    number("span_count"),
    number("log_count"),
    number("size_bytes"),
    Column("stage", SmallInteger, nullable=False),  # what is done at that time: STAGES
    PrimaryKeyConstraint("project", "trace_id"),
    _partial("ix_traces_waiting", "stage", "ready_at_ns", where=WAITING),
)

# work.db: runs

assemblies = Table(
    "assemblies",
    WORK,
    project(),
    text("settle_key"),
    number("version"),
    number("assembled_ns"),
    PrimaryKeyConstraint("project", "settle_key"),
)

counters = Table("counters", WORK, project(), text("name"), number("value"), PrimaryKeyConstraint("project", "name"))

runs = Table(
    "runs",
    WORK,
    project(),
    hex_id("run_id"),
    text("kind"),
    text("settle_key"),  # which set it is replaced with: its trace, its session, or none
    maybe_id("trace_id"),
    maybe_id("span_id"),
    maybe_id("parent_run_id"),
    maybe_text("session_id"),
    maybe_text("agent_name"),
    maybe_text("service"),
    maybe_text("environment"),
    text("status"),
    number("started_ns"),
    number("ended_ns"),
    number("first_arrival_ns"),
    Column("outermost", Boolean, nullable=False),
    Column("paused", Boolean, nullable=False),  # by its own spans, whether or not it was taken up elsewhere
    text("content_hash"),
    text("plan_hash"),
    number("revision"),
    Column("withdrawn", Boolean, nullable=False),
    maybe_number("seq"),  # NULL where no planner is to see it
    number("seen_states"),
    number("created_ns"),
    number("updated_ns"),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("project", "run_id"),
    Index("ix_runs_seq", "project", "seq", unique=True),
    Index("ix_runs_settle_key", "project", "settle_key"),
    Index("ix_runs_trace", "project", "trace_id"),
    Index("ix_runs_created", "project", "created_ns", "run_id"),
    _partial("ix_runs_paused", "project", "session_id", where=PAUSED),
    _partial("ix_runs_session", "project", "session_id", where=sql("session_id IS NOT NULL")),
)

prepared_runs = Table(  # what an app's or a rule's prepare_run left of a run, where that is not the run itself
    "prepared_runs",
    WORK,
    project(),
    hex_id("run_id"),
    text("planned_hash"),
    number("created_ns"),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("project", "run_id", "planned_hash"),
)

# work.db: jobs

jobs = Table(
    "jobs",
    WORK,
    project(),
    hex_id("job_id"),
    text("app"),
    hex_id("run_id"),
    number("revision"),
    text("scorer_id"),
    text("scorer_version"),
    number("generation"),
    text("planned_hash"),
    Column("probability", Float, nullable=False),
    text("rule_set"),
    text("source"),
    Column("queue", SmallInteger, nullable=False),  # 0 live, 1 backfill: the order in which they go
    text("state"),
    number("due_at_ns"),  # when it may be claimed; where it is leased, when the lease ends
    maybe_text("leased_by"),
    number("token", default=0),  # counts claims: only the newest may finish
    number("leases_taken", default=0),
    number("lone_deaths", default=0),
    number("attempts", default=0),
    number("deferrals", default=0),
    Column("reserved_cost", Float, nullable=True),
    maybe_text("error"),
    maybe_id("batch_id"),
    maybe_id("score_id"),
    number("created_ns"),
    maybe_number("finished_ns"),
    PrimaryKeyConstraint("job_id"),
    # The id at the end makes the index enough for a claim to choose by.
    _partial("ix_jobs_open", "project", "scorer_id", "scorer_version", "queue", "due_at_ns", "job_id", where=OPEN),
    Index("ix_jobs_run", "project", "run_id", "scorer_id"),
    _partial("ix_jobs_batch", "batch_id", where=sql("batch_id IS NOT NULL")),
)

replies = Table(
    "replies",
    WORK,
    hex_id("job_id"),
    text("step"),
    text("prompt_hash"),
    Column("reply", LargeBinary, nullable=False),
    PrimaryKeyConstraint("job_id", "step", "prompt_hash"),
)

# work.db: scores

scores = Table(
    "scores",
    WORK,
    project(),
    hex_id("score_id"),
    maybe_id("parent_id"),  # the main row of a sub-score
    text("name"),  # empty for the main row
    hex_id("score_key"),
    maybe_id("job_id"),
    hex_id("run_id"),
    number("revision"),
    number("standing_revision"),  # the newest revision that it is known to hold for
    maybe_id("trace_id"),
    maybe_id("span_id"),
    text("scorer_id"),
    text("scorer_version"),
    number("generation"),
    text("outcome"),
    Column("score", Float, nullable=True),
    maybe_text("reason"),
    maybe_text("reason_error"),
    maybe_text("error_type"),
    maybe_text("failed_step"),
    Column("transient", Boolean, nullable=False),
    Column("range_low", Float, nullable=True),
    Column("range_high", Float, nullable=True),
    Column("higher_is_better", Boolean, nullable=False),
    Column("counted", Boolean, nullable=False),  # false stays out of production means
    Column("probability", Float, nullable=False),
    text("rule_set"),
    text("source"),
    text("judged_hash"),
    Column("cost", Float, nullable=True),
    Column("duration_ms", Float, nullable=True),
    Column("current_flag", SmallInteger, nullable=False),
    number("created_ns"),
    PrimaryKeyConstraint("score_id"),
    _partial("ux_scores_current", "project", "run_id", "scorer_id", "name", where=CURRENT, unique=True),
    Index("ix_scores_run", "project", "run_id", "scorer_id"),
    Index("ix_scores_trace", "project", "trace_id"),
    Index("ix_scores_created", "project", "created_ns", "score_id"),
)

evidence = Table(  # apart from the scores, so that these stay narrow to read
    "evidence",
    WORK,
    project(),
    hex_id("score_id"),
    Column("body", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),  # of the body as it was written: a replay tells whether it still is
    PrimaryKeyConstraint("score_id"),
)

outbox = Table(
    "outbox",
    WORK,
    Column("id", SERIAL, primary_key=True, autoincrement=True),
    project(),
    text("sink"),
    hex_id("score_id"),
    number("due_at_ns"),
    number("attempts", default=0),
    maybe_text("error"),
    number("created_ns"),
    Index("ix_outbox_due", "sink", "due_at_ns"),
    sqlite_autoincrement=True,  # an id is never used again: a late "done" must not hit another delivery
)

# work.db: planning

cursors = Table("cursors", WORK, project(), text("app"), number("seq"), PrimaryKeyConstraint("project", "app"))

rule_sets = Table(
    "rule_sets",
    WORK,
    project(),
    text("app"),
    text("rule_set"),
    text("spec"),
    number("first_seen_ns"),
    PrimaryKeyConstraint("project", "app", "rule_set"),
)

rules = Table(
    "rules",
    WORK,
    project(),
    text("app"),
    text("rule_hash"),
    number("first_seen_ns"),
    PrimaryKeyConstraint("project", "app", "rule_hash"),
)

decision_counts = Table(
    "decision_counts",
    WORK,
    project(),
    text("rule_set"),
    text("scorer_id"),
    number("hour"),
    text("outcome"),
    number("count"),
    maybe_text("example"),  # the newest run that it happened to, with its reason
    PrimaryKeyConstraint("project", "rule_set", "scorer_id", "hour", "outcome"),
)

budgets = Table(
    "budgets",
    WORK,
    project(),
    text("scope"),  # a scorer's id, or empty for the project
    number("day"),
    Column("reserved", Float, nullable=False),
    Column("spent", Float, nullable=False),
    PrimaryKeyConstraint("project", "scope", "day"),
)

# work.db: processes

workers = Table(
    "workers",
    WORK,
    text("worker"),
    Column("info", LargeBinary, nullable=False),
    number("started_ns"),
    number("seen_ns"),
    PrimaryKeyConstraint("worker"),
)

offers = Table(
    "offers",
    WORK,
    project(),
    text("app"),
    text("worker"),
    text("scorer_id"),
    text("scorer_version"),
    Column("range_low", Float, nullable=True),
    Column("range_high", Float, nullable=True),
    Column("higher_is_better", Boolean, nullable=False),
    Column("needs_judge", Boolean, nullable=False),
    text("reads"),  # words separated by commas
    text("description"),
    number("first_seen_ns"),
    number("seen_ns"),
    PrimaryKeyConstraint("project", "app", "worker", "scorer_id", "scorer_version"),
)

leases = Table("leases", WORK, text("name"), text("holder"), number("until_ns"), PrimaryKeyConstraint("name"))

batches = Table(
    "batches",
    WORK,
    project(),
    hex_id("batch_id"),
    text("kind"),
    text("state"),
    maybe_text("spec"),
    number("created_ns"),
    PrimaryKeyConstraint("batch_id"),
)

batch_items = Table(
    "batch_items",
    WORK,
    project(),
    hex_id("batch_id"),
    number("position"),
    maybe_id("trace_id"),
    maybe_id("span_id"),
    maybe_id("run_id"),
    maybe_id("job_id"),
    maybe_text("outcome"),
    maybe_text("reason"),
    PrimaryKeyConstraint("batch_id", "position"),
)

# work.db: tenants

tokens = Table(
    "tokens",
    WORK,
    project(),
    hex_id("token_id"),  # the public part: what a token is looked up by
    text("kind"),
    text("name"),
    Column("secret_hash", LargeBinary, nullable=False),
    number("created_ns"),
    maybe_number("last_used_ns"),
    maybe_number("revoked_ns"),
    PrimaryKeyConstraint("token_id"),
)
