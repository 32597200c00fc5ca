"""Ids, models and counts inside raw requests and responses."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import first, is_object, text_or_none
from tracescore.dialects.tokens import Tokens, tokens_of

_LEADING_ID = re.compile(r'\s*\{\s*"id"\s*:\s*"([^"\\]{1,200})"')
_PREVIOUS = "previous_response_id"
_MAX_STEPS = 6
_MODELS = ("model_name", "model", "model_id", "modelVersion", "model_version")
_ANSWERED = ("model", "model_version", "modelVersion")
_COUNTED = '"prompt_tokens"'
_USED = ("usage_metadata", "usage", "usageMetadata")
_GENERATED = re.compile(r'"model_name"\s*:\s*"([^"\\]{1,200})"')
_HOLDING = ("generations", "message", "kwargs", "raw", "output")


def response_id_of(value: Any) -> str | None:
    """Find the id that the provider gave its response, inside the raw response or a framework's copy of it."""
    if isinstance(value, str):
        if '"id"' not in value and '"response_id"' not in value and '"responseId"' not in value:
            return None
        leading = _LEADING_ID.match(value)
        if leading is not None:
            return leading.group(1)
    return _find(parse(value).value, 0)


def _find(value: Any, step: int) -> str | None:
    if step > _MAX_STEPS:
        return None
    if isinstance(value, list):
        return _find(value[0], step + 1) if value else None
    if not is_object(value):
        return None
    for key in ("response_id", "responseId"):
        found = text_or_none(value.get(key))
        if found is not None:
            return found
    if is_object(metadata := value.get("response_metadata")):
        return text_or_none(metadata.get("id"))
    for key in ("generations", "message", "kwargs", "raw"):
        if key in value and (found := _find(value[key], step + 1)) is not None:
            return found
    if "lc" not in value and ("choices" in value or "output" in value or "content" in value):
        return text_or_none(value.get("id"))
    return None


class Reply(NamedTuple):
    """What a raw reply says beside its messages."""

    model: str | None = None
    used: Tokens = Tokens()


def reply_of(value: Any) -> Reply:
    """Read which model answered and what it used out of the raw response, or a framework's copy of it."""
    reply = _stating(parse(value).value, 0)
    if reply is None:
        return Reply()
    noted = reply.get("response_metadata")
    beside: dict[str, Any] = noted if is_object(noted) else {}
    model = next((found for key in _MODELS if (found := text_or_none(beside.get(key) or reply.get(key)))), None)
    usage = next((reply[key] for key in _USED if is_object(reply.get(key))), beside.get("token_usage"))
    return Reply(model, tokens_of(usage))


def _stating(value: Any, step: int) -> dict[str, Any] | None:
    if step > _MAX_STEPS:
        return None
    if isinstance(value, list):
        return _stating(value[0], step + 1) if value else None
    if not is_object(value):
        return None
    if "response_metadata" in value or any(is_object(value.get(key)) for key in _USED):
        return value
    return next((found for key in _HOLDING if key in value and (found := _stating(value[key], step + 1))), None)


def reply_beside(value: Any, *, named: str | None, counted: bool) -> Reply:
    """Read the model that answered and its tokens out of a raw response that stands beside what is read already.

    ``named`` and ``counted`` tell what is known: most responses say nothing beside that, and are not decoded.
    """
    if not isinstance(value, str):
        return Reply()
    if value.startswith('{"generations"'):
        generated = _GENERATED.search(value)
        return Reply(generated.group(1)) if generated is not None else Reply()
    models = any(f'"{key}"' in value for key in _ANSWERED)
    if models and named is not None:
        models = not any(f'"model":{gap}"{named}"' in value for gap in ("", " "))
    if not models and (counted or _COUNTED not in value or '"choices"' not in value):
        return Reply()
    reply = parse(value).value
    if is_object(reply) and is_object(raw := reply.get("raw")):
        reply = raw
    if not is_object(reply) or not any(key in reply for key in ("choices", "candidates", "output", "content")):
        return Reply()
    usage = reply.get("usage")
    counts = tokens_of(usage) if is_object(usage) and "prompt_tokens" in usage else Tokens()
    return Reply(text_or_none(first(reply, _ANSWERED)), counts)


def previous_id_of(value: Any, parameters: dict[str, Any] | None) -> str | None:
    """Find the id of the response whose history the server keeps for a request."""
    if parameters is not None and _PREVIOUS in parameters:
        return text_or_none(parameters[_PREVIOUS])
    if not isinstance(value, str) or _PREVIOUS not in value:
        return None
    request = parse(value).value
    return text_or_none(request.get(_PREVIOUS)) if is_object(request) else None
