"""Write outcomes back: what the outbox owes each sink, again and again until it is taken."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from tracescore.model import Target
from tracescore.pipeline.leases import NS
from tracescore.pipeline.redacting import deliverable
from tracescore.redaction import Redaction
from tracescore.sinks import Delivery, Sink, SinkError
from tracescore.store import OutboxItem, Store

logger = logging.getLogger(__name__)

ITEMS = 256
LEASE_NS = 60 * NS
SUBMIT_SECONDS = 30.0
FIRST_RETRY = 2.0
LONGEST_RETRY = 900.0
TOGETHER = 4
"""Attempts that an outcome makes in company."""


class Delivering:
    """Hand the outbox to the sinks; at least once, so sinks upsert by the score's key."""

    def __init__(self, store: Store, sinks: Sequence[Sink], *, redaction: Redaction | None = None) -> None:
        self._store = store
        self._redaction = redaction
        self.sinks = {sink.name: sink for sink in sinks}

    async def step(self) -> bool:
        """Deliver what is due; True where there may be more."""
        items = await self._store.scores.claim_outbox(
            list(self.sinks), now_ns=time.time_ns(), lease_ns=LEASE_NS, limit=ITEMS
        )
        groups: dict[tuple[str, int], list[OutboxItem]] = {}
        for item in items:
            # One outcome that a sink never takes must not hold up the others with it: in the end each goes alone.
            groups.setdefault((item.sink, item.id if item.attempts >= TOGETHER else 0), []).append(item)
        await asyncio.gather(*(self._deliver(self.sinks[name], owed) for (name, _), owed in groups.items()))
        return len(items) == ITEMS

    async def _deliver(self, sink: Sink, items: Sequence[OutboxItem]) -> None:
        try:
            async with asyncio.timeout(SUBMIT_SECONDS):
                await sink.submit([deliverable(self._redaction, delivery(item)) for item in items])
        except TimeoutError:
            await self._put_off(sink, items, SinkError(f"no answer within {SUBMIT_SECONDS:.0f} s"))
        except Exception as error:  # noqa: BLE001 - a sink is foreign code; what it raises must not lose a delivery
            await self._put_off(sink, items, error)
        else:
            await self._store.scores.outbox_done([item.id for item in items])

    async def _put_off(self, sink: Sink, items: Sequence[OutboxItem], error: Exception) -> None:
        logger.warning("sink %s did not take %d outcomes, trying again: %s", sink.name, len(items), error)
        asked = error.retry_after if isinstance(error, SinkError) else None
        for item in items:
            pause = asked if asked is not None else retry_pause(item.attempts)
            at_ns = time.time_ns() + int(min(pause, LONGEST_RETRY) * NS)
            await self._store.scores.outbox_retry(item.id, at_ns, f"{error}"[:500])


def retry_pause(attempts: int) -> float:
    """Give the seconds until the next attempt after so many: doubled each time, bounded."""
    return min(FIRST_RETRY * 2.0 ** min(attempts - 1, 16), LONGEST_RETRY)


def delivery(item: OutboxItem) -> Delivery:
    """Give an outbox row as its sink sees it."""
    row = item.payload
    return Delivery(
        score_key=row.score_key,
        score_id=row.score_id,
        project=row.project,
        run_id=row.run_id,
        target=None if row.trace_id is None else Target(trace_id=row.trace_id, span_id=row.span_id),
        scorer_id=row.scorer_id,
        scorer_version=row.scorer_version,
        outcome=row.outcome,
        score=row.score,
        reason=row.reason,
        error_type=row.error_type,
        sub_scores=row.sub_scores,
        score_range=row.score_range,
        higher_is_better=row.higher_is_better,
        source=row.source,
        probability=row.probability,
        counted=row.counted,
        scored_ns=row.created_ns,
    )
