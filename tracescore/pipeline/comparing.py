"""Hold a rebuilt outcome against the stored one, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracescore.model import ScoreOutcome
from tracescore.scorers.replaying import RecordedError
from tracescore.store import ScoreRow
from tracescore.store.encoding import load_json
from tracescore.store.score_rows import judged

_RECORDED = RecordedError.__name__


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One part in which two outcomes differ, each side as text of one or more lines."""

    what: str
    stored: str
    replayed: str


def differences(row: ScoreRow, outcome: ScoreOutcome, *, calls: bool, prompts: bool) -> list[Difference]:
    """Compare a stored outcome with a rebuilt one.

    Args:
        row: the stored one, with its evidence.
        outcome: the rebuilt one.
        calls: whether the judge calls are compared too: how many, and what was read out of each reply.
        prompts: whether their prompts are.
    """
    columns = judged(outcome)  # both sides as the database has them: it takes no NUL, and no half surrogate
    evidence: Mapping[str, Any] = load_json(columns.evidence)
    stored = row.evidence or {}
    found = [
        *_parts(
            ("outcome", row.outcome, columns.outcome),
            ("score", row.score, columns.score),
            *_error_parts(row, columns.error_type),
            ("failed step", row.failed_step, columns.failed_step),
            ("reason" if row.outcome != "failure" else "error", row.reason, columns.reason),
            ("error of the reason", row.reason_error, _reason_error(row, columns.reason_error)),
        ),
        *_named("sub-score", _sub_scores(row.sub_scores), _sub_scores(columns.sub_scores)),
        *_named("result of", _results(stored.get("results")), _results(evidence.get("results"))),
    ]
    if calls:
        found += _calls(stored.get("judge_calls"), evidence.get("judge_calls"), prompts=prompts)
    return found


def _parts(*parts: tuple[str, Any, Any]) -> Iterator[Difference]:
    for what, stored, replayed in parts:
        if stored != replayed:
            yield Difference(what=what, stored=_text(stored), replayed=_text(replayed))


def _error_parts(row: ScoreRow, error_type: str | None) -> Iterator[tuple[str, Any, Any]]:
    if error_type != _RECORDED or row.error_type is None:
        yield ("error type", row.error_type, error_type)


def _reason_error(row: ScoreRow, replayed: str | None) -> str | None:
    """Give the error of a reason that had no reply under the class that it had then."""
    begin = f"{_RECORDED}: "
    if row.reason_error is None or replayed is None or not replayed.startswith(begin):
        return replayed
    return f"{row.reason_error.partition(': ')[0]}: {replayed.removeprefix(begin)}"


def _named(kind: str, stored: Any, replayed: Any) -> Iterator[Difference]:
    left: Mapping[str, Any] = stored if isinstance(stored, Mapping) else {}
    right: Mapping[str, Any] = replayed if isinstance(replayed, Mapping) else {}
    for name in dict.fromkeys((*left, *right)):
        yield from _parts((f"{kind} {name}", left.get(name), right.get(name)))


def _sub_scores(sub_scores: Any) -> dict[str, Any]:
    return {sub.name: [sub.value, sub.reason] for sub in sub_scores}


def _results(results: Any) -> dict[str, Any]:
    """Leave out what stands for a value that is not JSON: the text of an object may hold its address."""
    items = results.items() if isinstance(results, Mapping) else ()
    return {name: value for name, value in items if not (isinstance(value, dict) and "not_json" in value)}


def _calls(stored: Any, replayed: Any, *, prompts: bool) -> Iterator[Difference]:
    left = [call for call in stored if isinstance(call, dict)] if isinstance(stored, list) else []
    right = [call for call in replayed if isinstance(call, dict)] if isinstance(replayed, list) else []
    if [call.get("step") for call in left] != [call.get("step") for call in right]:
        steps = [", ".join(str(call.get("step")) for call in side) or "none" for side in (left, right)]
        yield Difference(what="judge calls", stored=steps[0], replayed=steps[1])
        return
    for number, (was, now) in enumerate(zip(left, right, strict=True), start=1):
        where = f"judge call {number} ({was.get('step')})"
        if prompts:
            yield from _parts((f"{where}, prompt", was.get("prompt"), now.get("prompt")))
        yield from _parts(
            (f"{where}, what was read", was.get("parsed"), now.get("parsed")),
            (f"{where}, error", was.get("error"), now.get("error")),
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "none" if value is None else repr(value)
