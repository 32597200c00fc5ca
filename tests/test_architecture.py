"""The layers, file sizes and package list, held by parsing the code."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CODE = [*sorted((ROOT / "tracescore").rglob("*.py")), *sorted((ROOT / "workers").rglob("*.py"))]

LAYERS: dict[str, int] = {
    "errors": 0,
    "arguments": 0,
    "settings": 0,
    "bridge": 0,
    "model": 1,
    "redaction": 1,
    "judge": 2,
    "stats": 2,
    "scorers": 3,
    "otel": 3,
    "prebuilt": 4,
    "completion": 4,
    "dialects": 4,
    "sinks": 4,
    "sources": 4,
    "store": 4,
    "pipeline": 5,
    "evals": 5,
    "app": 6,
    "exporter": 6,
    "testing": 6,
    "cli": 7,
    "server": 7,
    "__init__": 8,  # re-exports the public names of the layers below
    "__main__": 8,
    "workers": 7,
}
SIBLINGS_APART = {"judge", "stats", "prebuilt", "completion", "dialects", "sinks", "sources", "store"}
OWNERS = {
    "sqlalchemy": {"store"},
    "alembic": {"store"},
    "openai": {"judge"},
    "aiohttp": {"judge"},
    "genai_prices": {"judge"},
    "fastapi": {"server"},
    "starlette": {"server"},
    "uvicorn": {"server"},
    "grpc": {"server"},
    "celery": {"workers"},
    "kombu": {"workers"},
}


def unit_of(path: Path) -> str:
    """Give the layer unit that a file belongs to: the first name below tracescore, or workers."""
    relative = path.relative_to(ROOT)
    return "workers" if relative.parts[0] == "workers" else relative.with_suffix("").parts[1]


def imports_of(path: Path) -> Iterator[str]:
    """Give the dotted names that a file imports, relative ones made absolute."""
    package = "tracescore." if unit_of(path) != "workers" else "tracescore.workers."
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield package + (node.module or "")
            elif node.module == "tracescore":
                yield from (f"tracescore.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def test_imports_point_down() -> None:
    wrong: list[str] = []
    for path in CODE:
        unit = unit_of(path)
        for name in imports_of(path):
            parts = name.split(".")
            if parts[0] != "tracescore" or len(parts) < 2 or parts[1] not in LAYERS or parts[1] == unit:
                continue
            other = parts[1]
            level = LAYERS[unit]
            allowed = LAYERS[other] < level or (LAYERS[other] == level and not {unit, other} & SIBLINGS_APART)
            if not allowed:
                wrong.append(f"{path.relative_to(ROOT)} ({unit}, layer {level}) imports {name} (layer {LAYERS[other]})")

    assert wrong == []


def test_every_unit_has_a_layer() -> None:
    assert {unit_of(path) for path in CODE} - LAYERS.keys() == set()


def test_a_third_party_library_has_one_owner() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in CODE
        for name in imports_of(path)
        if name.split(".")[0] in OWNERS and unit_of(path) not in OWNERS[name.split(".")[0]]
    ]

    assert wrong == []


@pytest.mark.parametrize("folder", ["tracescore", "workers", "tests", "benchmarks"])
def test_a_file_stays_under_400_lines(folder: str) -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 400
    }

    assert long == {}


def test_no_exported_name_equals_a_submodule() -> None:
    clashes: list[str] = []
    for path in (ROOT / "tracescore").rglob("__init__.py"):
        package = ".".join(path.parent.relative_to(ROOT).parts)
        if "migrations" in package:
            continue
        module = importlib.import_module(package)
        exported: set[str] = set(getattr(module, "__all__", ()))
        clashes += [f"{package}.{info.name}" for info in pkgutil.iter_modules(module.__path__) if info.name in exported]

    assert clashes == []


def test_exports_are_sorted_and_exist() -> None:
    for path in (ROOT / "tracescore").rglob("__init__.py"):
        module = importlib.import_module(".".join(path.parent.relative_to(ROOT).parts))
        exported: list[str] = list(getattr(module, "__all__", ()))
        missing = [name for name in exported if not hasattr(module, name)]

        assert (module.__name__, missing) == (module.__name__, [])
        assert len(exported) == len(set(exported))


def test_the_wheel_lists_every_package() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "tracescore").rglob("__init__.py")}

    assert found | {"tracescore.workers"} == set(config["tool"]["setuptools"]["packages"])
