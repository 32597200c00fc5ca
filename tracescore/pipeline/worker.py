"""One process's share of the work: a loop on a thread of its own that runs the pump and the scheduler."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread

from tracescore.errors import StoreError
from tracescore.model import DEFAULT_PROJECT
from tracescore.pipeline.assembling import SettleTimes
from tracescore.pipeline.loops import repeat
from tracescore.pipeline.offers import ScoringApp, described_versions, offer_records
from tracescore.pipeline.pump import Pump
from tracescore.pipeline.scheduler import Scheduler
from tracescore.pipeline.wake import Wake
from tracescore.redaction import Redaction
from tracescore.sinks import Sink
from tracescore.store import Store

logger = logging.getLogger(__name__)

HEARTBEAT = 5.0
FIND_PROJECTS_EVERY = 1.0
POLL_ALONE = 1.0
"""How often the store is asked for due jobs where no broker tells of them."""
POLL_BESIDE_BROKER = 5.0
"""The same beside a broker: for wakes that were lost, or taken by a process that is full."""
STOP_SECONDS = 15.0
"""What stopping may take beyond its grace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerOptions:
    """How a worker process works; times in seconds."""

    projects: tuple[str, ...] = (DEFAULT_PROJECT,)
    """Whose runs are scored from the start."""
    finds_projects: bool = False
    """Whether those of every other project are scored too, once it has a token or a run."""
    slots: int = 64
    lease: float = 60.0
    times: SettleTimes = field(default_factory=SettleTimes)
    has_broker: bool = False
    offer_supersede: float = 600.0


