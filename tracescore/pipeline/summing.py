"""What several runs come to together: usage, cost and documents."""

from __future__ import annotations

from collections.abc import Sequence

from tracescore.model import AgentRun, RetrievedDocument, Usage

_TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")


def usage_of_all(runs: Sequence[AgentRun]) -> Usage:
    """Sum the tokens; None where no run states any."""
    summed: dict[str, int | None] = {}
    for name in _TOKENS:
        known = [count for run in runs if (count := getattr(run.usage, name)) is not None]
        summed[name] = sum(known) if known else None
    return Usage(**summed)


def cost_of_all(runs: Sequence[AgentRun]) -> float | None:
    """Sum the cost; None where no run states any."""
    known = [run.cost for run in runs if run.cost is not None]
    return sum(known) if known else None


def documents_of_all(runs: Sequence[AgentRun]) -> tuple[RetrievedDocument, ...]:
    """Give the documents of all runs, each once."""
    found: dict[tuple[str | None, str], RetrievedDocument] = {}
    for run in runs:
        for document in run.contexts:
            found.setdefault((document.id, document.text), document)
    return tuple(found.values())
