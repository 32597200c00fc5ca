"""How far a batch is, shown until its end: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tracescore.cli.interrupts import INTERRUPTED
from tracescore.errors import InputError, StoreError

if TYPE_CHECKING:
    from tracescore.store import Store

EVERY = 0.5
PLAIN_EVERY = 5.0
"""How often a line is printed where nobody watches a terminal."""
WINDOW = 20.0
"""The rate is that of the last so many seconds."""
FAILED = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """A batch at one moment."""

    scorer_id: str | None = None
    scorer_version: str | None = None
    state: str
    scored: int
    not_scorable: int
    failed: int
    open: int
    dropped: int
    """Jobs that were cancelled or superseded."""
    skipped: int = 0
    left_out: int = 0
    left_to_plan: float = 0.0
    """How many jobs the runs that were not looked at yet may come to."""
    done: bool

    @property
    def ended(self) -> int:
        """Give how many have their outcome."""
        return self.scored + self.not_scorable + self.failed

    @property
    def expected(self) -> int:
        """Give how many outcomes it may come to in all."""
        return self.ended + self.open + round(self.left_to_plan)

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {**asdict(self), "left_to_plan": round(self.left_to_plan)}


async def progress_of(store: Store, project: str, batch_id: str) -> Progress:
    """Read how far a batch is.

    Raises:
        InputError: there is none of that id.
    """
    status = await store.backfills.status(project, batch_id)
    if status is None:
        return await _of_targets(store, project, batch_id)
    backfill, jobs = status.backfill, status.jobs
    left = 0.0
    if backfill.state == "planning":
        unseen = max(0, backfill.total - backfill.seen)
        share = backfill.planned / backfill.seen if backfill.seen else backfill.spec.sample_rate
        left = unseen * share
        if backfill.spec.limit is not None:
            left = min(left, backfill.spec.limit - backfill.planned)
    return Progress(
        scorer_id=backfill.scorer_id,
        scorer_version=backfill.scorer_version,
        state="done" if status.done and backfill.state == "planned" else backfill.state,
        scored=jobs.get("done", 0),
        not_scorable=jobs.get("not_scorable", 0),
        failed=jobs.get("failed", 0),
        open=status.open,
        dropped=jobs.get("cancelled", 0) + jobs.get("superseded", 0),
        skipped=backfill.skipped,
        left_out=backfill.left_out,
        left_to_plan=left,
        done=status.done,
    )


async def _of_targets(store: Store, project: str, batch_id: str) -> Progress:
    batch = await store.control.batch(project, batch_id)
    if batch is None:
        raise InputError(f"no batch {batch_id!r}: `tracescore batches` lists them")
    counts = batch.counts
    return Progress(
        state="done" if batch.done else "open",
        scored=counts.get("score", 0),
        not_scorable=counts.get("not_scorable", 0),
        failed=counts.get("failure", 0),
        open=counts.get("pending", 0) + counts.get("leased", 0),
        dropped=counts.get("cancelled", 0) + counts.get("superseded", 0),
        done=batch.done,
    )


class Rate:
    """Outcomes a second over the last while, and what is left of the time."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, ended: int, *, at: float) -> None:
        """Note how many have ended by now."""
        self._seen.append((at, ended))
        while len(self._seen) > 2 and at - self._seen[0][0] > WINDOW:
            self._seen.popleft()

    @property
    def per_second(self) -> float:
        """Give the rate; 0 where nothing is known."""
        (began, first), (now, last) = self._seen[0], self._seen[-1]
        return (last - first) / (now - began) if now > began else 0.0

    def seconds_left(self, progress: Progress) -> float | None:
        """Give the seconds until the end at this rate; None where there is none."""
        left = progress.expected - progress.ended
        return left / self.per_second if self.per_second > 0 else (0.0 if left <= 0 else None)


def follow(store: Store, project: str, batch_id: str, *, as_json: bool = False) -> int:
    """Show a batch until its end, then its outcomes; give the exit code. Ctrl-C leaves it running and says so.

    Raises:
        InputError: there is no such batch.
    """
    from tracescore.cli.screen import note

    seen: list[Progress] = []
    try:
        progress = _follow(store, project, batch_id, seen, as_json=as_json)
    except KeyboardInterrupt:
        so_far = f"{seen[-1].ended}/{seen[-1].expected} ended, {seen[-1].failed} failed" if seen else "interrupted"
        note(
            f"{so_far}. The workers go on. `tracescore batches {batch_id}` follows again; "
            f"`tracescore batches {batch_id} --cancel` cancels what is pending."
        )
        return INTERRUPTED
    return FAILED if progress.failed else 0


def _follow(store: Store, project: str, batch_id: str, seen: list[Progress], *, as_json: bool) -> Progress:
    from tracescore.cli.screen import console, print_json

    out, rate, printed = console(), Rate(), 0.0
    progress = asyncio.run(progress_of(store, project, batch_id))
    show = _bar(out) if out.is_terminal and not as_json else None
    try:
        while True:
            now = time.monotonic()
            seen[:] = [progress]
            rate.note(progress.ended, at=now)
            left = rate.seconds_left(progress)
            if show is not None:
                show(progress, rate.per_second, left)
            elif progress.done or now - printed >= (1.0 if as_json else PLAIN_EVERY):
                printed = now
                if as_json:
                    figures = {"per_second": round(rate.per_second, 1), "seconds_left": left and round(left)}
                    print_json({"event": "progress", **progress.as_json(), **figures})
                elif not progress.done:
                    out.print(_line(progress, rate.per_second, left))
            if progress.done:
                break
            time.sleep(max(EVERY, 10 * (time.monotonic() - now)))  # a look costs more the more jobs there are
            try:
                progress = asyncio.run(progress_of(store, project, batch_id))
            except StoreError:
                continue  # the next look tries again; whoever writes to the store says what is wrong with it
    finally:
        if show is not None:
            show(None, 0.0, None)
    if as_json:
        print_json({"event": "ended", "batch_id": batch_id, **progress.as_json()})
    else:
        out.print(summary(progress))
    return progress


def summary(progress: Progress) -> str:
    """Say what became of a batch."""
    said = (
        f"{progress.ended} runs: {progress.scored} scores, {progress.not_scorable} not scorable, "
        f"{progress.failed} failures"
    )
    more = [
        f"{count} {what}"
        for count, what in (
            (progress.skipped, "skipped: scored or under way in this version"),
            (progress.left_out, "left out by sampling or prepare_run"),
            (progress.dropped, "cancelled or superseded"),
        )
        if count
    ]
    return "; ".join([said, *more])


def _line(progress: Progress, per_second: float, left: float | None) -> str:
    return f"{progress.ended}/{progress.expected} ended, {progress.failed} failed, {_pace(per_second, left)}"


def _pace(per_second: float, left: float | None) -> str:
    if left is None:
        return "waiting for a worker"
    minutes, seconds = divmod(round(left), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{per_second:.1f}/s, {f'{hours}:{minutes:02}:{seconds:02}' if hours else f'{minutes}:{seconds:02}'} left"


def _bar(out: Any) -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[said]}"), console=out, auto_refresh=False)
    task = bar.add_task("", total=None, said="")
    bar.start()

    def show(progress: Progress | None, per_second: float, left: float | None) -> None:
        if progress is None:
            bar.stop()
            return
        said = _pace(per_second, left) + (f", {progress.failed} failed" if progress.failed else "")
        bar.update(task, completed=progress.ended, total=max(1, progress.expected), said=said, refresh=True)

    return show
