"""tracescore: score what LLM agents really did, from the OpenTelemetry spans they already emit.

The names are found when they are first used: a command that needs no scorer should not wait for the judge's libraries.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracescore.app import TraceScore, load_app
    from tracescore.errors import (
        ConfigurationError,
        InputError,
        JudgeError,
        JudgeRefused,
        JudgeReplyError,
        JudgeTransientError,
        ScorerError,
        StoreError,
        StoreUnavailable,
        TracescoreError,
    )
    from tracescore.exporter import TraceScoreSpanExporter
    from tracescore.judge import UNSET, Judge, JudgeModel, JudgeReply, JudgeRequest
    from tracescore.model import (
        AgentInput,
        AgentOutput,
        AgentRun,
        DataPart,
        ErrorPart,
        Evidence,
        Issue,
        JSONValue,
        JudgeCall,
        LogRecord,
        MediaPart,
        Message,
        Messages,
        NotScorable,
        ReasoningPart,
        RetrievedDocument,
        Score,
        ScoreFailure,
        ScoreOutcome,
        ScorerRun,
        Span,
        SpanEvent,
        SpanLink,
        SubScore,
        Target,
        TextPart,
        ToolCall,
        ToolInvocationPart,
        Trace,
        Usage,
        text_message,
    )
    from tracescore.pipeline.rules import Rule
    from tracescore.scorers import (
        CalculateContext,
        PreparedRun,
        ReasonContext,
        RunFilter,
        Scorer,
        ScoreValue,
        StepContext,
        StepResults,
        create_scorer,
        filter_run,
        not_scorable,
        scorer,
    )

__all__ = [
    "UNSET",
    "AgentInput",
    "AgentOutput",
    "AgentRun",
    "CalculateContext",
    "ConfigurationError",
    "DataPart",
    "ErrorPart",
    "Evidence",
    "InputError",
    "Issue",
    "JSONValue",
    "Judge",
    "JudgeCall",
    "JudgeError",
    "JudgeModel",
    "JudgeRefused",
    "JudgeReply",
    "JudgeReplyError",
    "JudgeRequest",
    "JudgeTransientError",
    "LogRecord",
    "MediaPart",
    "Message",
    "Messages",
    "NotScorable",
    "PreparedRun",
    "ReasonContext",
    "ReasoningPart",
    "RetrievedDocument",
    "Rule",
    "RunFilter",
    "Score",
    "ScoreFailure",
    "ScoreOutcome",
    "ScoreValue",
    "Scorer",
    "ScorerError",
    "ScorerRun",
    "Span",
    "SpanEvent",
    "SpanLink",
    "StepContext",
    "StepResults",
    "StoreError",
    "StoreUnavailable",
    "SubScore",
    "Target",
    "TextPart",
    "ToolCall",
    "ToolInvocationPart",
    "Trace",
    "TraceScore",
    "TraceScoreSpanExporter",
    "TracescoreError",
    "Usage",
    "create_scorer",
    "filter_run",
    "load_app",
    "not_scorable",
    "scorer",
    "text_message",
]

_HOMES = ("errors", "model", "judge", "scorers", "pipeline.rules", "app", "exporter")
"""The modules that hold the names, the ones that import least first."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"tracescore.{home}")
            if hasattr(module, name):
                globals()[name] = value = getattr(module, name)
                return value
    raise AttributeError(f"module 'tracescore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
