"""Options that several commands share, and the settings that they and the environment amount to."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from tracescore.errors import ConfigurationError
from tracescore.settings import Settings

AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON on stdout, one object a line, and nothing else there.")
]
Store: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="The store's folder (.tracescore).",
        envvar="TRACESCORE_STORE",
        show_envvar=True,
    ),
]
Project: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME",
        help="Whose rows (default).",
        envvar="TRACESCORE_PROJECT",
        show_envvar=True,
    ),
]
App: TypeAlias = Annotated[
    str | None,
    typer.Option("--app", metavar="MODULE:ATTR", help="Your TraceScore.", envvar="TRACESCORE_APP", show_envvar=True),
]
Broker: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--broker",
        metavar="embedded|none|URL",
        help="What wakes the workers; with none they poll the store.",
        envvar="TRACESCORE_BROKER",
        show_envvar=True,
    ),
]
Host: TypeAlias = Annotated[
    str | None, typer.Option("--host", metavar="HOST", help="Where the receiver listens (127.0.0.1).")
]
Port: TypeAlias = Annotated[
    int | None, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Its port (4318).")
]
Insecure: TypeAlias = Annotated[
    bool, typer.Option("--insecure", help="Listen beyond this machine without any token: anybody may send and read.")
]
Limit: TypeAlias = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=1000, help="How many to show, newest first.")
]

FILES_HELP = (
    "OTLP requests, JSON or protobuf, one or many a file, also gzip and zstd; Langfuse exports. "
    "X.logs.json beside X.json is taken along."
)
DEMO_APP = "tracescore.cli.demo_app:app"


def settings(**given: Any) -> Settings:
    """Read the environment; what was given on the command line wins."""
    return Settings.from_env(os.environ, **given)


def log_to_stderr(level: str = "WARNING") -> None:
    """Send log records of this process to stderr, one line each but for stack traces."""
    import logging

    logging.basicConfig(level=level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def find_modules_here() -> None:
    """Let an app in the current folder be imported, as ``python -m`` would."""
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def required_app(name: str | None) -> str:
    """Give the app's name, or say how to give one."""
    if not name:
        raise ConfigurationError(
            "no app: set TRACESCORE_APP=module:attr or give --app module:attr "
            "(`tracescore init` writes a scoring.py to start from)"
        )
    return name
