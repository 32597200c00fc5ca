"""Values and functions as plain JSON that says what they do: the matter of a scorer's version."""

from __future__ import annotations

import ast
import functools
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, UnionType
from typing import Any, Union
from uuid import UUID

from pydantic import BaseModel

from tracescore.judge import Judge
from tracescore.scorers.own_code import OwnCode, module_of
from tracescore.scorers.reached import names_in_class, names_in_code, paths_from
from tracescore.scorers.source import NoSource, class_source, function_source

_BY_TEXT = (date, datetime, time, timedelta, Decimal, Fraction, UUID, PurePath, complex, range, slice)
_CONSTANTS = (bool, int, float, str, bytes, tuple, frozenset, list, dict, set)
_DEPTH = 40
_SAME_MODULE = {"posixpath": "os", "ntpath": "os"}


class Unhashable(Exception):
    """A value that a version cannot be made of."""


class Code(dict[str, Any]):
    """The description of a function or class; its name and how it is written are for people and make no version."""

    def __init__(self, matter: dict[str, Any], *, name: str, written: str) -> None:
        super().__init__(matter)
        self.name = name
        self.written = written


class Canonical:
    """Describe values for one scorer: code of the user's own package is read, any other is named."""

    def __init__(self, own: OwnCode) -> None:
        self._own = own
        self._seen: dict[int, int] = {}
        self._kept: list[object] = []  # an id is only its object's as long as the object lives

    def value(self, value: Any, *, depth: int = 0) -> Any:
        """Describe a value.

        Raises:
            Unhashable: it, or something in it, cannot be described.
            NoSource: it is or holds a function whose source cannot be read.
        """
        if value is None or (isinstance(value, (bool, int, str)) and not isinstance(value, Enum)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else ["float", repr(value)]
        if depth > _DEPTH:
            raise Unhashable(f"a {type(value).__qualname__} that is nested too deep")
        deeper = depth + 1
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return [type(value).__name__, [self.value(item, depth=deeper) for item in value]]
        if isinstance(value, (set, frozenset)):
            return ["set", sorted((self.value(item, depth=deeper) for item in value), key=repr)]
        if isinstance(value, Mapping):
            pairs = [[self.value(key, depth=deeper), self.value(item, depth=deeper)] for key, item in value.items()]
            return ["mapping", sorted(pairs, key=lambda pair: repr(pair[0]))]
        if isinstance(value, (bytes, bytearray)):
            return ["bytes", value.hex()]
        return self._object(value, deeper)

    def _object(self, value: Any, depth: int) -> Any:
        if isinstance(value, FunctionType):
            return self.function(value)
        if isinstance(value, BuiltinFunctionType):
            return ["named", _top_of(value), value.__qualname__]
        if isinstance(value, MethodType):
            return ["method", self.value(value.__func__, depth=depth), self.value(value.__self__, depth=depth)]
        if isinstance(value, functools.partial):
            parts = (value.func, value.args, value.keywords)
            return ["partial", [self.value(part, depth=depth) for part in parts]]
        if isinstance(value, UnionType):  # str | None; Optional[str] is the same, and from 3.14 on of the same class
            return ["generic", self.value(Union, depth=depth), self.value(value.__args__, depth=depth)]
        if hasattr(value, "__origin__") and hasattr(value, "__args__"):  # list[str] and its like
            parts = (value.__origin__, value.__args__, getattr(value, "__metadata__", ()))
            return ["generic", *(self.value(part, depth=depth) for part in parts if part != ())]
        if isinstance(value, type):
            return self.cls(value)
        if type(value).__module__ == "typing" and hasattr(value, "_name"):  # Union, Literal and other special forms
            return ["named", "typing", value._name]
        if isinstance(value, Enum):
            return ["enum", self._name(type(value)), value.name, self.value(value.value, depth=depth)]
        if isinstance(value, re.Pattern):
            return ["pattern", self.value(value.pattern), value.flags]
        if isinstance(value, _BY_TEXT):
            return ["text", type(value).__name__, str(value)]
        if isinstance(value, ModuleType):
            return ["module", _top(value.__name__)]
        if isinstance(value, Judge):
            return ["judge", self.value(value.fingerprint(), depth=depth)]
        return self._instance(value, depth)

    def _instance(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if isinstance(value, BaseModel):
            return ["instance", self.cls(kind), self.value(value.model_dump(), depth=depth)]
        if is_dataclass(value):
            # Fields at their default are left out, so that a class may gain one without changing every version.
            given = {field.name: getattr(value, field.name) for field in fields(value) if not _is_default(value, field)}
            return ["instance", self.cls(kind), self.value(given, depth=depth)]
        version = getattr(value, "version", None)
        if hasattr(value, "score_range") and isinstance(version, str):  # another scorer
            return ["scorer", version]
        if hasattr(value, "__wrapped__"):  # functools.lru_cache and its like
            return ["wrapped", kind.__qualname__, self.value(value.__wrapped__, depth=depth)]
        if self._own.holds(kind) and hasattr(value, "__dict__"):
            return ["instance", self.cls(kind), self.value(vars(value), depth=depth)]
        raise Unhashable(f"a {kind.__module__}.{kind.__qualname__}")

    def function(self, function: FunctionType) -> Any:
        """Describe a function: its source, what it captured, and what it reaches of the user's own package.

        Raises:
            Unhashable: a default or a captured value that cannot be described.
            NoSource: its source cannot be read.
        """
        if not self._own.holds(function):
            captured = [
                cell for _, cell in _closure(function) if isinstance(cell, FunctionType) and self._own.holds(cell)
            ]
            return ["named", _top_of(function), function.__qualname__, [self.function(inner) for inner in captured]]
        if id(function) in self._seen:
            return ["seen", self._seen[id(function)]]
        self._seen[id(function)] = len(self._seen)
        self._kept.append(function)
        source = function_source(function)
        return Code(
            {
                "source": source.normalised,
                "defaults": self.value(function.__defaults__ or ()),
                "kwdefaults": self.value(function.__kwdefaults__ or {}),
                "captured": {name: self.value(cell) for name, cell in _closure(function)},
                "reached": self._reached(function, source.node),
            },
            name=function.__name__,
            written=source.written,
        )

    def cls(self, cls: type[Any]) -> Any:
        """Describe a class: its source and what its methods reach, where it is the user's own."""
        if not self._own.holds(cls):
            return ["named", _top_of(cls), cls.__qualname__]
        if id(cls) in self._seen:
            return ["seen", self._seen[id(cls)]]
        self._seen[id(cls)] = len(self._seen)
        self._kept.append(cls)
        source = class_source(cls)
        reached: dict[str, Any] = {}
        for name, member in sorted(vars(cls).items()):
            function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
            if isinstance(function, FunctionType) and self._own.holds(function):
                try:
                    reached[name] = self._reached(function, function_source(function).node)
                except NoSource:  # a method that a decorator wrote; the decorator's arguments are in the source
                    continue
        bases = [self.cls(base) for base in cls.__bases__ if self._own.holds(base)]
        return Code(
            {
                "class": source.normalised,
                "bases": bases,
                "constants": self._constants(cls),
                "loaded": self._loaded(cls, source.node),
                "reached": reached,
            },
            name=cls.__name__,
            written=source.written,
        )

    def _constants(self, cls: type[Any]) -> dict[str, Any]:
        """Describe the plain attributes of a class: a name that it loads may be its maker's, not its module's."""
        if issubclass(cls, Enum):  # how it keeps its members differs between Pythons; they stand in its text
            return {}
        return {
            name: self._leniently(value)
            for name, value in sorted(vars(cls).items())
            if not name.startswith("_") and isinstance(value, _CONSTANTS) and not isinstance(value, Enum)
        }

    def _loaded(self, cls: type[Any], node: ast.ClassDef) -> dict[str, Any]:
        """Describe what a class body takes of its module; what is not the user's own is named in its text already."""
        module = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        loaded: dict[str, Any] = {}
        for name in names_in_class(node):
            value = module.get(name)
            if isinstance(value, ModuleType):
                loaded |= self._of_module(name, value, node)
            elif isinstance(value, _CONSTANTS) or self._own.holds(value if _is_code(value) else type(value)):
                loaded[name] = self._leniently(value)
        return loaded

    def _reached(self, function: FunctionType, node: ast.AST) -> dict[str, Any]:
        """Describe the globals that a function uses; what is neither code nor constant counts by its type."""
        reached: dict[str, Any] = {}
        for name in names_in_code(function.__code__):
            if name not in function.__globals__:
                continue  # a builtin, or not there yet
            value = function.__globals__[name]
            if isinstance(value, ModuleType) and self._own.holds_module(value.__name__):
                reached |= self._of_module(name, value, node)
            else:
                reached[name] = self._leniently(value)
        return reached

    def _of_module(self, name: str, module: ModuleType, node: ast.AST) -> dict[str, Any]:
        """Describe what is taken of a module of the user's own, through its own submodules too."""
        reached: dict[str, Any] = {}
        for path in paths_from(name, node):
            value: Any = module
            for depth, attribute in enumerate(path, start=1):
                if not self._own.holds_module(value.__name__):
                    break
                value = getattr(value, attribute, None)
                if not isinstance(value, ModuleType):
                    reached[".".join((name, *path[:depth]))] = self._leniently(value)
                    break
        return reached

    def _leniently(self, value: Any) -> Any:
        try:
            return self.value(value)
        except (Unhashable, NoSource):
            return ["type", type(value).__qualname__]

    def _name(self, thing: Any) -> str:
        return f"{'' if self._own.holds(thing) else _top_of(thing)}:{thing.__qualname__}"


def _top_of(thing: Any) -> str:
    return _top(module_of(thing))


def _top(module: str) -> str:
    top = module.split(".")[0].lstrip("_")
    return _SAME_MODULE.get(top, top)


def _closure(function: FunctionType) -> Iterator[tuple[str, Any]]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in sorted(cells, key=lambda pair: pair[0]):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet: a function that is defined later
            continue


def _is_code(value: Any) -> bool:
    return isinstance(value, (FunctionType, type))


def _is_default(value: Any, field: Any) -> bool:
    current = getattr(value, field.name)
    if field.default is not MISSING:
        return bool(current is field.default or current == field.default)
    return field.default_factory is not MISSING and bool(current == field.default_factory())
