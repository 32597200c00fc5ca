"""The one form in which a benchmark says what it measured."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Stopwatch:
    """Measure wall and CPU seconds of this process, or of its ended children too."""

    children: bool = False
    wall: float = 0.0
    cpu: float = 0.0
    _started: tuple[float, float] = field(default=(0.0, 0.0))

    def _cpu(self) -> float:
        own = resource.getrusage(resource.RUSAGE_SELF)
        total = own.ru_utime + own.ru_stime
        if self.children:
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            total += ended.ru_utime + ended.ru_stime
        return total

    def __enter__(self) -> Stopwatch:
        self._started = (time.perf_counter(), self._cpu())
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._started[0]
        self.cpu = self._cpu() - self._started[1]


def report(
    *,
    benchmark: str,
    unit: str,
    figure: float,
    cpu_ms_per_unit: float,
    limit: float,
    limit_is: str,
    target_ratio: float,
    beside: Mapping[str, float] | None = None,
) -> None:
    """Print one JSON line: figure (units a second), limit of the same run, ratio and its target, and what else."""
    print(
        json.dumps(
            {
                "benchmark": benchmark,
                "unit": unit,
                "figure": round(figure, 1),
                "cpu_ms_per_unit": round(cpu_ms_per_unit, 4),
                "limit": round(limit, 1),
                "limit_is": limit_is,
                "ratio": round(figure / limit, 3) if limit else None,
                "target_ratio": target_ratio,
                **(beside or {}),
            }
        ),
        flush=True,
    )
