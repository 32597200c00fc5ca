"""Clients of vector stores: a query's results as span events ``db.query.result`` (OpenLLMetry's conventions)."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.dialects.form import Reading
from tracescore.dialects.results import document_of
from tracescore.model import LogRecord, Span

_EVENTS = ("db.query.result", "db.search.result")


class VectorStores:
    """Queries of Chroma, Pinecone, Qdrant, Milvus and the like."""

    marks = frozenset({"db"})
    names = ()
    content_prefixes = ()

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read the documents that a query found, one event each; ``None`` for other queries."""
        found = [
            {key.removeprefix(f"{event.name}."): value for key, value in event.attributes.items()}
            for event in span.events
            if event.name in _EVENTS
        ]
        if not found:
            return None
        documents = [document for item in found if (document := document_of(item)) is not None]
        return Reading(role="retrieval", generic=False, documents=tuple(documents))
