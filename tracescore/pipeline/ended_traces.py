"""Traces of this process that are being received span by span: which of them have ended."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tracescore.otel import SpanRow

MAX_SPANS = 50_000
"""Spans that wait for their root: above that the oldest trace is given as it stands."""
REMEMBERED = 4096
"""Traces that were given: a span that comes later, to one of them, is told by its parent."""
_REMOTE = 0x300


@dataclass(slots=True)
class _Open:
    """The spans of a trace that came and were not given yet."""

    rows: dict[bytes, SpanRow] = field(default_factory=dict)
    awaited: set[bytes] = field(default_factory=set)
    """Parents that have not come: they are still running."""
    roots: int = 0
    """Spans whose parent is none, or in another process."""


class EndedTraces:
    """Collect the spans of ended operations, children first, and give a trace once nothing of it is known to run.

    Not for several threads at once.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[bytes, _Open] = OrderedDict()
        self._given: OrderedDict[bytes, set[bytes]] = OrderedDict()
        self._waiting = 0
        self.late = 0
        """Spans that came after their trace was given, and were left out."""

    def add(self, rows: Iterable[SpanRow]) -> list[list[SpanRow]]:
        """Take spans in; give the traces that have ended with them."""
        touched: dict[bytes, None] = {}
        for row in rows:
            if row.span_id in self._given.get(row.trace_id, ()):  # the same again
                continue
            self._take(row)
            touched[row.trace_id] = None
        ended = [self._give(trace_id) for trace_id in touched if self._has_ended(trace_id)]
        while self._waiting > MAX_SPANS:
            ended.append(self._give(next(iter(self._open))))
        return [rows for rows in ended if rows]

    def give_rooted(self) -> list[list[SpanRow]]:
        """Give every trace whose root has ended, also where a span is still missing."""
        return [rows for key in [key for key, found in self._open.items() if found.roots] if (rows := self._give(key))]

    def give_all(self) -> list[list[SpanRow]]:
        """Give what there is: nothing more will come."""
        return [rows for key in list(self._open) if (rows := self._give(key))]

    def _take(self, row: SpanRow) -> None:
        found = self._open.setdefault(row.trace_id, _Open())
        if row.span_id in found.rows:
            return
        found.rows[row.span_id] = row
        self._waiting += 1
        found.awaited.discard(row.span_id)
        parent = row.parent_span_id
        if parent is None or row.flags & _REMOTE == _REMOTE:
            found.roots += 1
        elif parent not in found.rows and parent not in self._given.get(row.trace_id, ()):
            found.awaited.add(parent)

    def _has_ended(self, trace_id: bytes) -> bool:
        found = self._open[trace_id]
        return not found.awaited

    def _give(self, trace_id: bytes) -> list[SpanRow]:
        found = self._open.pop(trace_id)
        self._waiting -= len(found.rows)
        given = self._given.setdefault(trace_id, set())
        self._given.move_to_end(trace_id)
        if given and not found.roots:  # its run was judged without it, and is not judged again for it
            self.late += len(found.rows)
            given.update(found.rows)
            return []
        given.update(found.rows)
        while len(self._given) > REMEMBERED:
            self._given.popitem(last=False)
        return list(found.rows.values())
