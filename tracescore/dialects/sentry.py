"""Sentry's SDKs: GenAI's names, with the answer's text and calls apart from each other (its "AI agents module")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracescore.dialects.content import DERIVED, Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.dialects.form import Reading
from tracescore.dialects.results import arguments_value, span_result
from tracescore.dialects.values import Attributes, recorded
from tracescore.model import LogRecord, Span

_ASKED = "gen_ai.request.messages"
_TEXT, _CALLS = "gen_ai.response.text", "gen_ai.response.tool_calls"
_INPUT, _OUTPUT = "gen_ai.tool.input", "gen_ai.tool.output"
_OWN = frozenset({_ASKED, _TEXT, _CALLS, _INPUT, _OUTPUT})


class Sentry:
    """What a span of Sentry's says beside the conventions, which read the rest."""

    marks = frozenset({"sentry"})
    names = ()
    content_prefixes = (_ASKED, _TEXT, _CALLS, _INPUT, _OUTPUT)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read the answer of a model call, what was asked in the earlier names, and a tool's input and output."""
        attributes = span.attributes
        if _OWN.isdisjoint(attributes):
            return None
        asked = recorded(attributes, _ASKED)
        given, came = recorded(attributes, _INPUT), recorded(attributes, _OUTPUT)
        return Reading(
            input=(Content(asked, role="user", rank=DERIVED) or None) if asked is not None else None,
            output=_answered(attributes),
            tool_arguments=arguments_value(given) if given is not None else None,
            tool_result=span_result(came).value if came is not None else None,
        )


def _answered(attributes: Attributes) -> Content | None:
    """Make one message of the text, which stands in a list of all choices, and the calls."""
    text, calls = parse(recorded(attributes, _TEXT)), parse(recorded(attributes, _CALLS))
    said: Any = text.value
    if isinstance(said, list):
        said = said[0] if said else None
    listed = [call for call in calls.value if is_object(call)] if isinstance(calls.value, list) else []
    if not listed and not said:
        return None
    message = {"role": "assistant", "content": said if isinstance(said, str) else None, "tool_calls": listed}
    return Content(role="assistant", rank=DERIVED, elements={0: message}, tail_lost=text.truncated or calls.truncated)
