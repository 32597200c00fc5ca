"""tracescore: score what LLM agents really did, from the OpenTelemetry spans they already emit.

The names are found when they are first used: a command that needs no scorer should not wait for the judge's libraries.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracescore.app import TraceScore, load_app
    from tracescore.completion import (
        CompletionResult,
        TaskCompletion,
        TaskResult,
        TaskStep,
        is_task_complete,
        is_task_complete_sync,
        run_until_complete,
        run_until_complete_sync,
    )
    from tracescore.errors import (
        ConfigurationError,
        InputError,
        JudgeCallRejected,
        JudgeError,
        JudgeRefused,
        JudgeReplyCutOff,
        JudgeReplyError,
        JudgeReplyNotFinite,
        JudgeReplyRefusal,
        JudgeReplyTruncated,
        JudgeSettingRefused,
        JudgeTransientError,
        RedactionFailed,
        ScorerError,
        StoreError,
        StoreUnavailable,
        TracescoreError,
    )
    from tracescore.judge import (
        UNSET,
        ErrorProcessor,
        InputProcessor,
        Judge,
        JudgeModel,
        JudgeReply,
        JudgeRequest,
        OutputProcessor,
        RetryAttempt,
        RetryPolicy,
        StreamErrorRetryProcessor,
    )
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
        RawReply,
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
    from tracescore.prebuilt import RubricCriterion, create_rubric_scorer
    from tracescore.scorers import (
        AskingContext,
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
    "AskingContext",
    "CalculateContext",
    "CompletionResult",
    "ConfigurationError",
    "DataPart",
    "ErrorPart",
    "ErrorProcessor",
    "Evidence",
    "InputError",
    "InputProcessor",
    "Issue",
    "JSONValue",
    "Judge",
    "JudgeCall",
    "JudgeCallRejected",
    "JudgeError",
    "JudgeModel",
    "JudgeRefused",
    "JudgeReply",
    "JudgeReplyCutOff",
    "JudgeReplyError",
    "JudgeReplyNotFinite",
    "JudgeReplyRefusal",
    "JudgeReplyTruncated",
    "JudgeRequest",
    "JudgeSettingRefused",
    "JudgeTransientError",
    "LogRecord",
    "MediaPart",
    "Message",
    "Messages",
    "NotScorable",
    "OutputProcessor",
    "PreparedRun",
    "RawReply",
    "ReasonContext",
    "ReasoningPart",
    "RedactionFailed",
    "RetrievedDocument",
    "RetryAttempt",
    "RetryPolicy",
    "RubricCriterion",
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
    "StreamErrorRetryProcessor",
    "SubScore",
    "Target",
    "TaskCompletion",
    "TaskResult",
    "TaskStep",
    "TextPart",
    "ToolCall",
    "ToolInvocationPart",
    "Trace",
    "TraceScore",
    "TracescoreError",
    "Usage",
    "create_rubric_scorer",
    "create_scorer",
    "filter_run",
    "is_task_complete",
    "is_task_complete_sync",
    "load_app",
    "not_scorable",
    "run_until_complete",
    "run_until_complete_sync",
    "scorer",
    "text_message",
]

_HOMES = ("errors", "model", "judge", "scorers", "prebuilt", "completion", "pipeline.rules", "app")
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
