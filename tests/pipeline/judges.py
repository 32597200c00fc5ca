"""Judges and stores that misbehave on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from tracescore.errors import StoreUnavailable
from tracescore.judge import Judge, JudgeModel, JudgeReply, JudgeRequest
from tracescore.scorers import Scorer, create_scorer
from tracescore.store import ClaimedJob, FinishedJob, Offered, Store

INSTRUCTIONS = "You are strict."


class LatencyJudge:
    """Answer after a latency that changes from call to call; keeps the prompts."""

    name = "latency-judge"

    def __init__(self, latencies: Sequence[float]) -> None:
        self._latencies = latencies
        self.prompts: list[str] = []

    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        self.prompts.append(str(request.messages[-1]["content"]))
        await asyncio.sleep(self._latencies[len(self.prompts) % len(self._latencies)])
        return JudgeReply(text='{"score": 0.5}', finish_reason="stop", model=self.name)


class GateJudge:
    """Answer nothing until the gate is opened."""

    name = "gate-judge"

    def __init__(self) -> None:
        self.asked = 0
        self.cancelled = 0
        self._gate = asyncio.Event()

    def open(self) -> None:
        self._gate.set()

    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        self.asked += 1
        try:
            await self._gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return JudgeReply(text='{"score": 1.0}', finish_reason="stop", model=self.name)


class OneSlowJudge:
    """Keep the first call until the gate is opened, and the others until all slots are taken once."""

    name = "one-slow-judge"

    def __init__(self, slots: int = 8) -> None:
        self.running = 0
        self.most = 0
        self._slots = slots
        self._asked = 0
        self._gate = asyncio.Event()
        self._full = asyncio.Event()

    def open(self) -> None:
        self._gate.set()

    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        self._asked += 1
        first = self._asked == 1
        self.running += 1
        self.most = max(self.most, self.running)
        if self._asked == self._slots:
            self._full.set()
        await (self._gate if first else self._full).wait()
        self.running -= 1
        return JudgeReply(text='{"score": 1.0}', finish_reason="stop", model=self.name)


def judged_scorer(model: JudgeModel, *, id: str = "judged", **options: Any) -> Scorer[Any, Any, Any]:
    return create_scorer(
        id=id, type="agent", judge=Judge(model=model, instructions=INSTRUCTIONS), version="1", **options
    ).generate_score(description="judge it", create_prompt=lambda ctx: ctx.run.output.text)


class FaultyJobs:
    """The jobs of a store whose renewals or writes do not come through."""

    def __init__(self, store: Store) -> None:
        self._jobs = store.jobs
        self.renewals_fail = False
        self.writes_to_fail = 0
        self.reads_to_fail = 0
        self.claims_break = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jobs, name)

    async def renew(self, worker: str, jobs: Sequence[tuple[str, int]], *, until_ns: int) -> set[str]:
        if self.renewals_fail:
            raise StoreUnavailable("cut off")
        return await self._jobs.renew(worker, jobs, until_ns=until_ns)

    async def claim(self, offers: Sequence[Offered], **options: Any) -> list[ClaimedJob]:
        if self.claims_break:
            raise AssertionError("a defect")
        return await self._jobs.claim(offers, **options)

    async def finish(self, finished: Sequence[FinishedJob]) -> set[str]:
        if self.writes_to_fail:
            self.writes_to_fail -= 1
            raise StoreUnavailable("locked")
        return await self._jobs.finish(finished)

    async def load_replies(self, job_id: str) -> dict[tuple[str, str], str]:
        if self.reads_to_fail:
            self.reads_to_fail -= 1
            raise StoreUnavailable("stopped")
        return await self._jobs.load_replies(job_id)


class FaultyStore:
    """A store of which one part can be cut off, as for a process whose machine stalls."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.jobs = FaultyJobs(store)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
