"""Calls that hand over to another agent, told by their names."""

from __future__ import annotations

import re

from tracescore.model import JSONValue
from tracescore.pipeline.assembly.tree import Node

_TRANSFER = re.compile(r"^(transfer|hand_?off|hand_?over)(_back)?(_to)?(_|$)")
_PLUGIN = re.compile(r"^hand_?offs?_(?=(transfer|hand_?off|hand_?over)(_back)?_to_)")
"""A plugin's name before the call's own: ``Handoff-transfer_to_billing``."""
_TARGETS = ("agent_name", "to_agent", "target_agent", "agent", "target")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = re.compile(r"[\W_]+")


def normalized(name: str) -> str:
    """Give a name in lower case, its words parted by underscores."""
    return _OTHER.sub("_", _CAMEL.sub("_", name).lower()).strip("_")


def transfers(name: str | None) -> bool:
    """Tell whether a call by this name hands over to another agent."""
    if name is None:
        return False
    lower = name.lower()
    # Most names are told without their words being parted.
    return ("transfer" in lower or "hand" in lower) and _TRANSFER.match(normalized(name)) is not None


def hands_over(execution: Node) -> bool:
    """Tell whether the execution of a call is a hand-off."""
    return execution.role == "handoff" or transfers(execution.reading.tool_name)


def target_of(name: str, arguments: JSONValue) -> str | None:
    """Read whom a transfer names: in its arguments, else in its own name."""
    if isinstance(arguments, dict):
        for key in _TARGETS:
            value = arguments.get(key)
            if isinstance(value, str) and value:
                return value
    rest = _TRANSFER.sub("", _PLUGIN.sub("", normalized(name)))
    return rest if rest not in ("", "agent") else None


def fitting(name: str) -> str:
    """Give what is equal of the name that a transfer says and that of an agent which it may mean."""
    return normalized(name).removesuffix("_agent")


def names_fit(target: str, name: str) -> bool:
    """Tell whether a transfer may mean an agent of this name."""
    return fitting(target) == fitting(name)
