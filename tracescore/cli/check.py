"""One thing that ``doctor`` checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """How one thing stands; ``todo`` says what to do where it does not stand well."""

    name: str
    state: Literal["ok", "warn", "fail"]
    message: str
    todo: str = ""
