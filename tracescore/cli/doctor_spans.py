"""``tracescore doctor --spans``: which services send spans, and whether their runs can be read."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracescore.pipeline.seen_services import SeenService, SeenServices
    from tracescore.settings import Settings

_STYLES = {"readable": "green", "partly": "yellow", "without content": "red", "not agent traffic": "dim"}


def show_spans(chosen: Settings, *, as_json: bool) -> None:
    """Read a sample of the store's traces and print the services in it."""
    from tracescore.cli.opening import opened_store
    from tracescore.cli.screen import console, print_json
    from tracescore.cli.times import iso
    from tracescore.pipeline.seen_services import services_seen

    with opened_store(chosen.store) as store:
        seen = asyncio.run(services_seen(store, chosen.project))
    if as_json:
        print_json(
            {**asdict(seen), "services": [{**asdict(one), "newest": iso(one.newest_ns)} for one in seen.services]}
        )
        return
    _print(seen, console())


def _print(seen: SeenServices, out: Any) -> None:
    from rich.text import Text

    from tracescore.cli.screen import counted, one_line

    if not seen.services:
        out.print("No spans are stored yet: point an OTLP exporter here, or import a file (`tracescore import FILE`).")
        return
    out.print(Text(f"{counted(len(seen.services), 'service')} in {seen.sampled} of {counted(seen.traces, 'trace')}"))
    for service in seen.services:
        line = Text(one_line(service.name, limit=60), style="bold")
        line.append(f"  {service.state}", style=_STYLES[service.state])
        line.append(f"  {_counts(service)}", style="dim")
        out.print(line)
        for one in service.instrumentations:
            name = one_line(f"{one.name or '(no scope)'} {one.version}", limit=80)
            out.print(Text(f"  {name}: {counted(one.spans, 'span')}", style="dim"))
            if one.setting is not None:
                said = f"  → {counted(one.runs_without_content, 'run')} without content: {one_line(one.setting)}"
                out.print(Text(said, style="cyan"))


def _counts(service: SeenService) -> str:
    from tracescore.cli.screen import counted
    from tracescore.cli.times import ago

    runs = f", {counted(service.runs, 'run')}" if service.runs else ""
    return (
        f"{counted(service.traces, 'trace')}, {counted(service.spans, 'span')}{runs}, newest {ago(service.newest_ns)}"
    )
