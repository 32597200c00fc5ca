"""``tracescore scorers --diff``: what changed in an app's scorers since a version that was offered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracescore.app import TraceScore
    from tracescore.settings import Settings
    from tracescore.store import DescribedVersion


def version_diffs(
    app: TraceScore, chosen: Settings, *, scorer_id: str | None, against: str | None
) -> list[dict[str, Any]]:
    """Compare each scorer of an app with the version of it that was offered last, or with the one asked for.

    Raises:
        InputError: the app has no such scorer, or the store no such version.
    """
    from tracescore.cli.opening import opened_store
    from tracescore.cli.times import iso
    from tracescore.errors import InputError
    from tracescore.scorers.changed import changes
    from tracescore.scorers.described import describe_scorer, load_facts

    if scorer_id is not None and scorer_id not in app.scorers:
        raise InputError(f"the app has no scorer {scorer_id!r}; it has {', '.join(sorted(app.scorers)) or 'none'}")
    found: list[dict[str, Any]] = []
    with opened_store(chosen.store) as store:
        for scorer in app.scorers.values():
            if scorer_id not in (None, scorer.id):
                continue
            stored = asyncio.run(store.offered.described(chosen.project, scorer.id))
            before = _chosen(stored, current=scorer.version, against=against)
            if before is None and against is not None and scorer_id is not None:
                known = ", ".join(version.version for version in stored) or "none"
                raise InputError(f"no version {against!r} of {scorer_id!r} was offered here; known are: {known}")
            changed = [] if before is None else changes(load_facts(before.body), describe_scorer(scorer))
            found.append(
                {
                    "scorer_id": scorer.id,
                    "version": scorer.version,
                    "against": before.version if before else None,
                    "offered_at": iso(before.seen_ns) if before and before.seen_ns else None,
                    "same_version": before is not None and before.version == scorer.version,
                    "changes": [{"what": change.label, "lines": list(change.lines)} for change in changed],
                }
            )
    return found


def _chosen(stored: list[DescribedVersion], *, current: str, against: str | None) -> DescribedVersion | None:
    """Choose what to compare with: another version if there is one, since of the same only a given one can differ."""
    if against is not None:
        return next((version for version in stored if version.version.startswith(against)), None)
    return next((version for version in stored if version.version != current), stored[0] if stored else None)


def print_diffs(found: list[dict[str, Any]]) -> None:
    """Print what changed, scorer by scorer."""
    from rich.text import Text

    from tracescore.cli.screen import console, one_line

    out = console()
    for item in found:
        out.print(Text(one_line(item["scorer_id"]), style="magenta"), Text(_versions(item), style="dim"))
        for change in item["changes"]:
            out.print(Text(f"  {one_line(change['what'])}", style="bold"))
            for line in change["lines"]:
                style = {"-": "red", "+": "green"}.get(line[:1], "dim")
                out.print(Text(f"    {one_line(line[:1]) or ' '} {_code(line[1:])}", style=style))
            if not change["lines"]:
                out.print(Text("    changed beyond what is kept of it", style="dim"))


def _versions(item: dict[str, Any]) -> str:
    if item["against"] is None:
        return f"{item['version']}: no version of it was offered here"
    seen = f" (offered until {item['offered_at']})" if item["offered_at"] else ""
    if not item["same_version"]:
        return f"{item['against']}{seen} → {item['version']}"
    if item["changes"]:
        return f"{item['version']}{seen}: the version was given and is the same, what it stands for is not"
    return f"{item['version']}{seen}: unchanged"


def _code(line: str) -> str:
    """Give a line of code as it may be shown, with its indentation."""
    from tracescore.cli.screen import one_line

    stripped = line.lstrip()
    return " " * min(len(line) - len(stripped), 60) + one_line(stripped, limit=300)
