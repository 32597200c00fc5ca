"""Gate an agent's own loop: is the task complete, and if not, what is left to do."""

from tracescore.completion.agents import Agent, AgentReply, ChatMessage
from tracescore.completion.check import is_task_complete, is_task_complete_sync
from tracescore.completion.loop import run_until_complete, run_until_complete_sync
from tracescore.completion.results import CompletionResult, CompletionVerdict, Strategy, TaskCompletion
from tracescore.completion.task import TaskResult, TaskStep

__all__ = [
    "Agent",
    "AgentReply",
    "ChatMessage",
    "CompletionResult",
    "CompletionVerdict",
    "Strategy",
    "TaskCompletion",
    "TaskResult",
    "TaskStep",
    "is_task_complete",
    "is_task_complete_sync",
    "run_until_complete",
    "run_until_complete_sync",
]
