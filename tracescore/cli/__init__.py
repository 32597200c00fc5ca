"""The command line: a composition root, one module a command."""

from tracescore.cli.entry import main

__all__ = ["main"]
