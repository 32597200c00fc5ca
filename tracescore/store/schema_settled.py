"""The schema, continued: what is kept of settled traces, and what others said of them."""

from __future__ import annotations

from sqlalchemy import Column, LargeBinary, PrimaryKeyConstraint, Table

from tracescore.store.columns import hex_id, number, project
from tracescore.store.schema import SPANS

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
