"""Take in one OTLP request, by whichever door it came: decode, store, and say what was not kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tracescore.otel import UNBOUND, Bounds, Decoded, LogRow, SpanRow, decode_logs, decode_traces
from tracescore.store import Store

LARGE_BYTES = 4 * 1024 * 1024
"""A body above this is read off the loop, so that it goes on answering; below, a hop into a thread costs more than it
gives (measured: 21 000 spans/s on the loop, 19 000 with inflating or decoding in threads)."""

RowT = TypeVar("RowT")


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What was refused of a request, and why; what is left out of kept spans is in ``reason`` too."""

    rejected: int = 0
    reason: str = ""


async def take_traces(
    store: Store, body: bytes, *, content_type: str, project: str, quiet_ns: int, bounds: Bounds = UNBOUND
) -> Taken:
    """Store the spans of an ``ExportTraceServiceRequest``, durably when this returns.

    Raises:
        InputError: the body cannot be read at all.
        StoreUnavailable: nothing of it was kept.
    """
    decoded = await _decode(decode_traces, body, content_type, bounds)
    return await _store(store, decoded, decoded.rows, (), project, quiet_ns)


async def take_logs(
    store: Store, body: bytes, *, content_type: str, project: str, quiet_ns: int, bounds: Bounds = UNBOUND
) -> Taken:
    """Store the log records of an ``ExportLogsServiceRequest`` that may hold content, durably when this returns.

    Raises:
        InputError: the body cannot be read at all.
        StoreUnavailable: nothing of it was kept.
    """
    decoded = await _decode(decode_logs, body, content_type, bounds)
    return await _store(store, decoded, (), decoded.rows, project, quiet_ns)


async def _decode(
    decode: Callable[..., Decoded[RowT]], body: bytes, content_type: str, bounds: Bounds
) -> Decoded[RowT]:
    if len(body) > LARGE_BYTES:
        return await asyncio.to_thread(decode, body, content_type, bounds)
    return decode(body, content_type, bounds)


async def _store(
    store: Store,
    decoded: Decoded[Any],
    spans: Sequence[SpanRow],
    logs: Sequence[LogRow],
    project: str,
    quiet_ns: int,
) -> Taken:
    reasons = list(decoded.reasons)
    capped = 0
    if decoded.rows or decoded.evaluations:
        ingested = await store.spans.ingest(
            project, spans, logs, decoded.evaluations, now_ns=time.time_ns(), quiet_ns=quiet_ns
        )
        capped = ingested.capped
    if capped:
        reasons.append(f"{capped} were not kept: their trace is at its cap")
    return Taken(rejected=decoded.rejected + capped, reason="; ".join(reasons))
