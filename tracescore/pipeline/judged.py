"""The lane of scorers that wait, on a judge or on coroutines of their own: tasks on the loop, as many as slots."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from tracescore.pipeline.work import Work
from tracescore.store import FinishedJob


class JudgedLane:
    """Keep ``slots`` jobs in flight; a few more are held ready, so that a slot never waits for a claim."""

    def __init__(
        self,
        *,
        slots: int,
        score: Callable[[Work], Awaitable[FinishedJob]],
        on_finished: Callable[[list[FinishedJob]], None],
    ) -> None:
        self._slots = slots
        self._ahead = max(1, slots // 4)
        self._score = score
        self._on_finished = on_finished
        self._ready: deque[Work] = deque()
        self._tasks: dict[asyncio.Future[FinishedJob], Work] = {}

    @property
    def room(self) -> int:
        """Give how many jobs may be claimed now: several at once, when a quarter of what is held ready is gone."""
        if len(self._ready) > self._ahead * 3 // 4:
            return 0
        return self._slots + self._ahead - len(self._tasks) - len(self._ready)

    def start(self, jobs: Sequence[Work]) -> None:
        """Score jobs, each as soon as there is a slot."""
        ready = [*self._ready, *jobs]
        self._ready = deque(sorted(ready, key=lambda work: work.job.queue != "live"))  # what is live goes first
        self._fill()

    def begun(self) -> list[Work]:
        """Give the jobs in flight."""
        return list(self._tasks.values())

    def take_back(self) -> list[Work]:
        """Give up the jobs that are not in flight."""
        taken = list(self._ready)
        self._ready.clear()
        return taken

    def cancel(self, claims: Sequence[tuple[str, int]]) -> None:
        """Stop these claims, in flight or not."""
        wanted = set(claims)
        self._ready = deque(work for work in self._ready if work.claim not in wanted)
        for task, work in list(self._tasks.items()):
            if work.claim in wanted:
                task.cancel()

    def close(self) -> None:
        """Stop all that is in flight."""
        for task in list(self._tasks):
            task.cancel()

    def _fill(self) -> None:
        while self._ready and len(self._tasks) < self._slots:
            work = self._ready.popleft()
            task = asyncio.ensure_future(self._score(work))
            self._tasks[task] = work
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[FinishedJob]) -> None:
        del self._tasks[task]
        self._on_finished([] if task.cancelled() else [task.result()])
        self._fill()
