"""Runs: what is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, get_args

from typing_extensions import TypeVar

from tracescore.model.cut import Cut
from tracescore.model.expectation import TrajectoryExpectation
from tracescore.model.message import JSONValue, Messages
from tracescore.model.target import Target
from tracescore.model.trajectory import Trajectory

InputT = TypeVar("InputT", default=Any)
OutputT = TypeVar("OutputT", default=Any)

RunKind: TypeAlias = Literal["agent", "trace", "session", "workflow", "step", "llm", "tool", "retrieval", "span"]
RUN_KINDS: tuple[RunKind, ...] = get_args(RunKind)
PART_KINDS: tuple[RunKind, ...] = ("workflow", "step", "llm", "tool", "retrieval", "span")
"""Kinds that are single spans of a trace: stored only where a rule asks for them."""
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
    """What an agent produced: its messages in order, tool results folded into their calls.

    In a chat whose turns share one trace without an agent's span, what the user said later stands between the answers.
    """

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
    """What a scorer is given. Everything but ``output`` may be left out by a caller.

    What ``input`` and ``output`` hold depends on ``kind``: of an ``agent``, a ``trace`` and a ``session`` the messages
    (see ``AgentRun``); of an ``llm`` call the ``Messages`` that were sent and answered; of a ``tool`` its arguments and
    its result, ``{"error": ...}`` where it failed without one; of a ``retrieval`` the query and a list of documents,
    which are in ``contexts`` too; of a ``workflow``, a ``step`` and any other ``span`` the values that it records, as
    ``Messages`` where these are messages.
    """

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
    error: str | None = None
    """Why it failed, as its spans say; None where they do not, and wherever ``status`` is not ``error``."""
    contexts: tuple[RetrievedDocument, ...] = ()
    usage: Usage = field(default_factory=Usage)
    issues: tuple[Issue, ...] = ()
    agent_name: str | None = None
    """The agent; of a part of an agent's run (a model call, a tool), the agent that it belongs to."""
    name: str | None = None
    """What ran, where that is no agent: the tool, the workflow or step, the span."""
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
    resumed_in: tuple[str, ...] = ()
    """The ids of the runs, in traces of their own, that took it up after a pause: what they produced is in it."""
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
    """A run whose input and output are an agent's.

    Of a session, ``input`` and ``output`` are the last turn's; the turns before it are remembered, in order.
    """

    input: AgentInput = field(default_factory=AgentInput)
    output: AgentOutput = field(default_factory=AgentOutput)

    @property
    def conversation(self) -> Messages:
        """Give all that was said, in order: remembered, input and output, without system messages."""
        return Messages([*self.input.remembered_messages, *self.input.input_messages, *self.output])


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryRun(ScorerRun[AgentInput, Trajectory]):
    """A run whose output is the way that the agent took, beside what was expected of it."""

    input: AgentInput = field(default_factory=AgentInput)
    output: Trajectory = field(default_factory=Trajectory)
    expected_trajectory: TrajectoryExpectation | None = None
