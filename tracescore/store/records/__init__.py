"""What goes into the store and comes out of it: ids in lower-case hex, times in Unix nanoseconds."""

from tracescore.store.records.backfills import (
    Backfill,
    BackfillMark,
    BackfillRun,
    BackfillSpec,
    BackfillState,
    BackfillStatus,
    BatchSummary,
)
from tracescore.store.records.batches import BatchItem, BatchItemStatus, BatchStatus
from tracescore.store.records.control import OfferRecord, OfferRow, WorkerRow
from tracescore.store.records.jobs import (
    ClaimedJob,
    CurrentOutcome,
    DecisionCount,
    DueJob,
    FinishedJob,
    JobRow,
    JobState,
    NewJob,
    Offered,
    OutcomeName,
    Queue,
    Retired,
)
from tracescore.store.records.page import Page
from tracescore.store.records.runs import PlannableRun, ReplacedRuns, RunFilters, RunRecord, RunRow
from tracescore.store.records.scores import OutboxItem, ScoreRow
from tracescore.store.records.traces import (
    Ingested,
    PendingTrace,
    SettledTrace,
    StoredLog,
    StoredSpan,
    StoredTrace,
    TraceClaim,
    TraceCounts,
)

__all__ = [
    "Backfill",
    "BackfillMark",
    "BackfillRun",
    "BackfillSpec",
    "BackfillState",
    "BackfillStatus",
    "BatchItem",
    "BatchItemStatus",
    "BatchStatus",
    "BatchSummary",
    "ClaimedJob",
    "CurrentOutcome",
    "DecisionCount",
    "DueJob",
    "FinishedJob",
    "Ingested",
    "JobRow",
    "JobState",
    "NewJob",
    "OfferRecord",
    "OfferRow",
    "Offered",
    "OutboxItem",
    "OutcomeName",
    "Page",
    "PendingTrace",
    "PlannableRun",
    "Queue",
    "ReplacedRuns",
    "Retired",
    "RunFilters",
    "RunRecord",
    "RunRow",
    "ScoreRow",
    "SettledTrace",
    "StoredLog",
    "StoredSpan",
    "StoredTrace",
    "TraceClaim",
    "TraceCounts",
    "WorkerRow",
]
