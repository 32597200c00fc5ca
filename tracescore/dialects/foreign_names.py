"""What the name of an attribute says by how it ends, whichever namespace stands before."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from tracescore.dialects.decode_json import parse
from tracescore.dialects.form import SpanRole
from tracescore.model import JSONValue

_FIELDS: Final[dict[str, str]] = {
    "kind": "span kind, span type, observation type, operation name, operation id, operation, run type, node type, "
    "step type, subtype, request type, span attributes, kind, type",
    "input": "input messages, prompt messages, request messages, llm messages, all messages, chat history, messages, "
    "input value, span inputs, entity input, user prompt, user input, user message, input json, raw input, prompts, "
    "prompt, inputs, input, question, request data, request body, request content, "
    "request",
    "output": "output messages, response messages, completion messages, output value, span outputs, entity output, "
    "output json, raw output, response text, response content, completions, completion, generation, outputs, output, "
    "answer, reply, response data, response body, response, final result, result",
    "calls": "response tool calls, output tool calls, completion tool calls, tool calls",
    "events": "messages events, events",
    "system": "system instructions, system instruction, system prompt, system message, instructions",
    "tool_name": "tool name, tool call name, function name",
    "tool_call_id": "tool call id, call id, tool id",
    "arguments": "tool call arguments, tool call args, tool arguments, tool args, tool input, function arguments, "
    "call arguments, arguments, args",
    "result": "tool call result, tool result, tool output, tool response, function result, function output",
    "agent_name": "agent name",
    "agent_id": "agent id",
    "entity": "entity name, name",
    "model_asked": "request model name, request model, requested model",
    "model_answered": "response model name, response model, model name, model id, llm model, model",
    "provider": "provider name, model provider, provider",
    "response_id": "response id, completion id",
    "input_tokens": "non cached input tokens, input tokens, prompt tokens, tokens input, tokens prompt, "
    "token count prompt, "
    "token count input, input token count, prompt token count",
    "output_tokens": "output tokens, completion tokens, tokens output, tokens completion, token count completion, "
    "token count output, output token count, completion token count, candidates token count",
    "cache_read_tokens": "cache read input tokens, cached input tokens, cache read tokens, cached tokens, "
    "prompt details cache read",
    "cache_write_tokens": "cache write input tokens, cache creation input tokens, cache write tokens, "
    "cache creation tokens, prompt details cache write",
    "reasoning_tokens": "reasoning output tokens, reasoning tokens, completion details reasoning",
    "usage": "token usage, usage details, usage, metrics",
    "session_id": "session id, conversation id, thread id, chat id",
    "user_id": "user id",
    "finish": "finish reasons, finish reason, stop reason",
    "query": "query text, search query, query",
    "documents": "retrieved documents, documents, docs",
}
"""The ends of names by what they hold, in the order of trust."""

CONTENT = frozenset({"input", "output", "calls", "system", "arguments", "result", "query", "documents", "events"})
"""The fields that hold what somebody said: they are no attributes of a run."""
_TAILS: Final = {
    tuple(tail.strip().split(" ")): (field, place)
    for field, tails in _FIELDS.items()
    for place, tail in enumerate(tails.split(","))
}
_LONGEST = max(len(tail) for tail in _TAILS)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MAX_NAME = 200
_KNOWN = 4096

PLUMBING = frozenset(
    {"http", "url", "net", "network", "server", "client", "db", "rpc", "messaging", "faas", "aws"}
    | {"azure", "cloud", "k8s", "container", "host", "os", "process", "service", "telemetry", "thread"}
    | {"code", "exception", "error", "otel", "peer", "user_agent", "browser", "device", "graphql"}
    | {"aspnetcore", "dotnet", "jvm", "nodejs", "next", "sentry", "feature_flag", "log", "tls", "dns"}
    | {"source", "destination", "geo", "cicd", "vcs", "test", "system", "hw", "webengine", "celery"}
    | {"django", "flask", "redis", "kafka", "asgi", "signoz", "elastic", "datadog", "deployment", "file"}
    | {"disk", "artifact", "v8js", "tracescore"}
)
"""Namespaces of what no agent says: they are left alone."""


class Meaning(NamedTuple):
    """What an attribute holds; ``place`` orders those that hold the same, ``number`` is set in one of a list."""

    field: str
    place: int
    start: str
    """The first word of the name."""
    group: str | None = None
    number: int = 0
    rest: str = ""


@lru_cache(_KNOWN)
def meaning_of(name: str) -> Meaning | None:
    """Tell what an attribute of this name holds; ``None`` for what says nothing of an agent."""
    if len(name) > _MAX_NAME:
        return None
    start = name.partition(".")[0].partition(":")[0]
    if start in PLUMBING or start.partition("_")[0] in PLUMBING:
        return None
    parts = name.split(".")
    number = next((place for place, part in enumerate(parts) if place and part.isascii() and part.isdigit()), None)
    if number is None:
        found = _tail(name)
        return Meaning(*found, start) if found is not None else None
    if len(parts[number]) > 6:
        return None
    group = ".".join(parts[:number])
    found = _tail(group)
    if found is None or found[0] not in ("input", "output", "calls", "documents"):
        return None
    return Meaning(*found, start, group, int(parts[number]), ".".join(parts[number + 1 :]))


def _tail(name: str) -> tuple[str, int] | None:
    words = _words(name)
    for count in range(min(_LONGEST, len(words)), 0, -1):
        found = _TAILS.get(words[-count:])
        if found is not None:
            return found
    return None


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(text))


_ROLE_WORDS: Final[tuple[tuple[SpanRole, frozenset[str]], ...]] = (
    ("setup", frozenset({"create"})),
    ("step", frozenset({"step", "turn", "iteration", "cycle", "loop", "chunk"})),
    ("handoff", frozenset({"handoff"})),
    ("tool", frozenset({"tool"})),
    ("guardrail", frozenset({"guardrail"})),
    ("evaluator", frozenset({"evaluator", "evaluation", "scorer", "judge"})),
    ("embedding", frozenset({"embedding", "embeddings", "embed", "embedder"})),
    ("retrieval", frozenset({"retriever", "retrieval", "retrieve", "reranker", "rerank"})),
    ("memory", frozenset({"memory"})),
    ("agent", frozenset({"agent"})),
    ("llm", frozenset({"llm", "generation", "completion", "completions", "chat", "generate", "model", "inference"})),
    ("container", frozenset({"chain", "workflow", "flow", "pipeline", "graph", "crew", "task", "session"})),
)
_MAX_KIND = 64
_MAX_OBJECT = 4_096
_CALL = frozenset({"function", "call"})


def role_of(value: JSONValue) -> SpanRole | None:
    """Read what a span is out of the word that a library has for it."""
    if isinstance(value, str) and value[:1] == "{" and len(value) <= _MAX_OBJECT:
        value = parse(value).value
    if isinstance(value, dict):
        value = value.get("type")
    if not isinstance(value, str) or len(value) > _MAX_KIND:
        return None
    words = frozenset(_words(value))
    if words >= _CALL:
        return "tool"
    if "agent" not in words:
        words -= {"create"}
    elif "transfer" in words:  # of money or files, elsewhere
        return "handoff"
    for role, told in _ROLE_WORDS:
        if not told.isdisjoint(words):
            return role
    return None
