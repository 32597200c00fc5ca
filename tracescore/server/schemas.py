"""The bodies of the query API. Times are RFC 3339 with nanoseconds: JSON numbers lose them in most readers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from tracescore.store import BatchStatus, OfferRow, Page, RunRow, ScoreRow

MAX_PAGE = 500
MAX_TARGETS = 1000
_NS = 1_000_000_000
_MAX_NS = 2**63 - 1


def rfc3339(time_ns: int) -> str:
    """Write a time in Unix nanoseconds."""
    seconds, fraction = divmod(time_ns, _NS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"


def time_or_none(time_ns: int) -> str | None:
    """Write a time, None where there is none."""
    return rfc3339(time_ns) if time_ns else None


def _read_time(value: object) -> int:
    """Read RFC 3339, a date, or Unix nanoseconds."""
    text = str(value).strip()
    if text.isdecimal() and len(text) > 8:
        return min(int(text), _MAX_NS)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("not a time: give RFC 3339, such as 2026-11-30T15:00:00Z, or Unix nanoseconds") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return min(max(whole * _NS + moment.microsecond * 1000, 0), _MAX_NS)


def _not_all_zero(value: str) -> str:
    if not value.strip("0"):
        raise ValueError("an id of zeros names nothing")
    return value


TraceId = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{32}$", to_lower=True), AfterValidator(_not_all_zero)]
SpanId = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{16}$", to_lower=True), AfterValidator(_not_all_zero)]
HexId = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{32}$", to_lower=True)]
TimeNs = Annotated[int, BeforeValidator(_read_time)]


class _Asked(BaseModel):
    """What a client sends: a name that is not known is refused, not skipped."""

    model_config = ConfigDict(extra="forbid")


class PageQuery(_Asked):
    """How far to page: ``after`` is the ``next`` of the page before."""

    limit: int = Field(default=50, ge=1, le=MAX_PAGE)
    after: str | None = Field(default=None, max_length=1000)


class RunsQuery(PageQuery):
    """Which runs to list."""

    agent: str | None = None
    kind: str | None = None
    trace_id: TraceId | None = None
    session: str | None = None
    service: str | None = None
    environment: str | None = None
    status: Literal["ok", "error", "paused"] | None = None
    outermost: bool | None = None
    since: TimeNs | None = None
    until: TimeNs | None = None


class ScoresQuery(PageQuery):
    """Which outcomes to list: the current ones, unless ``current`` is false."""

    trace_id: TraceId | None = None
    span_id: SpanId | None = None
    run_id: HexId | None = None
    scorer_id: str | None = None
    outcome: Literal["score", "failure", "not_scorable"] | None = None
    since: TimeNs | None = None
    until: TimeNs | None = None
    current: bool = True


class DecisionsQuery(_Asked):
    """Since when; a day ago unless given."""

    since: TimeNs | None = None


class TargetIn(_Asked):
    """What to score: a span, or a trace's outermost runs."""

    trace_id: TraceId
    span_id: SpanId | None = None


class ScoreTargetsIn(_Asked):
    """Which scorer is to score what."""

    scorer_id: str = Field(min_length=1, max_length=200)
    targets: list[TargetIn] = Field(min_length=1, max_length=MAX_TARGETS)


ItemT = TypeVar("ItemT")


class PageOut(BaseModel, Generic[ItemT]):
    """One page; ``next`` is the ``after`` of the following one, null at the end."""

    items: list[ItemT]
    next: str | None = None


class RunOut(BaseModel):
    """A run without its content."""

    run_id: str
    kind: str
    trace_id: str | None
    span_id: str | None
    parent_run_id: str | None
    agent_name: str | None
    session_id: str | None
    service: str | None
    environment: str | None
    status: str
    outermost: bool
    revision: int
    started_at: str | None
    ended_at: str | None
    updated_at: str

    @classmethod
    def of(cls, row: RunRow) -> Self:
        """Build it from the stored row."""
        return cls(
            run_id=row.run_id,
            kind=row.kind,
            trace_id=row.trace_id,
            span_id=row.span_id,
            parent_run_id=row.parent_run_id,
            agent_name=row.agent_name,
            session_id=row.session_id,
            service=row.service,
            environment=row.environment,
            status=row.status,
            outermost=row.outermost,
            revision=row.revision,
            started_at=time_or_none(row.started_ns),
            ended_at=time_or_none(row.ended_ns),
            updated_at=rfc3339(row.updated_ns),
        )


