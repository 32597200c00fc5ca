"""Runs as a person reads them: a heading, and one labelled line for each thing the run holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tracescore.cli.outcomes import ShownOutcome
from tracescore.cli.screen import one_line
from tracescore.model import (
    AgentRun,
    DataPart,
    ErrorPart,
    MediaPart,
    Message,
    Messages,
    ReasoningPart,
    ScorerRun,
    TextPart,
    ToolCall,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

AnyRun: TypeAlias = ScorerRun[Any, Any]

LINE_LIMIT = 320
"""How much of one message a card shows; ``--json`` has all of it."""
REMEMBERED_SHOWN = 4

_STATUS_STYLE = {"ok": "green", "error": "red", "paused": "yellow"}
_ROW_STYLE = {"issue": "yellow", "error": "red"}


def call_line(call: ToolCall, *, limit: int = LINE_LIMIT) -> str:
    """Give a tool call as ``name(arguments) → result``."""
    match call.arguments:
        case None:
            arguments = "…"  # no span recorded them
        case dict():
            arguments = ", ".join(f"{name}={_value(value, limit)}" for name, value in call.arguments.items())
        case _:
            arguments = _value(call.arguments, limit)
    if call.error is not None:
        outcome = f"failed: {call.error}"
    elif call.result is not None:
        outcome = _value(call.result, limit)
    else:
        outcome = "(no result)"
    return one_line(f"{call.name}({arguments}) → {outcome}", limit=limit)


def message_line(message: Message, *, limit: int = LINE_LIMIT) -> str:
    """Give all parts of a message on one line."""
    return one_line(" ".join(_parts(message, limit)), limit=limit)


def run_name(run: AnyRun) -> str:
    """Give the name of what ran, or say that no span states one."""
    return agent_label(run.name or run.agent_name, run.kind)


def agent_label(name: str | None, kind: str) -> str:
    """Give an agent's name, or what stands where there is none."""
    if name:
        return one_line(name, limit=60)
    return {"trace": "(whole trace)", "agent": "(unnamed agent)"}.get(kind, f"({kind})")


def heading(run: AnyRun, *, facts: bool = True) -> Text:
    """Give a card's first line, with what is known of the run unless ``facts`` is False."""
    from rich.text import Text

    line = Text().append("● ", style=_STATUS_STYLE[run.status])
    line.append(run_name(run), style="bold")
    said = [run.kind, run.status, *_facts(run)] if facts else [run.status]
    return line.append("  " + " · ".join(said), style="dim")


def content_rows(run: AgentRun) -> Iterator[tuple[str, str]]:
    """Give what a run holds as (label, line) pairs, in reading order; what it has not is left out."""
    yield from _labelled("system", (message_line(message) for message in run.input.system_messages))
    for tag, messages in run.input.tagged_system_messages.items():
        yield from _labelled(one_line(tag, limit=14), (message_line(message) for message in messages))
    yield from _labelled("remembered", _remembered(run.input.remembered_messages))
    yield from input_rows(run)
    yield from output_rows(run) if run.output else (("output", "(none)"),)
    yield from error_rows(run)
    yield from _labelled("retrieved", (one_line(document.text, limit=LINE_LIMIT) for document in run.contexts))
    yield from _labelled("issue", (one_line(f"{i.code}: {i.detail}", limit=LINE_LIMIT) for i in run.issues))


def input_rows(run: AgentRun) -> Iterator[tuple[str, str]]:
    """Give what the run was asked."""
    yield from _labelled("input", (message_line(message) for message in run.input.input_messages))


def output_rows(run: AgentRun) -> Iterator[tuple[str, str]]:
    """Give the tool calls and the answers of a run, in the order in which they came."""
    for message in run.output:
        for call in message.tool_calls:
            yield "tool", call_line(call)
        rest = [part for part in message.parts if not isinstance(part, ToolCall)]
        if rest:
            yield "output", message_line(Message(role=message.role, parts=tuple(rest)))


def error_rows(run: AnyRun) -> Iterator[tuple[str, str]]:
    """Give why a run failed."""
    if run.status == "error":
        yield "error", one_line(run.error or "no message", limit=LINE_LIMIT)


