"""A judge behind an OpenAI-compatible Chat Completions endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import openai
import orjson

from tracescore.errors import JudgeRefused, JudgeReplyError
from tracescore.judge.clients import PROCESS_CLIENTS
from tracescore.judge.options import UNSET, Judge
from tracescore.judge.protocol import JudgeReply, JudgeRequest
from tracescore.judge.provider_errors import as_judge_error
from tracescore.judge.providers import Endpoint

DEFAULT_TIMEOUT = 120.0
"""Seconds for one call where none is given; kept on our side, never sent."""
_PATH = "/chat/completions"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatModel:
    """Ask one endpoint's model."""

    judge: Judge
    endpoint: Endpoint
    environ: Mapping[str, str]

    async def ask(self, request: JudgeRequest, /) -> JudgeReply:
        """Answer one request.

        Raises:
            JudgeTransientError: a rate limit, a server error, a timeout or a lost connection.
            JudgeRefused: the key, the model or the account is refused, or there is no key.
            JudgeReplyError: an answer that is no chat completion.
            JudgeError: any other refusal of the request.
        """
        body = self._body(request)
        timeout = DEFAULT_TIMEOUT if request.timeout is None else request.timeout
        key = ""
        try:
            client: Any = None if self.judge.client is UNSET else self.judge.client
            if client is None:
                key = await self._key()
                own = await PROCESS_CLIENTS.at(self.endpoint.base_url)
                return await _post(own, body, timeout, {"Authorization": f"Bearer {key}"} if key else {})
            if not hasattr(client, "chat"):  # a factory
                client = await PROCESS_CLIENTS.made_by(client)
            if isinstance(client, openai.AsyncOpenAI):
                return await _post(client, body, timeout, {})
            # Not OpenAI's own class but like it: only its documented method can be relied on.
            completion = await client.chat.completions.create(**body, timeout=timeout)
            return _reply(completion if isinstance(completion, dict) else completion.model_dump(), request_id=None)
        except openai.OpenAIError as error:
            raise as_judge_error(error, model=self.endpoint.model, secret=key) from error

    def _body(self, request: JudgeRequest) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.endpoint.model, "messages": list(request.messages)}
        for name, value in request.sampling.items():
            body[self.endpoint.output_limit if name == "max_output_tokens" else name] = value
        if request.schema is not None:
            form = {"name": request.schema_name, "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
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


async def _post(
    client: openai.AsyncOpenAI, body: dict[str, Any], seconds: float, headers: Mapping[str, str]
) -> JudgeReply:
    # The raw response, read by us: building the client's response models costs more than the rest of the call.
    response = await client.post(
        _PATH,
        cast_to=httpx2.Response,
        body=body,
        options={"headers": headers, "timeout": seconds, "max_retries": 0},
    )
    try:
        completion = orjson.loads(response.content)
    except orjson.JSONDecodeError as error:
        raise JudgeReplyError("the endpoint's answer is not JSON", raw_reply=response.text[:2000]) from error
    return _reply(completion, request_id=response.headers.get("x-request-id"))


def _reply(completion: Any, *, request_id: str | None) -> JudgeReply:
    try:
        choice = completion["choices"][0]
        message = choice["message"]
        text = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raw = orjson.dumps(completion, default=str)[:2000].decode("utf-8", "replace")
        raise JudgeReplyError("the endpoint's answer is no chat completion", raw_reply=raw) from error
    if text is not None and not isinstance(text, str):
        raise JudgeReplyError(f"the answer's content is {type(text).__name__}, not text", raw_reply=str(text)[:2000])
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
