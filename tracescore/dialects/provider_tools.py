"""Calls that a model's provider makes of tools of its own: one item holds what was asked and what came of it."""

from __future__ import annotations

from typing import Any

from tracescore.dialects.decode_tools import arguments_of, first, is_object, result_value, text_or_none
from tracescore.dialects.said import ToolResult
from tracescore.model import JSONValue

_ASKED = ("action", "operation", "operations")
"""Where a call without arguments says as a whole what it asks."""
_APART = ("queries", "query", "code")
"""What a call asks by fields of its own."""
_BESIDE = frozenset({"type", "id", "status", "error", "server_label", "container_id", "approval_request_id"})
_GIVEN = ("output", "outputs", "results", "result")
_ENDED = ("completed", "failed", "incomplete")
LISTING = "mcp_list_tools"
"""An item that tells which tools there are, and calls none."""


def asked_of_provider(item: dict[str, Any]) -> JSONValue:
    """Give what was asked of a provider's tool: its arguments, its action, or the fields that say it."""
    if (arguments := item.get("arguments")) is not None:
        return arguments_of(arguments)
    if (action := first(item, _ASKED)) is not None:
        return action
    return {key: item[key] for key in _APART if item.get(key) is not None} or None


def asked_beside(item: dict[str, Any]) -> JSONValue:
    """Give all that a provider's tool of another kind was asked, which stands beside its type."""
    return {key: value for key, value in item.items() if key not in _BESIDE and key not in _GIVEN} or None


def given_by_provider(item: dict[str, Any]) -> JSONValue:
    """Give what a provider's tool returned, where the item shows it."""
    return result_value(first(item, _GIVEN))[0]


def came_of(item: dict[str, Any], call_id: str | None, name: str) -> ToolResult | None:
    """Read what came of a call that a provider made; ``None`` where it is for the client to make, or still to come."""
    if item.get("call_id") is not None:
        return None
    given, error = given_by_provider(item), item.get("error")
    if is_object(error):
        error = text_or_none(first(error, ("message", "content"))) or "error"
    failed = bool(error) or item.get("status") == "failed"
    if given is None and not failed and item.get("status") not in _ENDED:
        return None
    value = given if given is not None or not error else str(error)
    return ToolResult(id=call_id, name=name, value=value, failed=failed, elided=value is None)
