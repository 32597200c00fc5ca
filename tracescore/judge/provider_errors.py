"""What a provider's error means: try later, not again, without one setting, or this request alone is at fault."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import aiohttp
import orjson

from tracescore.errors import JudgeError, JudgeRefused, JudgeSettingRefused, JudgeTransientError
from tracescore.judge.causes import is_transient_status, retry_after
from tracescore.judge.learned import SCHEMA

_REFUSED = {401, 402, 403, 404, 407}
_BAD_REQUEST = {400, 422}
# A rate limit that no waiting lifts: the account has no credit.
_NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_MESSAGE_LIMIT = 1000

_SETTING_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter", "unrecognized_parameter"}
_SETTING_WORDS = re.compile(
    r"unsupported|(?:not|n't) (?:currently )?support|unrecogni[sz]ed|unknown|unexpected (?:keyword|field|parameter)"
    r"|extra (?:inputs|fields)|extra_forbidden|not permitted|not allowed|not available|n't available|deprecated",
    re.IGNORECASE,
)
_SCHEMA_WORDS = re.compile(r"response_format|json_schema|json schema|structured output", re.IGNORECASE)
# What is wrong here is this schema, not schemas.
_THIS_SCHEMA = re.compile(r"invalid schema|schema is invalid", re.IGNORECASE)


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Give a text without keys: the known ones, and whatever stands behind ``Bearer``."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return re.sub(r"(?i)\bbearer\s+[^\s\"',;]+", "Bearer ***", text)


def status_error(
    status: int,
    text: str,
    headers: Mapping[str, Any],
    *,
    model: str,
    sent: Mapping[str, str],
    secrets: Iterable[str] = (),
) -> JudgeError:
    """Give the error of ours that an HTTP answer stands for.

    Args:
        status: the answer's status; any but 200.
        text: its body.
        headers: its headers, names in lower case.
        model: the model that was asked.
        sent: the names of the settings in the request, by our names for them.
        secrets: what must not stand in the message.
    """
    told = _told(text)
    code = told.get("code") or told.get("type")
    code = code if isinstance(code, str) else None
    words = scrub(_words(told, text), secrets)[:_MESSAGE_LIMIT]
    message = f"judge model {model!r}: HTTP {status}{f': {words}' if words else ''}"
    if {told.get("code"), told.get("type")} & _NO_CREDIT or status in _REFUSED:
        return JudgeRefused(message, status=status, code=code)
    if is_transient_status(status):
        return JudgeTransientError(message, status=status, code=code, retry_after=retry_after(headers))
    if status in _BAD_REQUEST:
        refused = _refused_setting(told, words, sent)
        if refused is not None:
            return JudgeSettingRefused(
                message,
                setting=refused,
                sent_as=sent[refused],
                value_only=code == "unsupported_value",
                status=status,
                code=code,
            )
    return JudgeError(message, status=status, code=code)


def connection_error(error: BaseException, *, model: str) -> JudgeError:
    """Give the error of ours for a request that no answer came to."""
    if isinstance(error, TimeoutError):
        return JudgeTransientError(f"judge model {model!r}: no answer within the timeout")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return JudgeRefused(f"judge model {model!r}: the proxy answers HTTP {error.status}", status=error.status)
    text = f"{error!s:.{_MESSAGE_LIMIT}}" or type(error).__name__
    if isinstance(error, (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError)):
        return JudgeError(f"judge model {model!r}: no safe connection: {text}")
    if isinstance(error, aiohttp.ClientConnectorError):
        return JudgeTransientError(f"judge model {model!r}: cannot connect: {text}")
    if isinstance(error, (aiohttp.InvalidURL, ValueError)):
        return JudgeError(f"judge model {model!r}: {text}")
    return JudgeTransientError(f"judge model {model!r}: the connection was lost: {text}")


def _told(text: str) -> Mapping[str, Any]:
    """Give a provider's error as JSON: what stands in ``error`` where that is an object, else the whole body."""
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    if isinstance(body, list) and body:  # Google wraps its errors in a list
        body = body[0]
    if not isinstance(body, dict):
        return {}
    error = body.get("error")
    if isinstance(error, str):
        return {**body, "message": error}
    return error if isinstance(error, dict) else body


def _words(told: Mapping[str, Any], text: str) -> str:
    message = told.get("message")
    if not isinstance(message, str) or not message:
        return " ".join(text.split())
    code = told.get("code")
    return f"{message} ({code})" if isinstance(code, str) and code not in message else message


def _refused_setting(told: Mapping[str, Any], words: str, sent: Mapping[str, str]) -> str | None:
    """Give our name of the one setting that an error clearly refuses, or None."""
    param = told.get("param")
    clear = told.get("code") in _SETTING_CODES or bool(_SETTING_WORDS.search(words))
    if not clear:
        return None
    if isinstance(param, str) and param:
        top = re.split(r"[.\[]", param)[0]
        named = [ours for ours, theirs in sent.items() if theirs == top]
    else:
        named = [ours for ours, theirs in sent.items() if re.search(rf"\b{re.escape(theirs)}\b", words)]
        if SCHEMA in sent and SCHEMA not in named and _SCHEMA_WORDS.search(words):
            named.append(SCHEMA)
    if len(named) > 1 and SCHEMA not in named:
        # "max_tokens is not supported, use max_completion_tokens": the first one named is the refused one.
        named.sort(key=lambda ours: words.find(sent[ours]))
        named = named[:1]
    if len(named) != 1 or (named == [SCHEMA] and _THIS_SCHEMA.search(words)):
        return None
    return named[0]
