"""Whether a command line is one that ``tracescore`` takes: asked of its own parser, and nothing is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import typer

from tracescore.cli.entry import app
from tracescore.settings import PREFIX, Settings

SETTINGS = {PREFIX + field.name.upper() for field in fields(Settings) if field.name != "projects"}


def parsed(words: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    """Give the command that words lead to, and what they set; ``words`` begins behind ``tracescore``.

    Raises:
        typer.TyperException: there is no such command or option.
    """
    group: Any = typer.main.get_command(app)  # typer's commands have types of its own that it does not export
    context: Any = group.make_context("tracescore", list(words), resilient_parsing=False)
    name = "tracescore"
    while hasattr(group, "resolve_command"):
        name, group, rest = group.resolve_command(context, [*context._protected_args, *context.args])
        context = group.make_context(name, list(rest), parent=context)
    return name, {key: value for key, value in context.params.items() if value not in (None, False)}
