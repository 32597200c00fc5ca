"""Runs that cannot be changed: what one step does to a run, no later step and no caller may see.

A run's own fields are frozen already; this freezes the JSON in them. Objects of other classes cannot be frozen, so that
each step is handed copies of its own of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NoReturn
from uuid import UUID

from tracescore.model import (
    AgentInput,
    AgentRun,
    DataPart,
    Messages,
    ScorerRun,
    TextPart,
    ToolInvocationPart,
    Trajectory,
    TrajectoryExpectation,
    TrajectoryRun,
)


def _refuse(self: object, *_: Any, **__: Any) -> NoReturn:
    kind = "dict" if isinstance(self, dict) else "list"
    raise TypeError(f"a run cannot be changed; take a copy with {kind}(...)")


class FrozenDict(dict[Any, Any]):
    """A dict of a run: it reads, compares and serialises as a dict, and refuses every change.

    A copy of it is a plain dict again. ``foreign`` is True of one that holds an object which cannot be frozen.
    """

    __slots__ = ()
    foreign = False
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __reduce__(self) -> tuple[type[dict[Any, Any]], tuple[dict[Any, Any]]]:
        return (dict, (dict(self),))


class FrozenList(list[Any]):
    """A list of a run: it reads, compares and serialises as a list, and refuses every change.

    A copy of it is a plain list again. ``foreign`` is as a dict's.
    """

    __slots__ = ()
    foreign = False
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    append = extend = insert = pop = remove = reverse = sort = clear = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __reduce__(self) -> tuple[type[list[Any]], tuple[list[Any]]]:
        return (list, (list(self),))


class _DictWithObjects(FrozenDict):
    __slots__ = ()
    foreign = True


class _ListWithObjects(FrozenList):
    __slots__ = ()
    foreign = True


_FROZEN = frozenset((FrozenDict, FrozenList, _DictWithObjects, _ListWithObjects))
_EMPTY = FrozenDict()
_OWN = (AgentInput, Messages, Trajectory, TrajectoryExpectation)
_ATOMIC = frozenset(
    (str, int, float, bool, type(None), bytes, complex, date, datetime, time, timedelta, Decimal, UUID, range)
)
_MAPPINGS = ("additional_context", "metadata", "attributes", "request_context")
_VALUES = ("ground_truth", "expected_trajectory")
_set = object.__setattr__


def frozen(value: Any) -> Any:
    """Give a value whose dicts and lists refuse changes; the caller's own stay as they are."""
    kind = type(value)
    if kind in _ATOMIC or kind in _FROZEN:
        return value
    if isinstance(value, dict):
        return _frozen_dict(value) if value else _EMPTY
    if isinstance(value, list):
        entries = [item if type(item) in _ATOMIC else frozen(item) for item in value]
        return (_ListWithObjects if _any_foreign(entries) else FrozenList)(entries)
    if kind is tuple:
        return tuple(frozen(item) for item in value)
    if kind is set:
        return frozenset(value)
    return value


def _frozen_dict(value: Mapping[Any, Any]) -> FrozenDict:
    inner = {key: frozen(item) for key, item in value.items() if type(item) not in _ATOMIC}
    if not inner:
        return FrozenDict(value)
    return (_DictWithObjects if _any_foreign(inner.values()) else FrozenDict)({**value, **inner})


def is_foreign(value: Any) -> bool:
    """Tell whether a frozen value is or holds an object that cannot be frozen."""
    kind = type(value)
    if kind in _ATOMIC:
        return False
    if kind in _FROZEN:
        return bool(value.foreign)
    if kind is tuple or kind is frozenset:
        return _any_foreign(value)
    return not isinstance(value, _OWN)


def _any_foreign(values: Iterable[Any]) -> bool:
    return any(type(value) not in _ATOMIC and is_foreign(value) for value in values)


