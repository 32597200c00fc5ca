"""What a traced function was called with, as tracers in Python record it: ``{"args": […], "kwargs": {…}}``."""

from __future__ import annotations

from typing import Any

from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object

_PARTS = frozenset({"args", "kwargs"})


def called_with(value: Any) -> list[Any] | None:
    """Give the values, those by position first; ``None`` where this is no such record."""
    call = parse(value).value if isinstance(value, str) and '"args"' in value else value
    if not is_object(call) or "args" not in call or not call.keys() <= _PARTS:
        return None
    listed, named = call["args"], call.get("kwargs")
    if not isinstance(listed, list | None) or not isinstance(named, dict | None):
        return None
    return [*(listed or ()), *(named.values() if is_object(named) else ())]
