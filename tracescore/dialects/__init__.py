"""Dialects: how instrumentations write agent runs into spans, read into one common form."""

from tracescore.dialects.content import Content
from tracescore.dialects.form import Dialect, DialectSet, Reading, SpanRole, combine
from tracescore.dialects.genai import GenAI
from tracescore.dialects.generic import Generic
from tracescore.dialects.openinference import OpenInference
from tracescore.dialects.said import Said, ToolResult

KNOWN_DIALECTS = DialectSet(dialects=(OpenInference(), GenAI(), Generic()))
"""Every dialect that tracescore reads, in the order of precedence."""

__all__ = [
    "KNOWN_DIALECTS",
    "Content",
    "Dialect",
    "DialectSet",
    "GenAI",
    "Generic",
    "OpenInference",
    "Reading",
    "Said",
    "SpanRole",
    "ToolResult",
    "combine",
]
