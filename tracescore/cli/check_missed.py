"""What ``doctor`` says of runs that came before the rules were seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracescore.cli.check import Check

if TYPE_CHECKING:
    from tracescore.app import TraceScore
    from tracescore.store import Store


async def check_missed(store: Store, project: str, app: TraceScore | None) -> Check:
    """Tell of stored runs that no rule scores, since they were there before it."""
    from tracescore.cli.screen import counted
    from tracescore.pipeline.missed import MOST, missed_runs

    missed = await missed_runs(store, project, app=app)
    if not missed:
        return Check(name="rules", state="ok", message="no run came before the rules were seen")
    runs = max(one.runs for one in missed)
    said = f"{runs} runs or more" if runs >= MOST else counted(runs, "run")
    names = ", ".join(one.scorer_id for one in missed)
    return Check(
        name="rules",
        state="warn",
        message=f"{said} came before the rules were seen, and are not scored by themselves ({names})",
        todo=f"tracescore backfill --scorer {missed[0].scorer_id}{' (and each of the others)' if missed[1:] else ''}",
    )
