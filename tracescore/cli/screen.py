"""What reaches a terminal: text without control characters, JSON, errors of one line."""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 120
"""The width of what is not printed to a terminal, where ``COLUMNS`` does not say."""

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS and others: titles, links
    r"|\x1b[ -/]*[0-~]?"  # any other escape sequence
)
_LINE_BREAK = re.compile(r"\r\n?|[\u2028\u2029\x0b\x0c\x85]")
_TRAILING = re.compile(r"[ \t]+(?=\n)")
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f"
    r"\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks: they make text read as what it is not
    r"\ufeff]"
)


def printable(text: str) -> str:
    """Take out of a text whatever a terminal would obey rather than show.

    Escape sequences go whole, other control characters (line feed and tab apart) one by one; a lone surrogate, which no
    stream can encode, becomes a question mark.
    """
    text = _LINE_BREAK.sub("\n", _ESCAPE.sub("", text))
    return _CONTROL.sub("", text).encode("utf-8", "replace").decode("utf-8")


def one_line(text: str, *, limit: int = 0) -> str:
    """Give a text on one line, cut to ``limit`` characters with an ellipsis; 0 does not cut."""
    line = " ".join(printable(text[: 8 * limit] if limit else text).split())
    return line if not limit or len(line) <= limit else line[: limit - 1].rstrip() + "…"


class _Trimmed(io.TextIOBase):
    """A stream without the blanks that fill up lines: nobody wants them in a file."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # the base's has no setter either
        """Give the encoding of what is written to."""
        return self._stream.encoding

    def isatty(self) -> bool:
        return False

    def write(self, text: str, /) -> int:
        return self._stream.write(_TRAILING.sub("", text))

    def flush(self) -> None:
        self._stream.flush()


def console(*, stderr: bool = False) -> Console:
    """Make a console that interprets nothing in what it prints: no markup, no emoji codes, no highlighting."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(file=stream, markup=False, emoji=False, highlight=False)
    made = Console(file=cast("TextIO", _Trimmed(stream)), markup=False, emoji=False, highlight=False)
    if "COLUMNS" not in made._environ:
        made.width = PIPE_WIDTH
    return made


def print_json(value: Any) -> None:
    """Print machine output: one JSON object a line; of a list each item, so an empty one prints nothing.

    It goes to the process's own stdout, wherever ``sys.stdout`` leads meanwhile.
    """
    import orjson

    items: list[Any] = value if isinstance(value, list) else [value]
    out = (sys.__stdout__ or sys.stdout).buffer
    for item in items:
        try:
            encoded = orjson.dumps(item, option=orjson.OPT_APPEND_NEWLINE, default=repr)
        except orjson.JSONEncodeError:  # a lone surrogate: plain JSON can escape what UTF-8 cannot hold
            import json

            encoded = (json.dumps(item, default=repr) + "\n").encode("ascii")
        out.write(encoded)
    out.flush()


def note(message: str) -> None:
    """Say something to a person on stderr, in one line."""
    sys.stderr.write(one_line(message) + "\n")
    sys.stderr.flush()


def stop(message: str, *, code: int = 1) -> NoReturn:
    """End the command: one line on stderr and an exit code."""
    import typer

    note(f"tracescore: {message}")
    raise typer.Exit(code)


def counted(number: int, noun: str) -> str:
    """Give a number with its noun: ``1 run``, ``2 runs``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
