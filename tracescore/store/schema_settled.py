"""The schema, continued: what is kept of settled traces, and what others said of them."""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, PrimaryKeyConstraint, Table
from sqlalchemy import text as sql

from tracescore.store.columns import hex_id, maybe_id, maybe_number, maybe_text, number, project, text
from tracescore.store.schema import SPANS, WORK

UNJOINED = sql("due_at_ns IS NOT NULL")

compacted = Table(  # what was stored of a trace when it was compacted; what came later lies in spans and logs again
    "compacted",
    SPANS,
    project(),
    hex_id("trace_id"),
    number("span_count"),
    number("log_count"),
    number("size_bytes"),  # before compression
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("project", "trace_id"),
)

evaluations = Table(  # results of others, apart from logs: they must not make a run unsettled again
    "evaluations",
    SPANS,
    project(),
    hex_id("evaluation_id"),
    maybe_id("trace_id"),
    maybe_id("span_id"),
    maybe_text("response_id"),
    number("time_ns"),
    number("arrived_ns"),
    maybe_number("due_at_ns"),  # when to look for its run: NULL where it is joined, or given up
    number("attempts"),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("project", "evaluation_id"),
    Index("ix_evaluations_due", "due_at_ns", sqlite_where=UNJOINED, postgresql_where=UNJOINED),
    Index("ix_evaluations_trace", "project", "trace_id"),
)

responses = Table(  # where a model's response is: results may name nothing else
    "responses",
    WORK,
    project(),
    text("response_id"),
    hex_id("trace_id"),
    PrimaryKeyConstraint("project", "response_id"),
)
