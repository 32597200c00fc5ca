"""``tracescore score``: read, assemble and score files in this process, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracescore.cli.interrupts import INTERRUPTED, run_interruptibly
from tracescore.cli.options import DEMO_APP, FILES_HELP, App, AsJson, find_modules_here, settings

if TYPE_CHECKING:
    from tracescore.app import TraceScore
    from tracescore.model import ScoreOutcome
    from tracescore.pipeline.in_process import AnyRun
    from tracescore.scorers import Scorer

FAILED = 1
"""The exit code where a scorer failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredRun:
    """A run and what its scorers said."""

    run: AnyRun
    outcomes: tuple[ScoreOutcome, ...]


def score(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help=FILES_HELP),
    ],
    scorer_ids: Annotated[
        list[str] | None,
        typer.Option(
            "--scorer",
            metavar="ID",
            help="Only this scorer, on every run of its rules' kinds whatever else they say; repeatable.",
        ),
    ] = None,
    app_name: App = None,
    as_json: AsJson = False,
) -> None:
    """Score the runs in files, without a server: agents' runs, and the kinds that the app's rules ask for.

    Exit code 0: every file was read; 1: a scorer failed; 2: a file could not be read (the rest is scored all the same);
    130: interrupted, with what was scored by then.
    """
    from tracescore.app import load_app
    from tracescore.cli.outcomes import outcome_to_json
    from tracescore.cli.reading import UNREADABLE, read_runs
    from tracescore.cli.screen import counted, note, print_json

    find_modules_here()
    app = load_app(app_name or DEMO_APP)
    if not app_name:
        note(f"No app given: scoring with the demo's scorers ({', '.join(app.scorers)}). Yours: --app module:attr")
    chosen = _chosen(app, scorer_ids or ())
    rules = app.rule_set
    by_kind = {scorer.id: rules.kinds_for(scorer.id) for scorer in chosen}
    reading = read_runs(files, kinds=frozenset().union(*by_kind.values()) if chosen else rules.kinds)
    plan: list[tuple[AnyRun, Sequence[Scorer[Any, Any]]]] = []
    left_out = 0
    for run in (*reading.runs, *reading.others):
        decided = [] if chosen else rules.decide(run, source="manual")
        scorers = [planned.scorer for planned in decided if planned.sampled_in]
        scorers += [scorer for scorer in chosen if run.kind in by_kind[scorer.id]]
        # An agent's run that no rule takes is shown all the same; of the tools and calls there are far too many.
        if scorers or (not chosen and run.kind in ("agent", "trace")):
            plan.append((run, scorers))
        left_out += sum(not planned.sampled_in for planned in decided)
    if left_out:
        note(f"{left_out} left out by the rules' sample rates; --scorer ID scores every run.")
    ended: list[ScoreOutcome] = []
    interrupted = False
    try:
        scored = run_interruptibly(_all(app, plan, ended, slots=settings().slots, show=not as_json))
        outcomes = [outcome for item in scored for outcome in item.outcomes]
    except KeyboardInterrupt:
        interrupted, outcomes = True, list(ended)
    if as_json:
        print_json([outcome_to_json(outcome) for outcome in outcomes])
    else:
        _print_sum(outcomes, runs=len({outcome.run_id for outcome in outcomes}) if interrupted else len(plan))
    if interrupted:
        asked = sum(len(scorers) for _, scorers in plan)
        note(f"tracescore: interrupted; {len(outcomes)} of {counted(asked, 'outcome')} were there")
        raise typer.Exit(INTERRUPTED)
    if not reading.all_read:
        raise typer.Exit(UNREADABLE)
    if any(outcome.outcome == "failure" for outcome in outcomes):
        raise typer.Exit(FAILED)


def _chosen(app: TraceScore, scorer_ids: Sequence[str]) -> list[Scorer[Any, Any]]:
    from difflib import get_close_matches

    from tracescore.errors import ConfigurationError

    for scorer_id in scorer_ids:
        if scorer_id not in app.scorers:
            near = get_close_matches(scorer_id, app.scorers, n=1)
            raise ConfigurationError(
                f"no scorer {scorer_id!r} in the app"
                + (f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(app.scorers)}")
            )
    return [app.scorers[scorer_id] for scorer_id in dict.fromkeys(scorer_ids)]


async def _all(
    app: TraceScore,
    plan: Sequence[tuple[AnyRun, Sequence[Scorer[Any, Any]]]],
    ended: list[ScoreOutcome],
    *,
    slots: int,
    show: bool,
) -> list[ScoredRun]:
    """Score all; outcomes come into ``ended`` one by one, where an interruption leaves them."""
    from tracescore.cli.cards import card
    from tracescore.cli.outcomes import shown
    from tracescore.cli.screen import console

    out = console()
    done: list[ScoredRun] = []
    async for item in _in_order(app, plan, ended, slots=slots):
        done.append(item)
        if show:
            out.print(card(item.run, [shown(outcome) for outcome in item.outcomes]))
    return done


async def _in_order(
    app: TraceScore,
    plan: Sequence[tuple[AnyRun, Sequence[Scorer[Any, Any]]]],
    ended: list[ScoreOutcome],
    *,
    slots: int,
) -> AsyncIterator[ScoredRun]:
    """Score all runs at once, ``slots`` at a time, and give them in the order in which they were read."""
    from tracescore.pipeline.in_process import score_here
    from tracescore.redaction import load_redaction

    free = asyncio.Semaphore(slots)
    redaction = app.redaction or load_redaction(settings().redaction)

    async def one(scorer: Scorer[Any, Any], run: AnyRun) -> ScoreOutcome:
        async with free:
            outcome = await score_here(app.rule_set, scorer, run, redaction=redaction)
        ended.append(outcome)
        return outcome

    async with asyncio.TaskGroup() as group:
        started = [(run, [group.create_task(one(scorer, run)) for scorer in scorers]) for run, scorers in plan]
        for run, tasks in started:
            yield ScoredRun(run=run, outcomes=tuple([await task for task in tasks]))


def _print_sum(outcomes: Sequence[ScoreOutcome], *, runs: int) -> None:
    from tracescore.cli.screen import console, counted

    counts = {
        kind: sum(outcome.outcome == kind for outcome in outcomes) for kind in ("score", "not_scorable", "failure")
    }
    console().print(
        f"{counted(runs, 'run')}: {counted(counts['score'], 'score')}, {counts['not_scorable']} not scorable, "
        f"{counted(counts['failure'], 'failure')}"
    )