def part_rows(run: AnyRun) -> Iterator[tuple[str, str]]:
    """Give what a run holds that is no agent's: what went in and what came out."""
    for label, value in (("input", run.input), ("output", run.output)):
        if isinstance(value, Messages):
            yield from _labelled(label, (f"{message.role}: {message_line(message)}" for message in value))
        elif value is not None:
            yield label, one_line(value if isinstance(value, str) else _value(value, LINE_LIMIT), limit=LINE_LIMIT)
    yield from error_rows(run)
    yield from _labelled("issue", (one_line(f"{i.code}: {i.detail}", limit=LINE_LIMIT) for i in run.issues))


def card(run: AnyRun, outcomes: Sequence[ShownOutcome] = ()) -> RenderableType:
    """Give one run with its outcomes."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    rows = content_rows(run) if isinstance(run, AgentRun) else part_rows(run)
    ids = f"  run {run.run_id} · trace {run.trace_id or '–'} · span {run.span_id or '–'}"
    parts: list[RenderableType] = [heading(run), Text(ids, style="dim"), content_grid(rows)]
    if outcomes:
        parts.append(outcome_grid(outcomes))
    return Padding(Group(*parts), (0, 0, 1, 0))


def content_grid(rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Give (label, line) pairs with their lines under one another."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=10)
    grid.add_column(overflow="fold")
    for label, line in rows:
        grid.add_row(Text(label, style="cyan"), Text(line, style=_ROW_STYLE.get(label, "")))
    return Padding(grid, (0, 0, 0, 2))


def outcome_grid(outcomes: Sequence[ShownOutcome]) -> RenderableType:
    """Give outcomes as lines of scorer, figure and reason."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=10)
    grid.add_column(no_wrap=True, justify="right", min_width=4)
    grid.add_column(overflow="fold")
    for outcome in outcomes:
        words = Text(outcome.words, style="red" if outcome.outcome == "failure" else "dim")
        grid.add_row(Text(outcome.scorer_id, style="magenta"), outcome.text(), words)
    return Padding(grid, (0, 0, 0, 2))


def duration(nanoseconds: int) -> str:
    """Give a duration as a person says it."""
    seconds = nanoseconds / 1e9
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _facts(run: AnyRun) -> Iterator[str]:
    if run.model:
        yield one_line(run.model, limit=40)
    if run.end_ns > run.start_ns > 0:
        yield duration(run.end_ns - run.start_ns)
    if run.usage.input is not None or run.usage.output is not None:
        yield f"{run.usage.input or 0} → {run.usage.output or 0} tokens"
    if run.session_id:
        yield f"session {one_line(run.session_id, limit=40)}"
    if run.parent_run_id:
        yield f"inside {run.parent_run_id[:8]}"


def _labelled(label: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines):
        yield (label if number == 0 else ""), line


def _remembered(messages: Sequence[Message]) -> Iterator[str]:
    hidden = len(messages) - REMEMBERED_SHOWN
    if hidden > 0:
        yield f"({hidden} earlier messages)"
    for message in messages[-REMEMBERED_SHOWN:]:
        yield f"{message.role}: {message_line(message)}"


def _parts(message: Message, limit: int) -> Iterator[str]:
    for part in message.parts:
        match part:
            case TextPart():
                yield part.text[: 8 * limit]
            case ReasoningPart():
                yield f"(thinks: {one_line(part.text, limit=limit // 2)})"
            case ToolCall():
                yield call_line(part, limit=limit)
            case MediaPart():
                yield f"[{part.type}{': ' + part.media_type if part.media_type else ''}]"
            case DataPart():
                yield _value(part.data, limit)
            case ErrorPart():
                yield f"(error: {part.message[: 8 * limit]})"


def _value(value: object, limit: int) -> str:
    """Give a JSON value as compact text, without building all of a large one's line."""
    import orjson

    if isinstance(value, str) and len(value) > 8 * limit:
        return '"' + value[: 8 * limit]
    try:
        return orjson.dumps(value, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
    except (orjson.JSONEncodeError, RecursionError):
        return repr(value)[: 8 * limit]
