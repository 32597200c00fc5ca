"""A judge behind an OpenAI-compatible Chat Completions endpoint."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from tracescore.errors import JudgeError, JudgeRefused, JudgeReplyError
from tracescore.judge.clients import PROCESS_CLIENTS
from tracescore.judge.learned import PROCESS_FACTS, SCHEMA, EndpointFacts
from tracescore.judge.options import UNSET, Judge
from tracescore.judge.protocol import JudgeReply, JudgeRequest
from tracescore.judge.provider_errors import connection_error, scrub, status_error
from tracescore.judge.providers import Endpoint

DEFAULT_TIMEOUT = 120.0
"""Seconds for one request where none is given; kept on our side, never sent."""
_PATH = "/chat/completions"
_RAW_LIMIT = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatModel:
    """Ask one endpoint's model."""

    judge: Judge
    endpoint: Endpoint
    environ: Mapping[str, str]

    @property
    def facts(self) -> EndpointFacts:
        """Give what this process learned of the model at this endpoint."""
        place: Hashable = self.endpoint.base_url
        client: Any = self.judge.client
        if client is not UNSET and client is not None:
            # A factory stands for itself; kept here it cannot be mistaken for a later one.
            place = str(client.base_url) if hasattr(client, "base_url") else _hashable(client)
        return PROCESS_FACTS.about((place, self.endpoint.model))

    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        """Answer one request.

        Raises:
            JudgeTransientError: a rate limit, a server error, a timeout or a lost connection.
            JudgeRefused: the key, the model or the account is refused, or there is no key.
            JudgeSettingRefused: the model clearly refuses one setting, or the schema beside the messages.
            JudgeReplyError: an answer that is no chat completion.
            JudgeError: any other refusal of the request.
        """
        names = self._names(request)
        body = self._body(request, names)
        timeout = DEFAULT_TIMEOUT if request.timeout is None else request.timeout
        if self.judge.client is not UNSET and self.judge.client is not None:
            return await _ask_client(self.judge.client, body, timeout, model=self.endpoint.model, sent=names)
        key = await self._key()
        url = f"{(self.endpoint.base_url or '').rstrip('/')}{_PATH}"
        way = await PROCESS_CLIENTS.way(url, self.judge.proxy, self.judge.ca_file)
        headers = {"content-type": "application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        try:
            # Posted by aiohttp itself: the OpenAI client costs three times as much for each call, and asks no less.
            # A redirect is not followed: what is judged goes to the host that was named, and nowhere else.
            async with way.session.post(
                url,
                data=orjson.dumps(body),
                headers=headers,
                proxy=way.proxy,
                timeout=aiohttp.ClientTimeout(total=timeout),
                allow_redirects=False,
            ) as response:
                content, status = await response.read(), response.status
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            failure = connection_error(error, model=self.endpoint.model)
            failure.args = (scrub(str(failure), (key,)),)
            raise failure from error
        if status != 200:
            text, named = content.decode("utf-8", "replace"), {k.lower(): v for k, v in response.headers.items()}
            raise status_error(status, text, named, model=self.endpoint.model, sent=names, secrets=(key,))
        completion = _loads(content, secret=key)
        within = _status_within(completion)
        if within is not None:  # as a gateway answers that had begun to answer well
            text = content.decode("utf-8", "replace")
            raise status_error(within, text, {}, model=self.endpoint.model, sent=names, secrets=(key,))
        return _reply(completion, request_id=response.headers.get("x-request-id"), secret=key)

    def _names(self, request: JudgeRequest) -> dict[str, str]:
        """Give what the settings of a request are called at the endpoint, by our names."""
        learned = self.facts.names
        names = {name: learned.get(name) or self.endpoint.names.get(name, name) for name in request.sampling}
        if request.schema is not None and request.native_schema:
            names[SCHEMA] = SCHEMA
        return names

    def _body(self, request: JudgeRequest, names: Mapping[str, str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.endpoint.model, "messages": list(request.messages)}
        for name, value in request.sampling.items():
            body[names[name]] = value
        if SCHEMA in names:
            form = {"name": request.schema_name, "schema": request.schema, "strict": True}
            body[SCHEMA] = {"type": "json_schema", "json_schema": form}
        return body

    async def _key(self) -> str:
        key = None if self.judge.api_key is UNSET else self.judge.api_key
        if callable(key):
            made = key()
            key = made if isinstance(made, str) else await made
        if key is None:
            key = next((self.environ[name] for name in self.endpoint.key_variables if self.environ.get(name)), None)
        if key is None and self.endpoint.needs_key:
            names = " or ".join(self.endpoint.key_variables)
            raise JudgeRefused(f"judge model {self.endpoint.model!r} needs a key: set {names}, or give api_key=")
        return key or ""


def _hashable(client: Any) -> Hashable:
    return client if isinstance(client, Hashable) else id(client)


async def _ask_client(
    client: Any, body: dict[str, Any], seconds: float, *, model: str, sent: Mapping[str, str]
) -> JudgeReply:
    """Ask through a client of the user's own, or through one that a factory makes.

    OpenAI's own class, and so Azure's, is asked for the raw response: building the client's response models costs as
    much again as the rest of the call. Of any other only the documented method can be relied on. The retries of a
    client are turned off: they are counted here.
    """
    try:
        if not hasattr(client, "chat"):  # a factory
            client = await PROCESS_CLIENTS.made_by(client)
        if _is_openais_own(client):
            import httpx2  # there with OpenAI's client, and only then

            options: Any = {"timeout": seconds, "max_retries": 0}
            response = await client.post(_PATH, cast_to=httpx2.Response, body=body, options=options)
            secret = _secret_of(client)
            read = _loads(response.content, secret=secret)
            return _reply(read, request_id=response.headers.get("x-request-id"), secret=secret)
        completion = await client.chat.completions.create(**body, timeout=seconds)
    except Exception as error:
        raise _client_error(error, client, model=model, sent=sent) from error
    # Read as JSON whatever class it is; a field that the client does not know must not warn.
    known = completion if isinstance(completion, dict) else completion.model_dump(warnings=False)
    return _reply(known, request_id=getattr(completion, "_request_id", None), secret=_secret_of(client))


def _client_error(error: Exception, client: Any, *, model: str, sent: Mapping[str, str]) -> Exception:
    """Give the error of ours for an error of OpenAI's client; any other error stays what it is."""
    if "openai" not in sys.modules:
        return error
    import openai  # loaded by whoever made the client; judges of our own endpoints do without

    if not isinstance(error, openai.OpenAIError):
        return error
    secret = _secret_of(client)
    if isinstance(error, openai.APIStatusError):
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        text = error.response.text
        return status_error(error.status_code, text, headers, model=model, sent=sent, secrets=(secret,))
    if isinstance(error, openai.APIConnectionError):
        timed_out = isinstance(error, openai.APITimeoutError)
        lost = connection_error(TimeoutError() if timed_out else ConnectionError(str(error)), model=model)
        lost.args = (scrub(str(lost), (secret,)),)
        return lost
    return JudgeError(f"judge model {model!r}: {scrub(str(error), (secret,))[:_RAW_LIMIT]}")


def _is_openais_own(client: Any) -> bool:
    if "openai" not in sys.modules:
        return False
    import openai

    return isinstance(client, openai.AsyncOpenAI)


def _secret_of(client: Any) -> str:
    key = getattr(client, "api_key", None)
    return key if isinstance(key, str) else ""


def _loads(content: bytes, *, secret: str) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raw = scrub(content[:_RAW_LIMIT].decode("utf-8", "replace"), (secret,))
        raise JudgeReplyError("the endpoint's answer is not JSON", raw_reply=raw) from error


def _status_within(completion: Any) -> int | None:
    """Give the status of an error that came as an answer, or None."""
    if not isinstance(completion, dict) or completion.get("choices"):
        return None
    error = completion.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code <= 599 else None


def _reply(completion: Any, *, request_id: str | None, secret: str) -> JudgeReply:
    try:
        choice = completion["choices"][0]
        message = choice["message"]
        text = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raw = scrub(orjson.dumps(completion, default=str)[:_RAW_LIMIT].decode("utf-8", "replace"), (secret,))
        raise JudgeReplyError("the endpoint's answer is no chat completion", raw_reply=raw) from error
    if isinstance(text, list):  # parts, as reasoning models of some endpoints answer
        text = "".join(str(part.get("text") or "") for part in text if isinstance(part, dict))
    if text is not None and not isinstance(text, str):
        kind, raw = type(text).__name__, str(text)[:_RAW_LIMIT]
        raise JudgeReplyError(f"the answer's content is {kind}, not text", raw_reply=raw)
    return JudgeReply(
        text=text,
        finish_reason=choice.get("finish_reason"),
        refusal=message.get("refusal"),
        model=completion.get("model"),
        request_id=request_id or completion.get("id"),
        usage=_usage(completion.get("usage") or {}),
    )


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    found = {
        "input": usage.get("prompt_tokens"),
        "output": usage.get("completion_tokens"),
        "cache_read": (usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
        "reasoning": (usage.get("completion_tokens_details") or {}).get("reasoning_tokens"),
    }
    return {name: count for name, count in found.items() if isinstance(count, int)}
