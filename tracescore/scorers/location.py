"""Where in the user's own code an error was raised."""

from __future__ import annotations

import os
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import TracebackType

_OURS = (str(Path(__file__).parent.parent) + os.sep, "<frozen ")


@lru_cache(maxsize=1)
def _installed() -> tuple[str, ...]:
    found = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return tuple({path + os.sep for path in found if path})


def raised_at(error: BaseException) -> str | None:
    """Give ``file:line`` of the user's own line that an error came from; None where no code of theirs was running.

    That is the last line outside of tracescore, of the standard library and of what is installed, else the first one
    outside of tracescore: a scorer may be installed itself. Files in the working directory are named from there, others
    by their last two parts.
    """
    first: str | None = None
    own: str | None = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_OURS):
            place = f"{file}\0{trace.tb_lineno}"
            first = first or place
            if not file.startswith(_installed()):
                own = place
        trace = trace.tb_next
    found = own or first
    if found is None:
        return None
    file, _, line = found.partition("\0")
    return f"{_short(file)}:{line}"


def _short(file: str) -> str:
    path = Path(file)
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):  # elsewhere, or a directory that is gone
        return "/".join(path.parts[-2:])