class SubScoreOut(BaseModel):
    """A named score beside the main one."""

    name: str
    value: float
    reason: str | None


class OutcomeOut(BaseModel):
    """A score, a failure or not scorable; ``score`` is null but for the first."""

    score_id: str
    score_key: str
    run_id: str
    trace_id: str | None
    span_id: str | None
    scorer_id: str
    scorer_version: str
    outcome: Literal["score", "failure", "not_scorable"]
    score: float | None
    reason: str | None
    reason_error: str | None
    error_type: str | None
    failed_step: str | None
    score_range: tuple[float, float] | None
    higher_is_better: bool
    counted: bool
    sub_scores: list[SubScoreOut]
    source: str
    probability: float
    revision: int
    current: bool
    created_at: str

    @classmethod
    def of(cls, row: ScoreRow) -> Self:
        """Build it from the stored row."""
        return cls(
            score_id=row.score_id,
            score_key=row.score_key,
            run_id=row.run_id,
            trace_id=row.trace_id,
            span_id=row.span_id,
            scorer_id=row.scorer_id,
            scorer_version=row.scorer_version,
            outcome=row.outcome,
            score=row.score,
            reason=row.reason,
            reason_error=row.reason_error,
            error_type=row.error_type,
            failed_step=row.failed_step,
            score_range=row.score_range,
            higher_is_better=row.higher_is_better,
            counted=row.counted,
            sub_scores=[SubScoreOut(name=sub.name, value=sub.value, reason=sub.reason) for sub in row.sub_scores],
            source=row.source,
            probability=row.probability,
            revision=row.revision,
            current=row.current,
            created_at=rfc3339(row.created_ns),
        )


class OutcomeWithEvidenceOut(OutcomeOut):
    """An outcome with what stands behind it."""

    evidence: Mapping[str, Any] | None = None


class ScorerOut(BaseModel):
    """A scorer that a live worker offers, in the version that was seen last."""

    scorer_id: str
    version: str
    app: str
    workers: int
    score_range: tuple[float, float] | None
    higher_is_better: bool
    needs_judge: bool
    description: str
    seen_at: str

    @classmethod
    def of(cls, newest: OfferRow, *, workers: int) -> Self:
        """Build it from the newest offer and the number of workers that make it."""
        offer = newest.offer
        return cls(
            scorer_id=offer.scorer_id,
            version=offer.version,
            app=newest.app,
            workers=workers,
            score_range=offer.score_range,
            higher_is_better=offer.higher_is_better,
            needs_judge=offer.needs_judge,
            description=offer.description,
            seen_at=rfc3339(newest.seen_ns),
        )


class BatchOut(BaseModel):
    """A batch that was taken on; its targets' outcomes are at ``GET /api/batches/{batch_id}``."""

    batch_id: str


class BatchItemOut(BaseModel):
    """One target's outcome so far: ``pending`` and ``leased`` are not ended yet."""

    trace_id: str | None
    span_id: str | None
    run_id: str | None
    outcome: str
    reason: str | None
    score: float | None
    score_id: str | None


class BatchStatusOut(BaseModel):
    """A batch and each target's outcome."""

    batch_id: str
    kind: str
    created_at: str
    done: bool
    counts: Mapping[str, int]
    items: list[BatchItemOut]

    @classmethod
    def of(cls, status: BatchStatus) -> Self:
        """Build it from the stored batch."""
        return cls(
            batch_id=status.batch_id,
            kind=status.kind,
            created_at=rfc3339(status.created_ns),
            done=status.done,
            counts=status.counts,
            items=[
                BatchItemOut(
                    trace_id=item.trace_id,
                    span_id=item.span_id,
                    run_id=item.run_id,
                    outcome=item.outcome,
                    reason=item.reason,
                    score=item.score,
                    score_id=item.score_id,
                )
                for item in status.items
            ],
        )


class CompleteOut(BaseModel):
    """A trace of which nothing more will come."""

    trace_id: str
    complete: bool = True


def page_of(page: Page[Any], items: list[ItemT]) -> PageOut[ItemT]:
    """Give a page of the store as the API's."""
    return PageOut(items=items, next=page.next)
