"""Runs that cannot be changed: what one step does to a run, no later step and no caller may see.

A run's own fields are frozen already; this freezes the JSON in them. Objects of a user's own classes stay as they are.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tracescore.model import AgentRun, DataPart, Messages, ScorerRun, ToolInvocationPart


def _refuse(self: object, *_: Any, **__: Any) -> NoReturn:
    kind = "dict" if isinstance(self, dict) else "list"
    raise TypeError(f"a run cannot be changed; take a copy with {kind}(...)")


class FrozenDict(dict[Any, Any]):
    """A dict of a run: it reads, compares and serialises as a dict, and refuses every change."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[Any, Any]]]:
        return (FrozenDict, (dict(self),))


class FrozenList(list[Any]):
    """A list of a run: it reads, compares and serialises as a list, and refuses every change."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    append = extend = insert = pop = remove = reverse = sort = clear = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __reduce__(self) -> tuple[type[FrozenList], tuple[list[Any]]]:
        return (FrozenList, (list(self),))


_EMPTY = FrozenDict()
_MUTABLE = (dict, list)
_MAPPINGS = ("additional_context", "metadata", "attributes", "request_context")
_VALUES = ("ground_truth", "expected_trajectory")
_set = object.__setattr__


def frozen(value: Any) -> Any:
    """Give a value whose dicts and lists refuse changes; the caller's own stay as they are."""
    kind = type(value)
    if kind is dict:
        return FrozenDict({key: frozen(item) for key, item in value.items()}) if value else _EMPTY
    if kind is list:
        return FrozenList([frozen(item) for item in value])
    return value


def freeze_run(run: ScorerRun[Any, Any], *, again: bool = False) -> None:
    """Make a run such that whoever is handed it cannot change it.

    The run itself takes the frozen values in: they are equal to what they replace, and a run that several scorers see
    is frozen once. ``again`` looks at one anew that a prepare_run made of a frozen one.
    """
    if type(run.request_context) is FrozenDict and not again:
        return
    if isinstance(run, AgentRun):
        _freeze_messages(run.input.input_messages)
        _freeze_messages(run.input.remembered_messages)
        _freeze_messages(run.output)
        tagged = run.input.tagged_system_messages
        if type(tagged) is not FrozenDict:
            _set(run.input, "tagged_system_messages", FrozenDict(tagged) if tagged else _EMPTY)
    else:
        for name in ("input", "output"):
            value = getattr(run, name)
            if isinstance(value, Messages):
                _freeze_messages(value)
            elif type(value) in _MUTABLE:
                _set(run, name, frozen(value))
    for name in _VALUES:
        value = getattr(run, name)
        if value is not None:
            _set(run, name, frozen(value))
    for name in _MAPPINGS:  # the request context last: it tells that all is done
        value = getattr(run, name)
        if type(value) is not FrozenDict:
            _set(run, name, frozen(dict(value)) if value else _EMPTY)


def _freeze_messages(messages: Messages) -> None:
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolInvocationPart):
                if type(part.arguments) in _MUTABLE:
                    _set(part, "arguments", frozen(part.arguments))
                if type(part.result) in _MUTABLE:
                    _set(part, "result", frozen(part.result))
            elif isinstance(part, DataPart) and type(part.data) in _MUTABLE:
                _set(part, "data", frozen(part.data))
