"""A quick ``__init__`` for frozen dataclasses of which many are built."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


def quick_init(cls: type[T]) -> type[T]:
    """Let a frozen, keyword-only dataclass with slots be built at a third of the cost; all else of it stays.

    The ``__init__`` that dataclasses write calls ``object.__setattr__`` for every field, since the class refuses plain
    assignment. This one makes the new object, for as long as it is being filled, one of a twin class that takes it.
    """
    open_again = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    held: dict[str, Any] = {
        "_cls": cls,
        "_twin": type(cls.__name__, (cls,), open_again),
        "_become": object.__dict__["__class__"].__set__,
        "_generated": cls.__init__,
        "_unset": MISSING,
    }
    parameters: list[str] = []
    values: dict[str, str] = {}
    for field in fields(cls):  # type: ignore[arg-type]  # the caller's promise
        name = values[field.name] = field.name
        if field.default_factory is not MISSING:
            held[f"_made_{name}"] = field.default_factory
            parameters.append(f"{name}=_unset")
            values[name] = f"_made_{name}() if {name} is _unset else {name}"
        elif field.default is not MISSING:
            held[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
    lines = [
        f"def __init__(self, *, {', '.join(parameters)}):",
        " if self.__class__ is not _cls:",  # a class derived from it, without fields of its own
        f"  return _generated(self, {', '.join(f'{name}={value}' for name, value in values.items())})",
        " _become(self, _twin)",
        *(f" self.{name} = {value}" for name, value in values.items()),
        " self.__class__ = _cls",
    ]
    exec("\n".join(lines), held)
    init = held["__init__"]
    init.__qualname__, init.__annotations__ = cls.__init__.__qualname__, cls.__init__.__annotations__
    init.__module__ = cls.__module__
    cls.__init__ = init
    return cls
