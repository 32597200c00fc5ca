"""What ``doctor`` checks, each a line: how it stands and what to do about it."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tracescore.cli.check import Check
from tracescore.cli.check_app import check_app, check_judges, check_redaction, check_retries, check_settings
from tracescore.cli.opening import exists, is_url, shown
from tracescore.cli.times import ago
from tracescore.errors import TracescoreError
from tracescore.settings import Settings

if TYPE_CHECKING:
    from tracescore.app import TraceScore
    from tracescore.store import Decided, OfferRow, Store, WorkerRow

SEEN_SECONDS = 15
"""How lately a worker must have been seen to be alive: it says so every few seconds."""
STRANDED_SHOWN = 3
REFUSED = ("prepare_failed", "not_scorable")
"""What becomes of a run that its rule's or the app's prepare_run leaves nothing of."""
DAY_NS = 24 * 3600 * 10**9


async def check_all(settings: Settings, environ: Mapping[str, str]) -> list[Check]:
    """Check everything, going on after what fails."""
    app, of_app = check_app(settings)
    found = [check async for check in _checks_of_store(settings, app)]
    of_judges = (check_judges(app, environ), check_retries(app), check_redaction(settings, app))
    return [check_settings(environ), *found, of_app, *of_judges]


async def _checks_of_store(settings: Settings, app: TraceScore | None) -> AsyncIterator[Check]:
    from tracescore.cli.check_missed import check_missed
    from tracescore.cli.check_tokens import check_tokens
    from tracescore.store import Store

    where = settings.store
    if not exists(where):
        yield Check(
            name="store",
            state="warn",
            message=f"there is none in {where!r} yet",
            todo="`tracescore up` makes one; --data FOLDER or TRACESCORE_STORE names another",
        )
        yield _check_broker(settings)
        return
    try:
        store = Store.open(where, create=False)
    except (TracescoreError, OSError) as error:
        todo = "correct TRACESCORE_STORE or --data" if is_url(where) else "name another folder with --data"
        yield Check(name="store", state="fail", message=str(error), todo=todo)
        yield _check_broker(settings)
        return
    with store:
        yield await _check_store(store, settings)
        yield _check_broker(settings)
        now_ns = time.time_ns()
        workers = await store.control.workers(now_ns - SEEN_SECONDS * 10**9)
        since_ns = now_ns - SEEN_SECONDS * 10**9
        yield _check_workers(workers, now_ns)
        yield _check_offers(await store.control.offers(settings.project, since_ns))
        yield await _check_jobs(store, settings, now_ns)
        yield _check_planning(await store.decisions.since(settings.project, now_ns - DAY_NS))
        yield await check_missed(store, settings.project, app)
        yield check_tokens(await store.tokens.list(), project=settings.project)


async def _check_store(store: Store, settings: Settings) -> Check:
    counts = await store.spans.trace_counts(settings.project)
    message = (
        f"{shown(settings.store)}: {counts.traces} traces, {counts.spans} spans, {counts.settling} traces settling"
    )
    late = counts.oldest_due_ns is not None and time.time_ns() - counts.oldest_due_ns > SEEN_SECONDS * 10**9
    if not late:
        return Check(name="store", state="ok", message=message)
    return Check(
        name="store",
        state="warn",
        message=f"{message}; {counts.due} are due, the oldest since {ago(counts.oldest_due_ns or 0)}",
        todo="a worker assembles them: start one with `tracescore up` or `tracescore worker`",
    )


def _check_broker(settings: Settings) -> Check:
    from tracescore.pipeline.announced import broker_of

    if settings.broker in ("", "none"):
        return Check(name="broker", state="ok", message="none: workers poll the store every second")
    url = broker_of(settings.broker, settings.store)
    if url == "none":
        return Check(
            name="broker",
            state="warn",
            message="embedded, and not running: workers poll the store every second",
            todo="`tracescore up` starts it",
        )
    shown = _without_credentials(url)
    problem = _broker_problem(url)
    if problem is None:
        return Check(name="broker", state="ok", message=f"answers at {shown}")
    return Check(
        name="broker",
        state="fail",
        message=f"{shown} does not answer: {problem}",
        todo="start it, or correct TRACESCORE_BROKER; meanwhile workers poll the store and nothing is lost",
    )


def _broker_problem(url: str) -> str | None:
    """Ask a broker for a sign of life: a ping where it speaks Redis's protocol, else a connection."""
    parts = urlsplit(url)
    try:
        if parts.scheme.startswith(("redis", "rediss", "valkey")):
            from redis import Redis
            from redis.exceptions import RedisError

            if parts.scheme.endswith(("socket", "unix")):
                address = f"unix://{parts.path}"
            else:
                secure = parts.scheme in ("rediss", "valkeys")
                address = parts._replace(scheme="rediss" if secure else "redis").geturl()
            try:
                with Redis.from_url(address, socket_connect_timeout=3, socket_timeout=3) as client:
                    client.ping()
            except RedisError as error:
                return str(error) or type(error).__name__
            return None
        with socket.create_connection((parts.hostname or "localhost", parts.port or 5672), timeout=3):
            return None
    except (OSError, ValueError) as error:
        return str(error)


