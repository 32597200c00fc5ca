"""Which names a function or a class body takes from its module."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from types import CodeType

_OF_THE_MODULE = {"__name__", "__file__", "__path__", "__package__", "__spec__", "__loader__", "__cached__", "__doc__"}
"""What says where code stands and not what it does; each class statement in a function loads the first."""


def names_in_code(code: CodeType) -> list[str]:
    """Give the global names that a function and those inside it load, sorted."""
    return sorted(set(_loaded(code)) - _OF_THE_MODULE)


def names_in_class(node: ast.ClassDef) -> list[str]:
    """Give the names that a class statement loads outside its methods' bodies, sorted.

    Defaults, validators and the types of fields are among them; which of them are its module's only the module can say.
    """
    return sorted(set(_loaded_by(node)) - _OF_THE_MODULE)


def paths_from(name: str, node: ast.AST) -> list[tuple[str, ...]]:
    """Give the attributes that are taken of a name, as paths: ``("b", "c")`` for ``a.b.c`` of ``a``; sorted."""
    return sorted({path for part in ast.walk(node) if (path := _path(part, name))})


def _loaded(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _loaded(constant)


def _loaded_by(node: ast.AST) -> Iterator[str]:
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                    yield child.id
                yield from _loaded_by(child)


def _path(node: ast.AST, name: str) -> tuple[str, ...]:
    path: tuple[str, ...] = ()
    while isinstance(node, ast.Attribute):
        path = (node.attr, *path)
        node = node.value
    return path if isinstance(node, ast.Name) and node.id == name else ()
