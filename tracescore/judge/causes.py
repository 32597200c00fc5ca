"""What an error says of itself: status, code, whether trying again may help, how long to wait."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import orjson

from tracescore.errors import JudgeRefused, JudgeTransientError

TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
_TERMINAL_STATUS = frozenset({401, 403})
_TERMINAL_WORDS = frozenset(
    {"access_denied", "authentication_error", "forbidden", "invalid_api_key", "permission_denied"}
)
_STREAM_WORDS = (
    "rate_limit",
    "server_error",
    "internal_error",
    "timeout",
    "temporarily_unavailable",
    "service_unavailable",
    "overloaded",
)
_RETRY_SENTENCE = re.compile("you can retry your request", re.IGNORECASE)
_DEPTH = 8


def chain(error: Any) -> Iterator[Any]:
    """Give an error and its causes, each once; a ``cause`` attribute counts as Python's own do."""
    seen: set[int] = set()
    node = error
    while node is not None and id(node) not in seen:
        seen.add(id(node))
        yield node
        node = _cause(node)


def is_transient_status(status: Any) -> bool:
    """Tell whether an HTTP status may pass: a timeout, a conflict, a rate limit, a fault of the server."""
    return isinstance(status, int) and (status in TRANSIENT_STATUS or 500 <= status <= 599)


def is_retryable(node: Any) -> bool:
    """Tell whether one error says that the same request may succeed later."""
    if isinstance(node, JudgeTransientError) or _field(node, "is_retryable") is True:
        return True
    if isinstance(node, JudgeRefused):
        return False
    if is_transient_status(_field(node, "status_code")) or is_transient_status(_field(node, "status")):
        return True
    openai = sys.modules.get("openai")  # an error of a client that nobody loaded cannot be here
    return openai is not None and isinstance(node, openai.APIConnectionError)


def is_stream_error(node: Any) -> bool:
    """Tell whether an error is the failed event of an OpenAI Responses stream that names a passing fault."""
    for carrier in (node, _field(node, "body"), _field(node, "data")):
        kind = _field(carrier, "type")
        if kind == "error":
            payload = _field(carrier, "error")
        elif kind == "response.failed":
            payload = _field(_field(carrier, "response"), "error")
        else:
            continue
        code = _field(payload, "code")
        word = str(_field(payload, "type") if code is None else code).lower()
        message = _field(payload, "message")
        if any(known in word for known in _STREAM_WORDS) or _RETRY_SENTENCE.search(str(message or "")):
            return True
    return False


def is_bad_request_error(error: Any) -> bool:
    """Tell whether an error is a status 400: a matcher for providers that answer so where they are overloaded."""
    return 400 in (_field(error, "status_code"), _field(error, "status"))


def is_terminal(error: Any) -> bool:
    """Tell whether a key, an account or a model is refused, anywhere in an error and its causes."""
    return any(isinstance(node, JudgeRefused) or _is_terminal(node, 0) for node in chain(error))


def retry_after_of(error: Any) -> float | None:
    """Give the seconds that a provider asks to wait, from the nearest error that says it."""
    for node in chain(error):
        given = _field(node, "retry_after")
        if isinstance(given, (int, float)) and 0 <= given < float("inf"):
            return float(given)
        for headers in (_field(_field(node, "response"), "headers"), _field(node, "response_headers")):
            if hasattr(headers, "items"):
                seconds = retry_after({str(name).lower(): value for name, value in headers.items()})
                if seconds is not None:
                    return seconds
    return None


def retry_after(headers: Mapping[str, Any]) -> float | None:
    """Give the seconds of ``retry-after-ms``, else of ``retry-after`` in seconds or as a date; names in lower case."""
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * factor
        except ValueError:
            try:
                seconds = parsedate_to_datetime(str(value)).timestamp() - time()
            except ValueError:
                continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _is_terminal(node: Any, depth: int) -> bool:
    if node is None or depth > _DEPTH:
        return False
    if any(_field(node, name) in _TERMINAL_STATUS for name in ("status", "status_code")):
        return True
    if any(str(_field(node, name) or "").strip().lower() in _TERMINAL_WORDS for name in ("code", "type")):
        return True
    inside = [_field(node, name) for name in ("error", "data", "body")]
    text = _field(node, "response_body")
    if isinstance(text, (str, bytes)):
        with suppress(orjson.JSONDecodeError):
            inside.append(orjson.loads(text))
    return any(_is_terminal(part, depth + 1) for part in inside if part is not node)


def _cause(node: Any) -> Any:
    if isinstance(node, BaseException):
        own = getattr(node, "cause", None)
        if isinstance(own, BaseException):
            return own
        return node.__cause__ or (None if node.__suppress_context__ else node.__context__)
    return _field(node, "cause")


def _field(node: Any, name: str) -> Any:
    """Give a field of an error, of an object or of JSON; None where there is none or reading it fails."""
    if node is None or isinstance(node, (str, bytes, int, float)):
        return None
    if isinstance(node, Mapping):
        return node.get(name)
    try:
        return getattr(node, name, None)
    except Exception:  # noqa: BLE001  # a property of a client's own must not hide the error that it belongs to
        return None
