"""Times as a person gives and reads them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

from tracescore.errors import InputError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


def since_ns(text: str | None, *, option: str) -> int | None:
    """Read ``15m``, ``2h``, ``7d`` (ago) or an ISO date or time (local where it has no zone) as Unix nanoseconds."""
    if text is None:
        return None
    if match := _SPAN.fullmatch(text.strip()):
        return time.time_ns() - int(float(match[1]) * _UNITS[match[2]] * 1e9)
    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1e9)
    except ValueError as error:
        raise InputError(f"{option} {text!r} is no time: give 15m, 2h or 7d (ago), or 2030-01-31T12:00") from error


def clock(at_ns: int) -> str:
    """Give a time of today as ``14:03:22``, another one with its date."""
    local = datetime.fromtimestamp(at_ns / 1e9)
    return local.strftime("%H:%M:%S" if local.date() == datetime.now().date() else "%Y-%m-%d %H:%M")


def iso(at_ns: int) -> str:
    """Give a time for machines: RFC 3339, UTC, to the nanosecond, as the API does."""
    seconds, fraction = divmod(at_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"


def ago(at_ns: int, *, now_ns: int | None = None) -> str:
    """Give how long ago something was, in its largest unit."""
    seconds = max(0.0, ((time.time_ns() if now_ns is None else now_ns) - at_ns) / 1e9)
    for unit in ("w", "d", "h", "m"):
        if seconds >= _UNITS[unit]:
            return f"{seconds / _UNITS[unit]:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