def _check_workers(workers: Sequence[WorkerRow], now_ns: int) -> Check:
    if not workers:
        return Check(
            name="workers",
            state="warn",
            message=f"none was seen in the last {SEEN_SECONDS} s: nothing is scored",
            todo="`tracescore up` starts one; `tracescore worker` starts another",
        )
    seen = ", ".join(f"{worker.worker} (seen {ago(worker.seen_ns, now_ns=now_ns)})" for worker in workers)
    return Check(name="workers", state="ok", message=f"{len(workers)}: {seen}")


def _check_offers(offers: Sequence[OfferRow]) -> Check:
    if not offers:
        return Check(
            name="offers",
            state="warn",
            message="no live worker offers a scorer",
            todo="start a worker with your app: TRACESCORE_APP=module:attr tracescore up",
        )
    by_app: dict[str, set[str]] = {}
    for row in offers:
        by_app.setdefault(row.app, set()).add(f"{row.offer.scorer_id} {row.offer.version[:10]}")
    message = "; ".join(f"app {app}: {', '.join(sorted(names))}" for app, names in sorted(by_app.items()))
    return Check(name="offers", state="ok", message=message)


async def _check_jobs(store: Store, settings: Settings, now_ns: int) -> Check:
    from tracescore.pipeline.stranded import stranded

    counts = await store.jobs.counts(settings.project)
    said = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in counts.items() if count) or "none yet"
    supersede_ns = int(settings.offer_supersede * 10**9)
    waiting = [
        left for left in await stranded(store, settings.project, now_ns=now_ns, supersede_ns=supersede_ns) if left.jobs
    ]
    if waiting:
        why = "; ".join(f"{left.jobs} wait: {left.reason(now_ns=now_ns)}" for left in waiting[:STRANDED_SHOWN])
        more = f"; and {len(waiting) - STRANDED_SHOWN} more versions" if len(waiting) > STRANDED_SHOWN else ""
        return Check(
            name="jobs",
            state="warn",
            message=f"{said}; {why}{more}",
            todo="start a worker whose app has these scorers; another version that is offered takes them over",
        )
    if counts["failed"]:
        return Check(
            name="jobs", state="warn", message=said, todo="`tracescore scores --outcome failure` says why they failed"
        )
    return Check(name="jobs", state="ok", message=said)


def _check_planning(decided: Sequence[Decided]) -> Check:
    """Say what became of the runs of the last day before there was a job."""
    totals = Counter[str]()
    for row in decided:
        totals[row.outcome] += row.count
    if not totals:
        return Check(name="planning", state="ok", message="no rule saw a run in the last 24 h")
    said = [f"{count} {outcome.replace('_', ' ')}" for outcome, count in sorted(totals.items())]
    refused = [row for row in decided if row.outcome in REFUSED and row.example]
    why = [f"{row.scorer_id}, {row.outcome.replace('_', ' ')}: {row.example}" for row in refused[:STRANDED_SHOWN]]
    message = "; ".join([f"in the last 24 h {', '.join(said)}", *why])
    if totals["prepare_failed"]:
        return Check(name="planning", state="warn", message=message, todo="correct prepare_run; the runs are kept")
    return Check(name="planning", state="ok", message=message)


def _without_credentials(url: str) -> str:
    netloc = urlsplit(url).netloc
    return url.replace(netloc, netloc.rpartition("@")[2], 1) if "@" in netloc else url
