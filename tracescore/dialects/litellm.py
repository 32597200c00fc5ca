"""LiteLLM's first version: request and reply as the provider's client saw them, as the text of Python objects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import NATIVE, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_repr import python_value
from tracescore.dialects.form import Reading
from tracescore.dialects.instructions import instructions
from tracescore.dialects.tokens import tokens_of
from tracescore.dialects.values import Attributes, text_at
from tracescore.model import LogRecord, Role, Span

_NAME = "raw_gen_ai_request"
_KEY = re.compile(r"llm\.[^.]+\.(messages|choices|model|id|usage|system)")
_MAX_TEXT = 1_000_000


class LiteLLM:
    """The span inside a call's own: it repeats the call, with what the other leaves out of tool calls."""

    marks = frozenset[str]()
    names = (_NAME,)
    content_prefixes = ()

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what was sent, and what came back."""
        if span.name != _NAME:
            return None
        keys = {found.group(1): key for key in span.attributes if (found := _KEY.fullmatch(key))}
        if not keys:
            return None
        used = tokens_of(_value(span.attributes, keys.get("usage")))
        return Reading(
            role="llm",
            generic=False,
            input=_content(span.attributes, keys.get("messages"), "user"),
            output=_content(span.attributes, keys.get("choices"), "assistant"),
            system=instructions(_value(span.attributes, keys.get("system"))),
            model_answered=text_at(span.attributes, keys.get("model", "")),
            response_id=text_at(span.attributes, keys.get("id", "")),
            input_tokens=used.input,
            output_tokens=used.output,
            cache_read_tokens=used.cache_read,
            cache_write_tokens=used.cache_write,
            reasoning_tokens=used.reasoning,
        )


def _value(attributes: Attributes, key: str | None) -> Any:
    value: Any = attributes.get(key) if key is not None else None
    if isinstance(value, str) and len(value) <= _MAX_TEXT:
        read = parse(value).value
        value = python_value(value) if isinstance(read, str) else read
    return value


def _content(attributes: Attributes, key: str | None, role: Role) -> Content | None:
    value = _value(attributes, key)
    # What was really sent says more than the copy that the span around it makes of it.
    return Content(value, role=role, rank=NATIVE + 1) if isinstance(value, list) and value else None
