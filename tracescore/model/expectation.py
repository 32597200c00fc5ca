"""What a trajectory should be: expected steps and their order, budgets, and what may not be done."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, get_args

from tracescore.arguments import FLAG, TEXT, Wanted, an, check, number, one_of, optional
from tracescore.errors import ConfigurationError
from tracescore.model.trajectory import STEP_TYPES, StepType, Trajectory, TrajectoryStep

Ordering: TypeAlias = Literal["strict", "relaxed", "unordered"]

COMPARED = tuple(
    field.name for field in fields(TrajectoryStep) if field.name not in ("name", "type", "children", "span_id")
)
MAX_STEPS = 200
"""Expected steps at one level: an expectation may come from a span, and comparing takes their square."""
MAX_DEPTH = 16
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_OTHER_NAMES = {
    "step_type": "type",
    "tool_args": "arguments",
    "tool_result": "result",
    "model_id": "model",
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "output": "result",
}
_SEQUENCES = ("blacklisted_tools", "blacklisted_sequences")
_LIMITS = ("max_steps", "max_total_tokens", "max_total_duration_ms", "max_retries_per_tool")
_FLAGS = ("allow_repeated_steps", "no_redundant_calls")


class InvalidExpectation(ConfigurationError, ValueError):
    """What was given as an expected trajectory is none; the message says where and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedStep:
    """A step that should be there: its name, its type where that matters, and whatever fields should be equal.

    ``fields`` are names of ``TrajectoryStep``'s, such as ``{"arguments": {"city": "Paris"}}``; ``children`` is what
    should be done inside it.
    """

    name: str
    type: StepType | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    children: TrajectoryExpectation | None = None

    def __post_init__(self) -> None:
        check("ExpectedStep", _STEP, {name: getattr(self, name) for name in _STEP}, InvalidExpectation)
        for name in self.fields:
            if name not in COMPARED:
                raise InvalidExpectation(
                    f"ExpectedStep(fields=...): a step has no {name!r}{_nearest(str(name), COMPARED)}"
                )

    def matches(self, step: TrajectoryStep) -> bool:
        """Tell whether a step is this one; what was done inside it is looked at apart."""
        if step.name != self.name or (self.type is not None and step.type != self.type):
            return False
        return all(getattr(step, name) == value for name, value in self.fields.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryExpectation:
    """What should be done, in which order, with how much, and what should not.

    ``ordering``: ``"strict"`` step by step, ``"relaxed"`` in this order with others between, ``"unordered"`` in any.
    Model calls count as steps only where a step of type ``"model_generation"`` is expected: whether they are known
    depends on what recorded the run. Without ``steps`` any steps will do.

    Example:
        >>> expected = TrajectoryExpectation.read(["search", {"name": "book", "arguments": {"city": "Paris"}}])
        >>> [step.name for step in expected.steps]
        ['search', 'book']
    """

    steps: tuple[ExpectedStep, ...] | None = None
    ordering: Ordering = "relaxed"
    allow_repeated_steps: bool = True
    max_steps: int | None = None
    max_total_tokens: int | None = None
    max_total_duration_ms: float | None = None
    no_redundant_calls: bool = True
    blacklisted_tools: tuple[str, ...] = ()
    blacklisted_sequences: tuple[tuple[str, ...], ...] = ()
    max_retries_per_tool: int = 2

    def __post_init__(self) -> None:
        check("TrajectoryExpectation", _EXPECTED, {name: getattr(self, name) for name in _EXPECTED}, InvalidExpectation)

    @classmethod
    def read(cls, value: Any) -> TrajectoryExpectation:
        """Read what a caller, an attribute or a data set gives.

        That is names or steps in a list, a whole trajectory to be followed, or a mapping of this class's fields; names
        in camel case will do.

        Raises:
            InvalidExpectation: it is none of these.
        """
        if isinstance(value, TrajectoryExpectation):
            return value
        if isinstance(value, Trajectory):
            return cls(steps=tuple(_as_done(step) for step in value.steps))
        if isinstance(value, Mapping):
            return _expectation(value, "expected_trajectory")
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            return cls(steps=_steps(value, "expected_trajectory"))
        raise InvalidExpectation(
            f"expected_trajectory is a list of steps or a mapping with steps, not {type(value).__name__}: {value!r:.80}"
        )


def _holds_names(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(name, str) for name in value)


_STEP = {
    "name": TEXT,
    "type": optional(one_of(*STEP_TYPES)),
    "fields": an(Mapping, "a mapping of a step's fields, such as {'arguments': {...}}"),
    "children": optional(an(TrajectoryExpectation, "a TrajectoryExpectation")),
}
_LIMIT = number("a number, 0 or more", lambda value: value >= 0)
_EXPECTED = {
    "steps": optional(
        Wanted(
            words="a tuple of ExpectedStep; TrajectoryExpectation.read([...]) takes names too",
            fits=lambda value: (
                isinstance(value, (tuple, list)) and all(isinstance(step, ExpectedStep) for step in value)
            ),
        )
    ),
    "ordering": one_of(*get_args(Ordering)),
    **dict.fromkeys(_FLAGS, FLAG),
    **dict.fromkeys(_LIMITS, optional(_LIMIT)),
    "max_retries_per_tool": _LIMIT,
    "blacklisted_tools": Wanted(words="a tuple of names of tools", fits=_holds_names),
    "blacklisted_sequences": Wanted(
        words="a tuple of tuples of names of tools",
        fits=lambda value: isinstance(value, (tuple, list)) and all(map(_holds_names, value)),
    ),
}


def _as_done(step: TrajectoryStep) -> ExpectedStep:
    compared = {"arguments": step.arguments} if step.arguments is not None else {}
    children = TrajectoryExpectation(steps=tuple(_as_done(child) for child in step.children)) if step.children else None
    return ExpectedStep(name=step.name, type=step.type, fields=compared, children=children)


def _expectation(value: Mapping[str, Any], where: str) -> TrajectoryExpectation:
    known = [field.name for field in fields(TrajectoryExpectation)]
    given: dict[str, Any] = {}
    for key, item in value.items():
        name = _snake(key)
        if name not in known:
            raise InvalidExpectation(f"{where} has no {key!r}{_nearest(name, known)}")
        given[name] = _checked(name, item, f"{where}.{name}")
    return TrajectoryExpectation(**given)


def _checked(name: str, value: Any, where: str) -> Any:
    if name == "steps":
        if value is not None and (not isinstance(value, Sequence) or isinstance(value, str)):
            raise InvalidExpectation(f"{where} is a list of steps, not {type(value).__name__}")
        return None if value is None else _steps(value, where)
    if name == "ordering" and value not in get_args(Ordering):
        raise InvalidExpectation(f"{where} is one of {', '.join(get_args(Ordering))}, not {value!r:.80}")
    if name in _FLAGS and not isinstance(value, bool):
        raise InvalidExpectation(f"{where} is true or false, not {value!r:.80}")
    if name in _LIMITS and value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise InvalidExpectation(f"{where} is a number, not {value!r:.80}")
    if name in _LIMITS and value is not None and not value >= 0:
        raise InvalidExpectation(f"{where} is 0 or more, not {value!r:.80}")
    if name == "max_retries_per_tool" and value is None:
        raise InvalidExpectation(f"{where} is a number, not None")
    if name in _SEQUENCES:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise InvalidExpectation(f"{where} is a list, not {value!r:.80}")
        if name == "blacklisted_tools":
            return tuple(_name(item, where) for item in value)
        return tuple(tuple(_name(tool, where) for tool in _list(item, where)) for item in value)
    return value


def _list(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise InvalidExpectation(f"{where} is a list of lists of tool names, not {value!r:.80}")
    return value


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidExpectation(f"{where} holds names of tools, not {value!r:.80}")
    return value


def _steps(value: Sequence[Any], where: str) -> tuple[ExpectedStep, ...]:
    if len(value) > MAX_STEPS:
        raise InvalidExpectation(f"{where} has {len(value)} steps; {MAX_STEPS} is the most")
    if where.count(".children") > MAX_DEPTH:
        raise InvalidExpectation(f"steps are expected more than {MAX_DEPTH} levels deep")
    return tuple(_step(item, f"{where}[{place}]") for place, item in enumerate(value))


def _step(value: Any, where: str) -> ExpectedStep:
    if isinstance(value, ExpectedStep):
        return value
    if isinstance(value, TrajectoryStep):
        return _as_done(value)
    if isinstance(value, str):
        return ExpectedStep(name=value)
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise InvalidExpectation(f"{where} is a step's name, or a mapping with its name, not {value!r:.80}")
    given: dict[str, Any] = {"name": value["name"]}
    compared: dict[str, Any] = {}
    for key, item in value.items():
        name = _OTHER_NAMES.get(_snake(key), _snake(key))
        if name == "children":
            given["children"] = None if item is None else _inside(item, where)
        elif name == "fields" and isinstance(item, Mapping):
            compared |= item
        elif name == "type" and item in (None, *STEP_TYPES):
            given["type"] = item
        elif name == "type":
            raise InvalidExpectation(f"{where}: the type {item!r:.80} is unknown{_nearest(str(item), STEP_TYPES)}")
        elif name != "name":
            compared[name] = item
    for name in compared:
        if name not in COMPARED:
            raise InvalidExpectation(f"{where}: a step has no {name!r}{_nearest(name, COMPARED)}")
    return ExpectedStep(**given, fields=compared)


def _inside(value: Any, where: str) -> TrajectoryExpectation:
    if isinstance(value, TrajectoryExpectation):
        return value
    if isinstance(value, Mapping):
        return _expectation(value, f"{where}.children")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return TrajectoryExpectation(steps=_steps(value, f"{where}.children"))
    raise InvalidExpectation(f"{where}.children is a list of steps or a mapping with steps, not {value!r:.80}")


def _snake(name: Any) -> str:
    return _CAMEL.sub("_", str(name)).lower()


def _nearest(name: str, known: Sequence[str]) -> str:
    nearest = get_close_matches(name, known, n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else f"; known are {', '.join(known)}"
