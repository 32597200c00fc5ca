"""The doors in the pipeline: where the redaction policy meets rows, outcomes and deliveries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import orjson

from tracescore.model import ScoreFailure, ScoreOutcome, ScorerRun
from tracescore.otel import Decoded
from tracescore.otel.body import copy_hash
from tracescore.redaction import Redaction, RedactionError, StoreDoor, TextRedactor, redacted_outcome
from tracescore.sinks import Delivery

RowT = TypeVar("RowT", bound=Any)

_TOGETHER = 50
"""Rows that are looked at as one; where something is found, each of them is looked at again."""


def redacted_rows(decoded: Decoded[RowT], redaction: Redaction | None) -> Decoded[RowT]:
    """Give what came in as it may be stored.

    A copy is known by the hash of what is stored of it, so that the same span is one copy however often it comes.

    Raises:
        RedactionError: a rule raised; none of it must be stored.
    """
    if redaction is None or redaction.store_door.open:
        return decoded
    door = redaction.store_door
    _redact(decoded.rows, door)
    _redact(decoded.evaluations, door)
    return decoded


def _redact(rows: list[Any], door: StoreDoor) -> None:
    for start in range(0, len(rows), _TOGETHER):
        together = rows[start : start + _TOGETHER]
        if door.all_pass([row.body for row in together]):
            continue
        for place, row in enumerate(together, start):
            body = door.redact(row.body, row.trace_id)
            if body is not row.body:
                rows[place] = row._replace(body=body, copy_hash=copy_hash(body))


def judge_door(redaction: Redaction | None, run: ScorerRun[Any, Any]) -> TextRedactor | None:
    """Give what the texts of a run go through before a judge sees them; ``run`` as it is stored, not as it is cut."""
    return None if redaction is None else redaction.judge_redactor(run)


def storable_outcome(redaction: Redaction | None, outcome: ScoreOutcome) -> ScoreOutcome:
    """Give an outcome as it may be stored.

    Raises:
        RedactionError: a rule raised; the outcome must not be stored.
    """
    return outcome if redaction is None else redacted_outcome(redaction, outcome)


def storable_failure(redaction: Redaction | None, failure: ScoreFailure) -> ScoreOutcome:
    """Give a failure as it may be stored; where a rule raises, it says that and nothing else. Raises nothing."""
    try:
        return storable_outcome(redaction, failure)
    except RedactionError as error:
        return replace(failure, error_type=type(error).__name__, message=str(error))


def storable_reply(redaction: Redaction | None, reply: str, *, run_id: str) -> str:
    """Give a judge's reply, which is JSON, as it may be stored.

    Raises:
        RedactionError: a rule raised; the reply must not be stored.
    """
    if redaction is None or redaction.store_door.passes(reply):
        return reply
    return orjson.dumps(redaction.store_redactor(run_id).redact_json(orjson.loads(reply))).decode()


def deliverable(redaction: Redaction | None, item: Delivery) -> Delivery:
    """Give an outcome as it may go out; its texts share their markers.

    Raises:
        RedactionError: a rule raised; the outcome must not go out.
    """
    if redaction is None:
        return item
    door = redaction.sink_redactor()
    return replace(
        item,
        reason=None if item.reason is None else door.redact(item.reason),
        sub_scores=tuple(
            sub if sub.reason is None else replace(sub, reason=door.redact(sub.reason)) for sub in item.sub_scores
        ),
    )
