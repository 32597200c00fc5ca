"""When a run is settled: nothing is judged half-seen, and nothing waits for what will not come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tracescore.pipeline.assembly import AssembledRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """Whether a run is ready, and when to look again where it is not."""

    ready: bool
    next_check_ns: int | None = None


def settle(assembled: AssembledRun[Any], *, now_ns: int, quiet_ns: int, orphan_ns: int, max_ns: int) -> Settled:
    """Decide whether a run may be scored now.

    It may when its sender says that it is complete; when none of its spans is open and nothing came for the quiet time;
    or when the longest wait after its last span is over. A parent that lives elsewhere counts as absent at once. A
    local one that has not come is waited for a while, since the run may prove nested: children are exported first.
    """
    if assembled.complete:
        return Settled(ready=True)
    wait_ns = quiet_ns
    if assembled.open_spans:
        wait_ns = max_ns
    elif assembled.parent == "missing":
        wait_ns = max(quiet_ns, orphan_ns)
    due_ns = assembled.last_arrival_ns + min(wait_ns, max_ns)
    if now_ns >= due_ns:
        return Settled(ready=True)
    return Settled(ready=False, next_check_ns=due_ns)
