"""Outcomes as OpenTelemetry events on the scored spans, sent to an OTLP endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tracescore.model.ids import score_key
from tracescore.sinks.protocol import Delivery, SinkError

if TYPE_CHECKING:
    from tracescore.otel.emit import EvaluationEvent

TIMEOUT = 10.0


class OtlpSink:
    """Send scores and failures as ``gen_ai.evaluation.result`` events; what was not scorable makes none.

    Args:
        endpoint: an OTLP/HTTP base URL, or its ``/v1/logs``.
        headers: sent with each request, for an endpoint that asks for a key.
        name: the name under which outcomes are owed; two sinks of one app need two.
    """

    def __init__(self, endpoint: str, *, headers: Mapping[str, str] | None = None, name: str = "otlp") -> None:
        self._endpoint = endpoint
        self._headers = dict(headers or {})
        self._name = name

    @property
    def name(self) -> str:
        """Give the sink's name."""
        return self._name

    async def submit(self, items: Sequence[Delivery]) -> None:
        """Send outcomes and see the endpoint's answer.

        Raises:
            SinkError: the endpoint did not take them.
        """
        await asyncio.to_thread(self._send, items)

    def _send(self, items: Sequence[Delivery]) -> None:
        # Imported here, in the thread: it takes a quarter of a second, which only a sender needs and no loop should.
        from tracescore.otel.emit import EmitError, emit_scores

        events = [event for item in items for event in _events(item)]
        try:
            emit_scores(self._endpoint, events, headers=self._headers, timeout=TIMEOUT)
        except EmitError as error:
            raise SinkError(str(error)) from error


def _events(item: Delivery) -> Iterator[EvaluationEvent]:
    from tracescore.otel.emit import EvaluationEvent

    if item.target is None or item.outcome == "not_scorable":
        return
    scored = [("", item.scorer_id, item.score, item.reason)]
    scored += [(sub.name, f"{item.scorer_id}.{sub.name}", sub.value, sub.reason) for sub in item.sub_scores]
    for part, name, value, reason in scored:
        yield EvaluationEvent(
            trace_id=item.target.trace_id,
            span_id=item.target.span_id,
            name=name,
            value=value,
            explanation=reason,
            error_type=item.error_type,
            time_ns=item.scored_ns,
            run_id=item.run_id,
            score_key=score_key(run_id=item.run_id, scorer_id=item.scorer_id, name=part) if part else item.score_key,
            scorer_id=item.scorer_id,
            scorer_version=item.scorer_version,
            outcome=item.outcome,
            source=item.source,
            probability=item.probability,
            counted=item.counted,
        )
