"""What a sender wrote, in the line that refuses it."""

from __future__ import annotations

_MOST = 80


def quoted(text: str) -> str:
    """Give a header's value between quotes, cut where it is no value that anybody would read."""
    return repr(text if len(text) <= _MOST else f"{text[:_MOST]}...")
