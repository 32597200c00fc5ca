"""The lane of scorers that are plain code: threads that take jobs one by one, off the loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition, Thread, get_ident

from tracescore.pipeline.work import Work, score_inline
from tracescore.store import FinishedJob

THREADS = 4
"""One is kept busy by quick scorers; the others are there for scorers that block."""
JOBS_A_THREAD = 16
"""Queued jobs that make it worth waking one more thread: a hop costs more than a quick scorer."""
ROOM = 256
"""Jobs that are held ahead of the threads."""


class InlineLane:
    """Run code-only jobs in threads; a scorer that blocks holds up one of them, not the jobs behind it."""

    def __init__(self, *, on_finished: Callable[[list[FinishedJob]], None]) -> None:
        self._on_finished = on_finished
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Work] = deque()
        self._behind: deque[Work] = deque()
        """Backfills, behind what is live."""
        self._ready = Condition()
        self._idle_threads = 0
        self._begun: dict[int, Work] = {}
        self._results: deque[FinishedJob] = deque()
        self._told = False
        self._stopping = False
        for number in range(THREADS):
            Thread(target=self._work, name=f"tracescore-code-{number}", daemon=True).start()

    @property
    def room(self) -> int:
        """Give how many jobs may be claimed now; small rests are saved up, since each claim has a price."""
        room = ROOM - len(self._queue) - len(self._behind)
        return room if room >= ROOM // 2 else 0

    def start(self, jobs: Sequence[Work]) -> None:
        """Score jobs as soon as a thread is free."""
        with self._ready:
            for work in jobs:
                (self._queue if work.job.queue == "live" else self._behind).append(work)
            waiting = len(self._queue) + len(self._behind)
            self._ready.notify(min(self._idle_threads, 1 + waiting // JOBS_A_THREAD))

    def begun(self) -> list[Work]:
        """Give the jobs that are being scored now."""
        return list(self._begun.values())

    def take_back(self) -> list[Work]:
        """Give up the jobs that no thread has begun."""
        with self._ready:
            taken = [*self._queue, *self._behind]
            self._queue.clear()
            self._behind.clear()
        return taken

    def cancel(self, claims: Sequence[tuple[str, int]]) -> None:
        """Drop these claims where no thread has begun them; code cannot be stopped from outside."""
        wanted = set(claims)
        with self._ready:
            for queue in (self._queue, self._behind):
                kept = [work for work in queue if work.claim not in wanted]
                queue.clear()
                queue.extend(kept)

    def close(self) -> None:
        """Let the threads end; one that is stuck in a scorer ends with the process."""
        with self._ready:
            self._stopping = True
            self._ready.notify_all()

    def _work(self) -> None:
        me = get_ident()
        while True:
            work = self._next()
            if work is None:
                if not self._wait():
                    return
                continue
            self._begun[me] = work
            self._results.append(score_inline(work))
            del self._begun[me]
            if not self._told:  # the loop takes all there is by the time it runs: one call hands over many
                self._told = True
                try:
                    self._loop.call_soon_threadsafe(self._hand_over)
                except RuntimeError:  # the loop is closed: a drain gave this job back
                    return

    def _next(self) -> Work | None:
        for queue in (self._queue, self._behind):
            try:
                return queue.popleft()
            except IndexError:  # another thread may have been quicker: asking first would not help
                continue
        return None

    def _wait(self) -> bool:
        with self._ready:
            self._idle_threads += 1
            while not self._queue and not self._behind and not self._stopping:
                self._ready.wait()
            self._idle_threads -= 1
            return not self._stopping

    def _hand_over(self) -> None:
        self._told = False
        finished: list[FinishedJob] = []
        while self._results:
            finished.append(self._results.popleft())
        if finished:
            self._on_finished(finished)
