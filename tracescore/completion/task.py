"""What came of a task that an agent was to complete."""

from __future__ import annotations

from dataclasses import dataclass

from tracescore.completion.results import TaskCompletion
from tracescore.model import AgentOutput, AgentRun, Messages


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskStep:
    """One call of the agent: what it produced, and what the check of all that it did so far said. ``number`` from 1."""

    number: int
    output: AgentOutput
    completion: TaskCompletion


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """What an agent made of a task, step by step; true where the task is complete."""

    run: AgentRun
    """The run that was scored last: the task, and everything that the agent produced."""
    steps: tuple[TaskStep, ...]
    messages: Messages
    """The whole conversation: the task, what the agent produced, and the feedback unless it was suppressed."""

    @property
    def completion(self) -> TaskCompletion:
        """Give what the last check said."""
        return self.steps[-1].completion

    @property
    def complete(self) -> bool:
        """Tell whether the task is complete."""
        return self.completion.complete

    @property
    def output(self) -> AgentOutput:
        """Give what the agent produced in its last step."""
        return self.steps[-1].output

    @property
    def text(self) -> str:
        """Give the agent's final text."""
        return self.output.text

    def __bool__(self) -> bool:
        return self.complete
