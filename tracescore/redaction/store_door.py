"""The door of the store: what comes in as a span or a log record is redacted before it is written.

Each body is looked at once as the bytes that it is; only where a rule may find something do the patterns look, at the
JSON as it stands, and only where one of them does is the JSON read, redacted text by text, and written again. Ids and
times are never touched, and a copy comes out the same whenever and wherever it comes in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tracescore.redaction.markers import MarkerOf, RedactionError, hashed_marker, redacted_json
from tracescore.redaction.sweep import DoorRules

_REDACTED = ("name", "status_message", "attributes", "events", "resource", "scope", "body")
"""The fields of a stored span or log record that hold what somebody wrote; links hold it in their attributes."""

_TOGETHER = 1024 * 1024
"""Bytes that are looked at in one piece, of which a copy is made for that."""


class StoreDoor:
    """Redact the stored form of spans and log records."""

    def __init__(self, rules: DoorRules, *, in_json: bool) -> None:
        self._rules = rules
        self._in_json = in_json

    @property
    def open(self) -> bool:
        """Tell whether everything passes."""
        return not self._rules

    def passes(self, value: Any) -> bool:
        """Tell by one look at a value's JSON that nothing is found in any of its texts; False may mean nothing yet."""
        if self.open:
            return True
        if not self._in_json:
            return False
        try:
            return self._rules.passes(orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS))
        except (TypeError, ValueError, RecursionError):  # lone surrogates, integers beyond 64 bits, depth
            return False

    def all_pass(self, bodies: Sequence[bytes]) -> bool:
        """Tell by one look at several bodies that nothing is found in any; False may mean nothing yet.

        What is found across the end of a body is found in none, and no rule looks for beginnings or ends.
        """
        return self._in_json and sum(map(len, bodies)) <= _TOGETHER and self._rules.passes(b"\n".join(bodies))

    def redact(self, body: bytes, trace_id: bytes) -> bytes:
        """Give the body that may be stored; the same object where nothing was found.

        Raises:
            RedactionError: a rule raised; the body must not be stored.
        """
        if self._in_json and (self._rules.passes(body) or not self._finds(body)):
            return body
        return _rewritten(body, self._rules, hashed_marker(trace_id.hex().encode()))

    def _finds(self, body: bytes) -> bool:
        text = body.decode()
        for finder in self._rules.within(body):
            try:
                if next(finder.find(text), None) is not None:
                    return True
            except Exception as error:  # noqa: BLE001 - a user's rule may raise anything, and may name the text in it
                raise RedactionError(f"redaction rule {finder.kind!r} raised {type(error).__name__}") from None
        return False


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value.items())
    raise TypeError


def _rewritten(body: bytes, rules: DoorRules, marker_of: MarkerOf) -> bytes:
    plain: dict[str, Any] = orjson.loads(body)
    changed = False
    for field in _REDACTED:
        if field in plain:
            after = redacted_json(plain[field], rules, marker_of)
            changed |= after is not plain[field]
            plain[field] = after
    for link in plain.get("links", ()):
        after = redacted_json(link["attributes"], rules, marker_of)
        changed |= after is not link["attributes"]
        link["attributes"] = after
    return orjson.dumps(plain) if changed else body
