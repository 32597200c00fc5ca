"""The common form: what a dialect says of one span."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from tracescore.dialects.content import Content
from tracescore.model import JSONValue, LogRecord, RetrievedDocument, Span

SpanRole: TypeAlias = Literal[
    "agent",
    "loop",
    "llm",
    "tool",
    "handoff",
    "retrieval",
    "embedding",
    "memory",
    "guardrail",
    "evaluator",
    "container",
    "step",
    "setup",
]
"""What a span is.

``loop`` is an SDK's loop around model calls: an agent invocation where it holds calls of its own, else a call itself.
``handoff`` is the execution of a call that hands over to another agent. ``container`` (workflow, chain) and ``step``
only hold others. ``setup`` builds an agent and runs none.
"""


class Reading(NamedTuple):
    """What one dialect, or all of them together, read from one span; ``None`` is "says nothing".

    A tuple, and no dataclass: several are built for each span, of some forty fields.
    """

    role: SpanRole | None = None
    generic: bool | None = None
    """True where no dialect but the generic fall-through knows the span's role."""

    agent_name: str | None = None
    agent_id: str | None = None
    stated_parent: str | None = None
    """Name or id of the agent that the span says it came from."""
    handoff_to: str | None = None
    name: str | None = None
    """A name of its own for what is no agent: workflow, task or node."""

    input: Content | None = None
    output: Content | None = None
    system: Content | None = None
    choices: int | None = None
    """How many alternatives a model was asked for."""

    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_arguments: JSONValue = None
    tool_result: JSONValue = None
    tool_error: str | None = None

    query: str | None = None
    documents: tuple[RetrievedDocument, ...] | None = None

    model_asked: str | None = None
    model_answered: str | None = None
    provider: str | None = None
    response_id: str | None = None
    previous_response_id: str | None = None
    finished: bool | None = None
    """True where the span shows that a model replied."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None

    session_id: str | None = None
    user_id: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] | None = None
    error_type: str | None = None
    paused: bool | None = None
    content_setting: str | None = None
    """What turns the recording of content on, as "set X=y", where the scope does not tell the library."""


_CONTENT = tuple(Reading._fields.index(name) for name in ("input", "output", "system"))
EMPTY = Reading()
_KNOWN_NAMES = 4096
"""Names of attributes of which it is kept in mind whether they hold content."""
_LONGEST_KNOWN = 200


class Dialect(Protocol):
    """One instrumentation's way to write messages into spans.

    A dialect only reads one span, with the log records that belong to it, and never asks which trace, scope or library
    it is from: one span may carry two dialects.
    """

    @property
    def content_prefixes(self) -> tuple[str, ...]:
        """Give how the names of attributes begin that hold content."""
        ...

    @property
    def marks(self) -> frozenset[str] | None:
        """Give the first words of the attributes that tell its spans; ``None`` where any span may be one.

        A span that has none of them, and whose name begins as none of ``names``, is not read.
        """
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Give how the names of its spans begin where no attribute tells them."""
        ...

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading | None:
        """Read what this dialect knows of a span; ``None`` where it knows nothing."""
        ...


_Asked: TypeAlias = tuple[tuple[Dialect, tuple[str, ...] | None], ...]
_MAX_KNOWN = 1_024


def combine(readings: Sequence[Reading]) -> Reading:
    """Unite readings field by field: the first that says something wins.

    Of two readings of the same content, a complete one wins over one that was cut off.
    """
    if not readings:
        return EMPTY
    if len(readings) == 1:
        return readings[0]
    united: list[Any] = list(readings[0])
    for reading in readings[1:]:
        united = [mine if mine is not None else theirs for mine, theirs in zip(united, reading, strict=True)]
    for place in _CONTENT:
        if united[place] is not None:
            united[place] = best(*[content for reading in readings if isinstance(content := reading[place], Content)])
    return Reading._make(united)


def best(*contents: Content) -> Content | None:
    """Choose among recordings of one content.

    Messages come before other values, complete ones before what was cut off, then the first; a list whose messages say
    nothing comes last.
    """
    if len(contents) < 2:
        return contents[0] if contents else None

    def worth(content: Content) -> tuple[bool, int, bool]:
        return not (content.hollow or content.lacks_calls), content.rank, not content.truncated

    return max(contents, key=worth)


@dataclass(frozen=True, kw_only=True, slots=True)
class DialectSet:
    """Dialects in their order of precedence."""

    dialects: tuple[Dialect, ...]
    content_prefixes: tuple[str, ...] = field(init=False)
    _asked: dict[frozenset[str], _Asked] = field(init=False, repr=False, compare=False, default_factory=dict)
    """By the first words of a span's attributes: whom to ask about it. Spans of one library are all alike."""
    _content: Callable[[str], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        prefixes = {prefix for dialect in self.dialects for prefix in dialect.content_prefixes}
        object.__setattr__(self, "content_prefixes", tuple(sorted(prefixes)))
        object.__setattr__(self, "_content", lru_cache(_KNOWN_NAMES)(partial(_begins, self.content_prefixes)))

    def holds_content(self, key: str) -> bool:
        """Tell whether an attribute of this name holds content."""
        return self._content(key) if len(key) <= _LONGEST_KNOWN else _begins(self.content_prefixes, key)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading:
        """Read a span by every dialect, field by field with fall-through."""
        return combine([reading for _, reading in self._each(span, logs)])

    def readers(self, span: Span, logs: Sequence[LogRecord]) -> tuple[str, ...]:
        """Name the dialects that say something of a span, in the order of precedence."""
        found = [dialect for dialect, reading in self._each(span, logs) if reading != EMPTY]
        # The last reads what any span may say: it is named where no other knows the span.
        return tuple(type(dialect).__name__ for dialect in found if dialect is not self.dialects[-1] or len(found) == 1)

    def _each(self, span: Span, logs: Sequence[LogRecord]) -> list[tuple[Dialect, Reading]]:
        starts = {key.partition(".")[0] for key in span.attributes}
        words = frozenset([start.partition(":")[0] for start in starts])
        asked = self._asked.get(words)
        if asked is None:
            asked = self._asking(words)
        name = span.name
        return [
            (dialect, reading)
            for dialect, names in asked
            if (names is None or name.startswith(names)) and (reading := dialect.read(span, logs)) is not None
        ]

    def _asking(self, words: frozenset[str]) -> _Asked:
        """Choose the dialects to ask about spans that have these attributes; those with names of spans by the name."""
        marked = [dialect.marks is None or not dialect.marks.isdisjoint(words) for dialect in self.dialects]
        asked = tuple(
            (dialect, None if found else dialect.names)
            for dialect, found in zip(self.dialects, marked, strict=True)
            if found or dialect.names
        )
        if len(self._asked) >= _MAX_KNOWN:  # senders choose the names of attributes
            self._asked.clear()
        self._asked[words] = asked
        return asked


def _begins(starts: tuple[str, ...], key: str) -> bool:
    return key.startswith(starts)