def freeze_run(run: ScorerRun[Any, Any], *, again: bool = False) -> None:
    """Make a run such that whoever is handed it cannot change it.

    The run itself takes the frozen values in: they are equal to what they replace, and a run that several scorers see
    is frozen once. ``again`` looks at one anew that a prepare_run made of a frozen one.
    """
    if not again and type(run.request_context) in _FROZEN:
        return
    kind = type(run)
    foreign = False
    if kind is AgentRun:
        _freeze_input(run.input)
        _freeze_messages(run.output)
    elif kind is TrajectoryRun:
        _freeze_input(run.input)
        _freeze_trajectory(run.output)
    else:
        for name in ("input", "output"):
            value = getattr(run, name)
            if isinstance(value, Messages):
                _freeze_messages(value)
            elif not isinstance(value, _OWN):
                foreign |= _freeze_field(run, name, value)
    if run.trajectory is not None:
        _freeze_trajectory(run.trajectory)
    for name in _VALUES:
        value = getattr(run, name)
        if value is not None:
            foreign |= _freeze_field(run, name, value)
    for name in _MAPPINGS:  # the request context last: it tells that all is done
        value = getattr(run, name)
        if not value:
            _set(run, name, _EMPTY)
        else:
            made = value if type(value) in _FROZEN else _frozen_dict(value)
            _set(run, name, made)
            foreign = foreign or made.foreign
    if foreign:
        _set(run, "request_context", _DictWithObjects(run.request_context))


def _freeze_field(run: ScorerRun[Any, Any], name: str, value: Any) -> bool:
    made = frozen(value)
    if made is not value:
        _set(run, name, made)
    return is_foreign(made)


def is_shared_safely(run: ScorerRun[Any, Any]) -> bool:
    """Tell whether a frozen run may be handed to several steps as it is: it holds nothing that cannot be frozen."""
    return type(run.request_context) is not _DictWithObjects


def own_copy(run: ScorerRun[Any, Any]) -> ScorerRun[Any, Any]:
    """Give a frozen run with copies of the objects in it that cannot be frozen; what cannot be copied is shared."""
    names = ("input", "output", *_VALUES, *_MAPPINGS)
    changes = {name: _copied(value) for name in names if is_foreign(value := getattr(run, name))}
    return replace(run, **changes)


def _copied(value: Any) -> Any:
    if not is_foreign(value):
        return value
    if isinstance(value, FrozenDict):
        return _DictWithObjects({key: _copied(item) for key, item in value.items()})
    if isinstance(value, FrozenList):
        return _ListWithObjects([_copied(item) for item in value])
    if type(value) is tuple:
        return tuple(_copied(item) for item in value)
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001  # a client or a lock: whoever put it into a run shares it knowingly
        return value


def _freeze_input(given: AgentInput) -> None:
    _freeze_messages(given.input_messages)
    _freeze_messages(given.remembered_messages)
    tagged = given.tagged_system_messages
    if type(tagged) is not FrozenDict:
        _set(given, "tagged_system_messages", FrozenDict(tagged) if tagged else _EMPTY)


def _freeze_messages(messages: Messages) -> None:
    for message in messages:
        for part in message.parts:
            if type(part) is TextPart:  # nearly all of them
                continue
            if isinstance(part, ToolInvocationPart):
                if type(part.arguments) not in _ATOMIC:
                    _set(part, "arguments", frozen(part.arguments))
                if type(part.result) not in _ATOMIC:
                    _set(part, "result", frozen(part.result))
            elif isinstance(part, DataPart) and type(part.data) not in _ATOMIC:
                _set(part, "data", frozen(part.data))


def _freeze_trajectory(trajectory: Trajectory) -> None:
    for step in trajectory.walk():
        if type(step.arguments) not in _ATOMIC:
            _set(step, "arguments", frozen(step.arguments))
        if type(step.result) not in _ATOMIC:
            _set(step, "result", frozen(step.result))
        if step.metadata is not None and type(step.metadata) not in _FROZEN:
            _set(step, "metadata", _frozen_dict(step.metadata))
    if isinstance(trajectory.raw_output, Messages):
        _freeze_messages(trajectory.raw_output)
    elif type(trajectory.raw_output) not in _ATOMIC:
        _set(trajectory, "raw_output", frozen(trajectory.raw_output))
