"""The part of the scheduler that turns idle conversations into runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from tracescore.pipeline.child import ChildDied
from tracescore.pipeline.leases import NS
from tracescore.pipeline.session_runs import MAX_TURNS, session_record
from tracescore.store import RunRecord, SessionClaim, Store, StoredTurn

logger = logging.getLogger(__name__)

SESSIONS = 16
LEASE_NS = 60 * NS
RETRY_NS = 2 * NS
DEATHS = 3
"""A session whose making killed its process as often as this is left until one of its runs changes."""


class SettlingSessions:
    """Make the runs of sessions that are due and keep them; ``in_child`` runs a function in the assembly process."""

    def __init__(
        self,
        store: Store,
        *,
        in_child: Callable[..., Awaitable[RunRecord | None]],
        on_runs: Callable[[], None],
    ) -> None:
        self._store = store
        self._in_child = in_child
        self._on_runs = on_runs
        self._deaths: dict[SessionClaim, int] = {}

    async def step(self) -> bool:
        """Make the runs of the sessions that are due; True where there may be more."""
        claims = await self._store.sessions.claim(now_ns=time.time_ns(), limit=SESSIONS, lease_ns=LEASE_NS)
        for done, claim in enumerate(claims):
            try:
                await self._store.sessions.settle(claim, next_check_ns=await self._settle(claim))
            except BaseException:
                # Those behind it need not wait for the lease; should the store be away, they do.
                await self._give_back(claims[done:])
                raise
        return len(claims) == SESSIONS

    async def _settle(self, claim: SessionClaim) -> int | None:
        # One more than is kept shows that there are more.
        turns = await self._store.sessions.turns(claim.project, claim.session_id, limit=MAX_TURNS + 1)
        try:
            record = await self._made(claim, turns)
        except ChildDied as error:
            return self._after_death(claim, error)
        except Exception:
            # A defect of ours in one session: the others go on, and a new turn has it tried again.
            logger.exception("session %s cannot be made a run", claim.session_id)
            return None
        replaced = await self._store.runs.replace_session(
            claim.project, claim.session_id, claim.version, record, now_ns=time.time_ns()
        )
        if replaced.new or replaced.revised or replaced.withdrawn:
            self._on_runs()
        return None

    async def _made(self, claim: SessionClaim, turns: Sequence[StoredTurn]) -> RunRecord | None:
        return await self._in_child(session_record, claim.project, claim.session_id, turns) if turns else None

    async def _give_back(self, claims: Sequence[SessionClaim]) -> None:
        for claim in claims:
            await self._store.sessions.settle(claim, next_check_ns=time.time_ns() + RETRY_NS)

    def _after_death(self, claim: SessionClaim, error: ChildDied) -> int | None:
        deaths = self._deaths[claim] = self._deaths.get(claim, 0) + 1
        logger.error("session %s: %s (%d of %d)", claim.session_id, error, deaths, DEATHS)
        if deaths < DEATHS:
            return time.time_ns() + deaths * NS
        del self._deaths[claim]
        return None
