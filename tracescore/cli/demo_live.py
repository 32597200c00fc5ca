"""Show the way of each run while it goes: moving on a terminal, one plain line a step elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from tracescore.cli.cards import run_name
from tracescore.cli.demo_expected import ExpectedRun
from tracescore.cli.demo_progress import Progress, Way

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_WAYS: tuple[Way, ...] = ("sending", "received", "settling", "queued", "scored")
_MARK: Mapping[Way, str] = {"sending": " ", "received": "·", "settling": "◦", "queued": "▸", "scored": "✓"}
_STYLE: Mapping[Way, str] = {
    "sending": "dim",
    "received": "dim",
    "settling": "yellow",
    "queued": "cyan",
    "scored": "green",
}
_ROWS_BESIDE = 5
"""Terminal lines that the rows of the moving part leave free: its counters, and the prompt."""
_NAME = 14
_BAR = 24
_BAR_FROM = 96
"""From which width on the bar has its whole length."""


class Display(Protocol):
    """Show one look at the store after the other."""

    def show(self, progress: Progress) -> None:
        """Show what has changed."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


class _Lines:
    """How one run is written on one line."""

    def __init__(self, expected: Mapping[str, ExpectedRun]) -> None:
        self.expected = expected
        self.scorers = list(dict.fromkeys(name for item in expected.values() for name in item.scorer_ids))
        self._file = max((len(item.file) for item in expected.values()), default=0)

    def legend(self) -> str:
        """Say what the figures behind a run are."""
        return f"Scores: {' · '.join(self.scorers)} (– not scorable)"

    def line(self, run_id: str, ways: Sequence[Way], progress: Progress) -> Text:
        """Write a run with the ways that it has come, the last one marking the line."""
        from rich.text import Text

        item = self.expected[run_id]
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{_MARK[ways[-1]]} ", style=_STYLE[ways[-1]])
        line.append(f"{run_name(item.run):<{_NAME}.{_NAME}} ", style="bold" if ways[-1] == "scored" else "")
        line.append(f"{item.file:<{self._file}}  ", style="dim")
        said = " ".join(way for way in ways if way != "scored")
        line.append(f"{said} " if said else "", style=_STYLE[ways[0]])
        if ways[-1] in ("queued", "scored"):
            line.append_text(self._figures(item, progress))
        return line

    def _figures(self, item: ExpectedRun, progress: Progress) -> Text:
        from rich.text import Text

        figures = Text()
        for scorer_id in self.scorers:
            outcome = progress.outcomes.get((item.run.run_id, scorer_id))
            if outcome is None:
                figures.append("     ")
            else:
                figures.append(f"{outcome.figure:>4} ", style=outcome.style)
        figures.rstrip()
        return figures


class PlainLines:
    """One line for each step of each run: for logs and pipes."""

    def __init__(self, out: Console, lines: _Lines) -> None:
        self._out = out
        self._lines = lines
        self._seen: dict[str, Way] = {}
        self._began = time.monotonic()

    def show(self, progress: Progress) -> None:
        """Print a line for each run that has come further, with every step since the last look."""
        from rich.text import Text

        for run_id, way in progress.ways.items():
            before = self._seen.get(run_id, "sending")
            if _WAYS.index(way) > _WAYS.index(before):
                self._seen[run_id] = way
                steps = _WAYS[_WAYS.index(before) + 1 : _WAYS.index(way) + 1]
                line = Text(f"{time.monotonic() - self._began:5.1f} s  ", no_wrap=True)
                line.append_text(self._lines.line(run_id, steps, progress)).rstrip()
                self._out.print(line)

    def close(self) -> None:
        """Do nothing."""


class MovingPart:
    """Counters and the runs on their way at the foot of the terminal; a run that is done becomes a line above it."""

    def __init__(self, out: Console, lines: _Lines) -> None:
        from rich.live import Live

        self._out = out
        self._lines = lines
        self._done: set[str] = set()
        self._began = time.monotonic()
        self._live = Live(console=out, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, progress: Progress) -> None:
        """Move on."""
        for run_id, way in progress.ways.items():
            if way == "scored" and run_id not in self._done:
                self._done.add(run_id)
                self._out.print(self._lines.line(run_id, [way], progress))
        self._live.update(self._moving(progress), refresh=True)

    def close(self) -> None:
        """Take the moving part away."""
        self._live.update("", refresh=True)
        self._live.stop()

    def _moving(self, progress: Progress) -> RenderableType:
        from rich.console import Group

        room = max(3, self._out.height - _ROWS_BESIDE)
        moving = [run_id for run_id, way in progress.ways.items() if way not in ("sending", "scored")]
        moving.sort(key=lambda run_id: -_WAYS.index(progress.ways[run_id]))
        rows = [self._lines.line(run_id, [progress.ways[run_id]], progress) for run_id in moving[:room]]
        return Group(*rows, self._counters(progress, hidden=len(moving) - len(rows)))

    def _counters(self, progress: Progress, *, hidden: int) -> Text:
        from rich.text import Text

        total = len(self._lines.expected)
        done = progress.count("scored")
        bar = _BAR if self._out.width >= _BAR_FROM else _BAR // 2
        filled = round(bar * done / total) if total else bar
        line = Text().append(f"  … and {hidden} more\n" if hidden else "\n", style="dim")
        line.append("━" * filled, style="green").append("━" * (bar - filled), style="bright_black")
        line.append(f"  {total - progress.count('sending')} received", style="dim")
        for way in ("settling", "queued"):
            line.append(f" · {progress.count(way)} {way}", style=_STYLE[way])
        line.append(f" · {done} of {total} scored", style="bold")
        return line.append(f"   {time.monotonic() - self._began:.0f} s", style="dim")


def display(out: Console, expected: Mapping[str, ExpectedRun]) -> Display:
    """Choose by where the output goes."""
    from rich.text import Text

    lines = _Lines(expected)
    out.print(Text(f"  {lines.legend()}\n", style="dim"))
    return MovingPart(out, lines) if out.is_terminal and not out.is_dumb_terminal else PlainLines(out, lines)
