"""Runs: what is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias

from typing_extensions import TypeVar

from tracescore.model.cut import Cut
from tracescore.model.expectation import TrajectoryExpectation
from tracescore.model.message import JSONValue, Messages
from tracescore.model.target import Target
from tracescore.model.trajectory import Trajectory

InputT = TypeVar("InputT", default=Any)
OutputT = TypeVar("OutputT", default=Any)

RunKind: TypeAlias = Literal["agent", "trace", "session", "workflow", "step", "llm", "tool", "retrieval", "span"]
RunStatus: TypeAlias = Literal["ok", "error", "paused"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentInput:
    """What an agent was given: the new messages, what it remembered, and its system messages."""

    input_messages: Messages = field(default_factory=Messages)
    remembered_messages: Messages = field(default_factory=Messages)
    system_messages: Messages = field(default_factory=Messages)
    tagged_system_messages: Mapping[str, Messages] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Give the text of the input messages, joined by a newline."""
        return "\n".join(message.content for message in self.input_messages if message.content)


class AgentOutput(Messages):
    """What an agent produced: its messages in order, tool results folded into their calls."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievedDocument:
    """One document that a retrieval returned."""

    id: str | None = None
    text: str = ""
    score: float | None = None
    source: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of a run's own model calls; ``input`` is the total, cache reads and writes included.

    ``reasoning`` is a subset of ``output``. ``None`` where no span says.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Issue:
    """Something that could not be read, said and not guessed."""

    code: str
    detail: str
    span_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScorerRun(Generic[InputT, OutputT]):
    """What a scorer is given. Everything but ``output`` may be left out by a caller."""

    input: InputT = None  # type: ignore[assignment]  # a caller may have no input; its type then allows None
    output: OutputT = None  # type: ignore[assignment]  # the same
    run_id: str = ""
    ground_truth: Any = None
    expected_trajectory: Any = None
    request_context: Mapping[str, Any] = field(default_factory=dict)
    additional_context: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    target: Target | None = None
    kind: RunKind = "agent"
    status: RunStatus = "ok"
    contexts: tuple[RetrievedDocument, ...] = ()
    usage: Usage = field(default_factory=Usage)
    issues: tuple[Issue, ...] = ()
    agent_name: str | None = None
    model: str | None = None
    provider: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    service: str | None = None
    environment: str | None = None
    tags: tuple[str, ...] = ()
    attributes: Mapping[str, JSONValue] = field(default_factory=dict)
    """The attributes of the run's own span over those of its resource: what rules match by equality."""
    parent_run_id: str | None = None
    outermost: bool = True
    """False for an agent invocation inside another one, or handed over to."""
    start_ns: int = 0
    end_ns: int = 0
    cost: float | None = None
    trajectory: Trajectory | None = None
    """What was done step by step, nested, as the spans show it; None where only the messages are known."""
    cuts: tuple[Cut, ...] = ()
    """What filters cut from it, in order."""

    @property
    def trace_id(self) -> str | None:
        """Give the target's trace id."""
        return self.target.trace_id if self.target else None

    @property
    def span_id(self) -> str | None:
        """Give the target's span id."""
        return self.target.span_id if self.target else None


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentRun(ScorerRun[AgentInput, AgentOutput]):
    """A run whose input and output are an agent's."""

    input: AgentInput = field(default_factory=AgentInput)
    output: AgentOutput = field(default_factory=AgentOutput)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryRun(ScorerRun[AgentInput, Trajectory]):
    """A run whose output is the way that the agent took, beside what was expected of it."""

    input: AgentInput = field(default_factory=AgentInput)
    output: Trajectory = field(default_factory=Trajectory)
    expected_trajectory: TrajectoryExpectation | None = None
