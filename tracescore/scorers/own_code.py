"""Which code is the user's own: what a scorer's version reads, where it only names the rest."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType
from typing import Any

_INSTALLED = {"site-packages", "dist-packages"}
_NO_MODULE = ("", "builtins")


class OwnCode:
    """The packages of a scorer's steps, and whatever lies beside them in the same project folder.

    The standard library, installed packages and tracescore itself are not the user's own, unless a step is defined
    there.
    """

    def __init__(self, functions: Iterable[Any]) -> None:
        self._packages: set[str] = set()
        self._folders: set[Path] = set()
        self._known: dict[str, bool] = {}
        for function in functions:
            module = module_of(function)
            package = _package_of(module)
            if not package or package == "tracescore.scorers":
                continue
            self._packages.add(package)
            folder = _folder_of(module)
            if folder is not None and not _INSTALLED & set(folder.parts):
                self._folders.add(folder)

    def holds(self, thing: Any) -> bool:
        """Tell whether a function or class is the user's own; one without a module (exec) is."""
        module = module_of(thing)
        if module in _NO_MODULE:
            return isinstance(thing, FunctionType)
        return self.holds_module(module)

    def holds_module(self, module: str) -> bool:
        """Tell whether a module is the user's own."""
        if module not in self._known:
            self._known[module] = self._find(module)
        return self._known[module]

    def _find(self, module: str) -> bool:
        package = _package_of(module)
        if package in self._packages:
            return True
        if not package or package.startswith("tracescore"):
            return False
        folder = _folder_of(module)
        return folder is not None and folder in self._folders


def module_of(thing: Any) -> str:
    """Give the name of the module whose text a function or class is in.

    A decorator's wrapper calls itself what it wraps, module and all; its globals tell where it really is.
    """
    if isinstance(thing, FunctionType):
        return str(thing.__globals__.get("__name__", ""))
    return getattr(thing, "__module__", None) or ""


def _package_of(module: str) -> str:
    """Give a module's top-level package; ``""`` for the standard library."""
    parts = module.split(".")
    if parts[0] in sys.stdlib_module_names and parts[0] != "__main__":
        return ""
    # tracescore's own parts are packages of their own: a scorer that ships with it does not change with the rest.
    return ".".join(parts[:2]) if parts[0] == "tracescore" else parts[0]


def _folder_of(module: str) -> Path | None:
    """Give the folder that holds a module's top-level package or file."""
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None:
        return None
    depth = module.count(".") + (Path(path).name == "__init__.py")
    parents = Path(path).resolve().parents
    return parents[depth] if depth < len(parents) else None
