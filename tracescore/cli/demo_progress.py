"""How far each run of the demo has come, read from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tracescore.cli.demo_expected import ExpectedRun, pairs_of
from tracescore.cli.outcomes import ShownOutcome, shown_row
from tracescore.cli.paging import PAGE_SIZE, first_items

if TYPE_CHECKING:
    from tracescore.store import Store

Way = Literal["sending", "received", "settling", "queued", "scored"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """One look at the store: where each expected run is, and the outcomes so far."""

    ways: Mapping[str, Way] = field(default_factory=dict)
    outcomes: Mapping[tuple[str, str], ShownOutcome] = field(default_factory=dict)

    def count(self, way: Way) -> int:
        """Count the runs that are there."""
        return sum(item == way for item in self.ways.values())


async def look(store: Store, expected: Mapping[str, ExpectedRun], *, project: str, posted: frozenset[str]) -> Progress:
    """Look at the store; ``posted`` are the files that the receiver has acknowledged."""
    settling = {trace.trace_id for trace in await store.spans.pending(project, limit=10 * len(expected) + 1)}
    limit = 10 * PAGE_SIZE
    runs, _ = await first_items(lambda size, after: store.runs.list(project, limit=size, after=after), limit)
    rows, _ = await first_items(lambda size, after: store.scores.list(project, limit=size, after=after), limit)
    stored = {run.run_id for run in runs}
    owed = pairs_of(expected)
    outcomes = {key: shown_row(row) for row in rows if (key := (row.run_id, row.scorer_id)) in owed}

    def way(run_id: str, item: ExpectedRun) -> Way:
        if run_id in stored:
            return "scored" if all((run_id, scorer) in outcomes for scorer in item.scorer_ids) else "queued"
        if item.trace_id in settling:
            return "settling"
        return "received" if item.file in posted else "sending"

    return Progress(ways={run_id: way(run_id, item) for run_id, item in expected.items()}, outcomes=outcomes)
