"""Dialects: how instrumentations write agent runs into spans, read into one common form."""

from tracescore.dialects.agentcore import AgentCore
from tracescore.dialects.agentops import AgentOps
from tracescore.dialects.associations import Associations
from tracescore.dialects.capture import Capture, capture_of
from tracescore.dialects.claude_code import ClaudeCode
from tracescore.dialects.content import Content
from tracescore.dialects.foreign import Foreign
from tracescore.dialects.form import Dialect, DialectSet, Reading, SpanRole, combine
from tracescore.dialects.gemini_cli import GeminiCLI
from tracescore.dialects.genai import GenAI
from tracescore.dialects.generic import Generic
from tracescore.dialects.genkit import Genkit
from tracescore.dialects.google_adk import GoogleADK
from tracescore.dialects.haystack import Haystack
from tracescore.dialects.laminar import Laminar
from tracescore.dialects.langfuse import Langfuse
from tracescore.dialects.langsmith import LangSmith
from tracescore.dialects.litellm import LiteLLM
from tracescore.dialects.livekit import LiveKit
from tracescore.dialects.logfire import Logfire
from tracescore.dialects.mastra import Mastra
from tracescore.dialects.mlflow import MLflow
from tracescore.dialects.openinference import OpenInference
from tracescore.dialects.pipecat import Pipecat
from tracescore.dialects.pydantic_ai import PydanticAI
from tracescore.dialects.said import Said, ToolResult
from tracescore.dialects.sentry import Sentry
from tracescore.dialects.spring_ai import SpringAI
from tracescore.dialects.traceai import TraceAI
from tracescore.dialects.traceloop import Traceloop
from tracescore.dialects.vector_stores import VectorStores
from tracescore.dialects.vercel_ai import VercelAI
from tracescore.dialects.voltagent import VoltAgent

_DIALECTS = (
    Associations(),
    Langfuse(),
    Mastra(),
    GoogleADK(),
    Haystack(),
    Logfire(),
    ClaudeCode(),
    LiteLLM(),
    LiveKit(),
    VoltAgent(),
    GeminiCLI(),
    TraceAI(),
    OpenInference(),
    MLflow(),
    Laminar(),
    AgentOps(),
    VercelAI(),
    GenAI(),
    Sentry(),
    SpringAI(),
    PydanticAI(),
    Traceloop(),
    LangSmith(),
    Genkit(),
    AgentCore(),
    Pipecat(),
    VectorStores(),
    Generic(),
)
_WORDS = frozenset(
    {"llm", "tool", "input", "output", "span", "entity", "conversation", "session", "user", "enduser", "db"}
)
"""First words of attributes that any library may use, also one that no dialect knows."""
_NAMESPACES = frozenset(mark.partition(".")[0] for dialect in _DIALECTS[:-1] for mark in dialect.marks or ("gen_ai",))
KNOWN_DIALECTS = DialectSet(
    dialects=_DIALECTS,
    foreign=Foreign(known=_NAMESPACES - _WORDS),
    namespaces=_NAMESPACES - _WORDS,
)
"""Every dialect that tracescore reads, in the order of precedence."""

__all__ = [
    "KNOWN_DIALECTS",
    "Capture",
    "Content",
    "Dialect",
    "DialectSet",
    "Generic",
    "Reading",
    "Said",
    "SpanRole",
    "ToolResult",
    "capture_of",
    "combine",
]
