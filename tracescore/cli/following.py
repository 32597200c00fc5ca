"""Follow the store: one line for each outcome as it is written."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tracescore.cli.paging import first_items
from tracescore.cli.screen import note
from tracescore.errors import StoreError

if TYPE_CHECKING:
    from tracescore.settings import Settings
    from tracescore.store import ScoreRow, Store

EVERY = 0.5
BURST = 200
"""How many lines one look prints for a person at most; machines get all."""
ALL = 1_000_000
OVERLAP_NS = 2_000_000_000
"""Outcomes are written in groups, some a little after their own time: each look goes back this far."""


class Follower:
    """Print outcomes of the projects that workers score, from a thread of its own while the context is open."""

    def __init__(
        self, store: Store, settings: Settings, *, since_ns: int, as_json: bool = False, quiet: bool = False
    ) -> None:
        self._store = store
        self._settings = settings
        self._as_json = as_json
        self._quiet = quiet and not as_json
        self._began_ns = since_ns
        self._newest_ns = since_ns
        self._seen: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="tracescore-follower", daemon=True)

    def __enter__(self) -> Self:
        if not self._quiet:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        if not self._quiet:
            self._thread.join()

    def _follow(self) -> None:
        while True:
            stopped = self._stop.wait(EVERY)
            try:
                asyncio.run(self._look())
            except StoreError:
                pass  # the next look tries again; whoever writes to the store says what is wrong with it
            except BrokenPipeError:
                return  # nobody reads any more
            if stopped:
                return

    async def _look(self) -> None:
        since_ns = max(self._began_ns, self._newest_ns - OVERLAP_NS)
        limit = ALL if self._as_json else BURST
        projects = self._settings.projects or {self._settings.project, *await self._store.control.projects()}
        rows = [row for project in projects for row in await self._outcomes(project, since_ns, limit)]
        rows = sorted(rows, key=lambda row: row.created_ns, reverse=True)[:limit]
        new = [row for row in reversed(rows) if row.score_id not in self._seen]
        if len(new) == BURST and not self._as_json:
            note(f"  … more than {BURST} outcomes at once: `tracescore scores` has them all")
        for row in new:
            await self._print(row)
            self._seen[row.score_id] = row.created_ns
            self._newest_ns = max(self._newest_ns, row.created_ns)
        if new:
            oldest_ns = self._newest_ns - 2 * OVERLAP_NS
            self._seen = {score_id: at_ns for score_id, at_ns in self._seen.items() if at_ns >= oldest_ns}

    async def _outcomes(self, project: str, since_ns: int, limit: int) -> list[ScoreRow]:
        found, _ = await first_items(
            lambda size, after: self._store.scores.list(
                project, since_ns=since_ns, current=None, limit=size, after=after
            ),
            limit,
        )
        return found

    async def _print(self, row: ScoreRow) -> None:
        from rich.text import Text

        from tracescore.cli.outcomes import shown_row
        from tracescore.cli.scores import score_row_to_json
        from tracescore.cli.screen import console, one_line, print_json
        from tracescore.cli.times import clock

        if self._as_json:
            print_json({"event": "outcome", **score_row_to_json(row)})
            return
        outcome = shown_row(row)
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{clock(row.created_ns)}  ", style="dim")
        line.append(f"{one_line(await self._name(row), limit=20):<20} ", style="bold")
        line.append(f"{one_line(row.scorer_id, limit=20):<20} ", style="magenta")
        line.append(f"{outcome.figure:>6}  ", style=outcome.style)
        line.append(outcome.words, style="red" if outcome.outcome == "failure" else "")
        console().print(line)

    async def _name(self, row: ScoreRow) -> str:
        from tracescore.cli.cards import agent_label

        run_id = row.run_id
        if run_id not in self._names:
            if len(self._names) > BURST:
                self._names.clear()
            run = await self._store.runs.get(row.project, run_id)
            self._names[run_id] = agent_label(run.agent_name, run.kind) if run else "(run)"
        return self._names[run_id]
