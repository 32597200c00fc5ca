"""Score runs in this process, without a store or a queue: what the rules choose, prepared as it would be queued."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

from tracescore.model import AgentRun, RunKind, ScoreOutcome, ScorerRun, Trace, dump_run, load_any_run
from tracescore.pipeline.assembly import assemble_all
from tracescore.pipeline.preparing import NothingToScore, PrepareFailed, RunPreparation, refused
from tracescore.pipeline.redacting import judge_door
from tracescore.pipeline.rules import RuleSet
from tracescore.pipeline.session_runs import session_record
from tracescore.redaction import Redaction
from tracescore.scorers import Scorer
from tracescore.store import StoredTurn

AnyRun: TypeAlias = ScorerRun[Any, Any]


def runs_of(
    traces: Iterable[Trace], kinds: Collection[RunKind], *, project: str
) -> tuple[list[AgentRun], list[AnyRun]]:
    """Give the agents' runs of traces, and those of the kinds that are asked for beside them.

    These traces are all that there is of their sessions: each session is one run.
    """
    agents: list[AgentRun] = []
    others: list[AnyRun] = []
    beside = frozenset(kinds) - {"agent", "trace"}
    for trace in traces:
        assembled, parts = assemble_all(trace, beside, project=project)
        agents += [found.run for found in assembled]
        others += [found.run for found in parts]
    return agents, [*others, *(_sessions(agents, project) if "session" in kinds else ())]


async def score_here(
    rules: RuleSet, scorer: Scorer[Any, Any], run: AnyRun, *, redaction: Redaction | None
) -> ScoreOutcome:
    """Prepare a run as the app and its rules say, and score it; an error is an outcome, never raised.

    A judge sees it through its door of the redaction policy, as it does from a worker.
    """
    stages = rules.stages(scorer.id)
    try:
        prepared = await asyncio.to_thread(RunPreparation(run).through, stages) if stages else run
    except (NothingToScore, PrepareFailed) as refusal:
        return refused(refusal, run_id=run.run_id, scorer=scorer)
    redactor = judge_door(redaction, run) if scorer.needs_judge else None
    return await scorer.run_prepared(await scorer.prepare(prepared), redactor=redactor)


def _sessions(runs: Iterable[AgentRun], project: str) -> Iterable[AnyRun]:
    turns: defaultdict[str, list[AgentRun]] = defaultdict(list)
    for run in runs:
        if run.session_id is not None and run.outermost:
            turns[run.session_id].append(run)
    for session_id, found in turns.items():
        found.sort(key=lambda run: (run.start_ns, run.run_id))
        stored = [StoredTurn(body=dump_run(run), first_arrival_ns=0) for run in found]
        if (record := session_record(project, session_id, stored)) is not None:
            yield load_any_run(record.body)