class Worker:
    """Settle, plan, score and deliver in this process until it is stopped.

    ``start`` gives a thread of its own to all of it; the other methods may be called from any thread.
    """

    def __init__(
        self,
        store: Store,
        app: ScoringApp,
        *,
        wake: Wake,
        options: WorkerOptions | None = None,
        sinks: Sequence[Sink] = (),
        redaction: Redaction | None = None,
        on_failure: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.id = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._store = store
        self._app = app
        self._wake = wake
        self._options = options or WorkerOptions()
        self._sinks = tuple(sinks)
        self._redaction = redaction
        self._on_failure = on_failure
        self._projects = self._options.projects
        self._looked_ns = 0
        self._broker_up = False
        self._pump: Pump | None = None
        self._failure: BaseException | None = None
        self._begun = Event()
        self._grace = 0.0
        self._stop_asked = Event()
        self._stopping: asyncio.Event | None = None
        self._beat_now: asyncio.Event | None = None
        self._thread = Thread(target=self._run, name="tracescore-worker", daemon=True)

    def start(self) -> None:
        """Start, and return when the worker has told the store what it offers.

        Raises:
            StoreError: the store cannot be used.
        """
        self._thread.start()
        self._begun.wait()
        if self._failure is not None:
            raise self._failure

    def wake(self, job_ids: Sequence[str] = ()) -> None:
        """Look for due jobs now, these first."""
        if self._pump is not None:
            self._pump.wake(job_ids)

    def broker_is_up(self, up: bool) -> None:
        """Say whether wakes come through: while they do not, the store is polled each second."""
        self._broker_up = up
        self.wake()
        self._on_loop(lambda _: self._beat_now.set() if self._beat_now else None)

    def stop_claiming(self) -> None:
        """Claim nothing more; what is held goes on. Fit for a signal's handler: it waits for nothing."""
        self._on_loop(lambda pump: pump.stop_claiming())

    def stop(self, *, grace: float) -> None:
        """Wait for the work in flight within ``grace`` seconds, give back the rest, and end; harmless twice."""
        self._grace = grace
        self._stop_asked.set()
        self._on_loop(lambda _: self._stopping.set() if self._stopping else None)
        self._thread.join(grace + STOP_SECONDS)
        self._wake.close()
        if self._thread.is_alive():
            logger.error("the worker did not stop within %.0f s; its leases end by themselves", grace + STOP_SECONDS)

    @property
    def alive(self) -> bool:
        """Tell whether the worker is running."""
        return self._thread.is_alive()

    def _on_loop(self, action: Callable[[Pump], None]) -> None:
        if self._pump is not None:
            try:
                self._pump.loop.call_soon_threadsafe(action, self._pump)
            except RuntimeError:  # the loop has ended
                return

    def _run(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as error:  # handed to whoever started or watches this worker
            if not self._begun.is_set():
                self._failure = error
                return
            logger.critical("the worker failed", exc_info=error)
            if self._on_failure is not None:
                self._on_failure(error)
        finally:
            self._begun.set()

    async def _work(self) -> None:
        options = self._options
        self._looked_ns = time.time_ns()
        self._projects += await self._new_projects()
        self._stopping = asyncio.Event()
        self._beat_now = asyncio.Event()
        pump = Pump(
            self._store,
            self._app,
            projects=self._projects,
            worker_id=self.id,
            slots=options.slots,
            lease=options.lease,
            sinks=[sink.name for sink in self._sinks],
            redaction=self._redaction,
        )
        scheduler = Scheduler(
            self._store,
            self._app,
            worker_id=self.id,
            projects=self._projects,
            wake=self._tell_of_jobs,
            times=options.times,
            sinks=self._sinks,
            offer_supersede=options.offer_supersede,
            redaction=self._redaction,
        )
        await scheduler.register()
        await self._describe(self._projects)
        await self._tell()  # last: whoever sees this worker may count on its rules
        async with asyncio.TaskGroup() as group:
            pumping = group.create_task(pump.run())
            others = [
                group.create_task(scheduler.run()),
                group.create_task(repeat(self._beat, name="heartbeat", every=HEARTBEAT, poked=self._beat_now)),
                group.create_task(self._poll(pump)),
            ]
            if options.finds_projects:
                others.append(
                    group.create_task(
                        repeat(lambda: self._find_projects(pump, scheduler), name="projects", every=FIND_PROJECTS_EVERY)
                    )
                )
            self._pump = pump
            self._begun.set()
            if self._stop_asked.is_set():
                self._stopping.set()
            await self._stopping.wait()
            await pump.drain(self._grace)
            for task in others:
                task.cancel()
            await pumping
        try:
            await self._store.control.forget_worker(self.id)
        except StoreError as error:
            logger.warning("the store still lists this worker: %s", error)

    async def _poll(self, pump: Pump) -> None:
        while True:
            alone = not (self._options.has_broker and self._broker_up)
            await asyncio.sleep(POLL_ALONE if alone else POLL_BESIDE_BROKER)
            try:
                await pump.poll()
            except StoreError as error:
                logger.warning("cannot look for due jobs: %s", error)

    def _tell_of_jobs(self, job_ids: Sequence[str], queue: str) -> None:
        """Tell whoever may score these jobs: other processes by the broker, this one directly where there is none."""
        self._wake.wake(job_ids, queue=queue)
        if not (self._options.has_broker and self._broker_up):
            self.wake(job_ids)

    async def _new_projects(self) -> tuple[str, ...]:
        if not self._options.finds_projects:
            return ()
        found = await self._store.control.projects()
        return tuple(project for project in found if project not in self._projects)

    async def _find_projects(self, pump: Pump, scheduler: Scheduler) -> bool:
        """Take on projects that are new since the last look: whatever they hold came after it."""
        now_ns = time.time_ns()
        new = await self._new_projects()
        if new:
            await scheduler.plan_for(new, seen_ns=self._looked_ns)
            await self._describe(new)
            self._projects += new
            await self._tell()
            pump.offer_in(self._projects)
        self._looked_ns = now_ns
        return False

    async def _describe(self, projects: Sequence[str]) -> None:
        """Keep what the versions that are offered are made of, so that later ones can be held against them."""
        described = described_versions(self._app)
        for project in projects:
            await self._store.offered.describe(project, described)

    async def _beat(self) -> bool:
        await self._tell()
        return False

    async def _tell(self) -> None:
        now_ns = time.time_ns()
        offers = offer_records(self._app)
        await asyncio.gather(
            *(
                self._store.control.register_offers(
                    self.id, self._app.name, project, offers, now_ns=now_ns, kinds=self._app.rule_set.kinds
                )
                for project in self._projects
            )
        )
        info = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "app": self._app.name,
            "slots": self._options.slots,
            "broker": ("up" if self._broker_up else "away") if self._options.has_broker else "none",
            "held": self._pump.held if self._pump else 0,
            "written": self._pump.written if self._pump else 0,
        }
        await self._store.control.heartbeat(self.id, info, now_ns)
