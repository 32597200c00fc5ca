"""Tools for tests of scorers: judges without a model, runs and traces in a line, a stand-in for an endpoint."""

from tracescore.judge import MemoryReplies
from tracescore.testing.judges import FakeJudge, JudgeRecorder, RecordedCall
from tracescore.testing.minimal import minimal_value
from tracescore.testing.replies import ModelCall, ModelReply
from tracescore.testing.runs import run, tool
from tracescore.testing.stand_in import ModelServer
from tracescore.testing.traces import AgentSpans, agent, runs_of, trace

__all__ = [
    "AgentSpans",
    "FakeJudge",
    "JudgeRecorder",
    "MemoryReplies",
    "ModelCall",
    "ModelReply",
    "ModelServer",
    "RecordedCall",
    "agent",
    "minimal_value",
    "run",
    "runs_of",
    "tool",
    "trace",
]
