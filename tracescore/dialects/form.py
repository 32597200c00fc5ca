"""The common form: what a dialect says of one span."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Literal, NoReturn, Protocol, TypeAlias

from typing_extensions import dataclass_transform

from tracescore.dialects.content import Content
from tracescore.dialects.layers import layer_of, without_layer
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


@dataclass_transform(kw_only_default=True, frozen_default=True)
class _Sparse:
    """Fields of which most are not said: only what is said is held, so that readings unite as fast as dicts do."""

    def __init__(self, **said: Any) -> None:
        held = self.__dict__
        for name, value in said.items():
            if value is not None:
                held[name] = value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # as for any class that is compared by what it holds

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({said})"


class Reading(_Sparse):
    """What one dialect, or all of them together, read from one span; ``None`` is "says nothing"."""

    def but(self, **said: Any) -> Reading:
        """Give it with other values of some fields."""
        return Reading(**{**self.__dict__, **said})

    role: SpanRole | None = None
    generic: bool | None = None
    """True where no dialect but the generic fall-through knows the span's role."""
    unknown: bool | None = None
    """True where something was read from names that no dialect knows."""

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
    ended: str | None = None
    """The reason for which the reply ended, where it stands beside the messages."""

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


_CONTENT = ("input", "output", "system")
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
        """Give how the names of the attributes begin that tell its spans; ``None`` where any span may be one.

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


class Unlisted(Dialect, Protocol):
    """A dialect that knows content by more than how names begin."""

    def holds_content(self, key: str) -> bool:
        """Tell whether an attribute of this name holds content."""
        ...


_Asked: TypeAlias = tuple[tuple[Dialect, tuple[str, ...] | None], ...]
_MAX_KNOWN = 1_024
_FEW = 40
"""Attributes of a span that is known by all of them, and not by their heads only."""
_HEAD = 16
"""Characters of an attribute's name by which dialects are chosen: numbered attributes share their heads."""


def combine(readings: Sequence[Reading]) -> Reading:
    """Unite readings field by field: the first that says something wins.

    Of two readings of the same content, a complete one wins over one that was cut off.
    """
    if len(readings) == 1:
        return readings[0]
    if len(readings) == 2:
        first, other = readings[0].__dict__.keys(), readings[1].__dict__.keys()
        if other <= first and other.isdisjoint(_CONTENT):
            return readings[0]
    whole = Reading()
    united = whole.__dict__
    for reading in reversed(readings):
        united.update(reading.__dict__)
    for side in _CONTENT:
        if side in united:
            contents = [said[side] for reading in readings if side in (said := reading.__dict__)]
            if len(contents) > 1:
                united[side] = best(*contents)
    return whole


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
    foreign: Unlisted | None = None
    """Asked where no dialect knows a span, or what is recorded of it."""
    namespaces: frozenset[str] = frozenset()
    """First words of attributes by which a span is known also where other words stand before them."""
    content_prefixes: tuple[str, ...] = field(init=False)
    _asked: dict[Collection[str], _Asked] = field(init=False, repr=False, compare=False, default_factory=dict)
    """By a span's attributes, or how their names begin: whom to ask about it. Spans of one library are all alike."""
    _content: Callable[[str], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        prefixes = {prefix for dialect in self.dialects for prefix in dialect.content_prefixes}
        object.__setattr__(self, "content_prefixes", tuple(sorted(prefixes)))
        holds = partial(_holds, self.content_prefixes, self.foreign, self.namespaces)
        object.__setattr__(self, "_content", lru_cache(_KNOWN_NAMES)(holds))

    def holds_content(self, key: str) -> bool:
        """Tell whether an attribute of this name holds content."""
        return (
            self._content(key) if len(key) <= _LONGEST_KNOWN else _holds(self.content_prefixes, None, frozenset(), key)
        )

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Reading:
        """Read a span by every dialect, field by field with fall-through."""
        reading = self._read(span, logs)
        if self.foreign is None or not _is_open(reading):
            return reading
        bare = without_layer(span, self.namespaces)
        if bare is not None:
            inside = self._read(bare, logs)
            if inside.generic is False or _tells(inside):
                return inside
        more = self.foreign.read(span, logs)
        if more is None or (reading.generic is False and not _tells(more)):
            return reading
        return combine([reading, more])

    def _read(self, span: Span, logs: Sequence[LogRecord]) -> Reading:
        name = span.name
        readings: list[Reading] = []
        for dialect, names in self._whom_to_ask(span):
            if names is None or name.startswith(names):
                found = dialect.read(span, logs)
                if found is not None:
                    readings.append(found)
        return combine(readings)

    def readers(self, span: Span, logs: Sequence[LogRecord]) -> tuple[str, ...]:
        """Name the dialects that say something of a span, in the order of precedence."""
        if _is_open(self._read(span, logs)) and (bare := without_layer(span, self.namespaces)) is not None:
            span = bare if self._read(bare, logs).generic is False else span
        asked = [one for one, names in self._whom_to_ask(span) if names is None or span.name.startswith(names)]
        found = [dialect for dialect in asked if dialect.read(span, logs) not in (None, EMPTY)]
        # The last reads what any span may say: it is named where no other knows the span.
        named = [type(dialect).__name__ for dialect in found if dialect is not self.dialects[-1] or len(found) == 1]
        return (*named, type(self.foreign).__name__) if self.read(span, logs).unknown else tuple(named)

    def _whom_to_ask(self, span: Span) -> _Asked:
        names = tuple(span.attributes)
        asked = self._asked.get(names)
        return asked if asked is not None else self._asking(names)

    def _asking(self, names: tuple[str, ...]) -> _Asked:
        """Choose the dialects to ask about spans that have these attributes; those with names of spans by the name."""
        heads = frozenset([name[:_HEAD] for name in names])
        asked = self._asked.get(heads)
        if asked is None:
            asked = tuple(self._choose(heads))
            self._keep(heads, asked)
        if len(names) <= _FEW and sum(map(len, names)) <= _FEW * _LONGEST_KNOWN:
            self._keep(names, asked)
        return asked

    def _choose(self, heads: frozenset[str]) -> Iterator[tuple[Dialect, tuple[str, ...] | None]]:
        for dialect in self.dialects:
            marks = None if dialect.marks is None else tuple([mark[:_HEAD] for mark in dialect.marks])
            if marks is None or any(head.startswith(marks) for head in heads):
                yield dialect, None
            elif dialect.names:
                yield dialect, dialect.names

    def _keep(self, attributes: Collection[str], asked: _Asked) -> None:
        if len(self._asked) >= _MAX_KNOWN:  # senders choose the names of attributes
            self._asked.clear()
        self._asked[attributes] = asked


def _is_open(reading: Reading) -> bool:
    """Tell a span that no dialect knows, or of which none found what is the point of it."""
    if reading.generic is not False:
        return True
    if reading.role not in ("llm", "tool", "agent"):
        return False
    return not _tells(reading)


def _tells(reading: Reading) -> bool:
    return reading.input is not None or reading.output is not None or reading.tool_arguments is not None


def _holds(starts: tuple[str, ...], foreign: Unlisted | None, namespaces: frozenset[str], key: str) -> bool:
    if key.startswith(starts) or (foreign is not None and foreign.holds_content(key)):
        return True
    layer = layer_of((key,), namespaces)
    return layer is not None and key.removeprefix(layer).startswith(starts)
