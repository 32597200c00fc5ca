"""A conversation that a library wrote as one text: a line for each turn, ``user: …``, or the JSON of a request."""

from __future__ import annotations

import re
from typing import Any

from tracescore.dialects.content import Content
from tracescore.dialects.decode_json import parse
from tracescore.dialects.decode_tools import is_object
from tracescore.model import Role

_TURN = re.compile(r"^(system|developer|user|human|assistant|ai|model|tool|function): ?", re.MULTILINE)
_JSON = "[{"
"""How most recorded messages begin."""
WRITTEN = '[{"role":"user","parts":[{"type":"text","content":"[{\\"role\\":'
"""How a list of messages begins whose only text is the list that a client was called with."""


def spelled_content(value: Any, role: Role) -> Content | None:
    """Read the turns of such a text; ``None`` for any other value."""
    if not isinstance(value, str) or value[:1] in _JSON or _TURN.match(value) is None:
        return None
    turns = list(_TURN.finditer(value))
    ends = [turn.start() for turn in turns[1:]] + [len(value)]
    said = [
        {"role": turn.group(1), "content": value[turn.end() : end].removesuffix("\n")}
        for turn, end in zip(turns, ends, strict=True)
    ]
    return Content(role=role, elements=dict(enumerate(said)))


def unwritten(value: str) -> str:
    """Take the list out of such a message; what is none stays as it is."""
    messages = parse(value).value
    only = messages[0] if isinstance(messages, list) and len(messages) == 1 else None
    parts = only.get("parts") if is_object(only) else None
    text = parts[0].get("content") if isinstance(parts, list) and len(parts) == 1 and is_object(parts[0]) else None
    return text if isinstance(text, str) else value
