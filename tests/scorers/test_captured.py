"""What a step captured makes its version, whatever kind of value it is."""

# pyright: reportUnknownLambdaType=false
# Steps are untyped here.
from __future__ import annotations

import importlib
import json
import linecache
import math
import os.path
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path, PurePosixPath
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from tracescore import Judge, ScorerError, create_scorer, scorer


class Colour(Enum):
    RED = 1
    BLUE = 2


class Shade(StrEnum):
    DARK = "dark"


class Model(BaseModel):
    name: str


@dataclass
class Weights:
    tone: float
    words: list[str] = field(default_factory=list)
    later: int = 0


class Own:
    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def doubled(self) -> int:
        return helped(self.size)

    @staticmethod
    def still() -> int:
        return 1


class Derived(Own):
    pass


def helped(size: int) -> int:
    return 2 * size


def version_capturing(value: Any) -> str:
    begin: Any = create_scorer(id="x", type="agent")
    return begin.generate_score(lambda ctx: float(bool(value))).version


VALUES: list[Any] = [
    None,
    True,
    1,
    1.5,
    math.inf,
    -math.inf,
    "1",
    b"1",
    [1],
    (1,),
    {1},
    {"a": 1},
    {"a": 2},
    MappingProxyType({"b": 1}),
    Colour.RED,
    Colour.BLUE,
    Shade.DARK,
    Model(name="a"),
    Model(name="b"),
    Weights(tone=1),
    Weights(tone=2),
    Weights(tone=1, words=["a"]),
    Own(1),
    Own(2),
    Derived(1),
    Own,
    Own(1).still,
    re.compile("a"),
    date(2026, 1, 1),
    Decimal("1.0"),
    PurePosixPath("a"),
    json,
    json.dumps,
    os.path.join,
    len,
    list[str],
    list[int],
    Judge(model="openai/gpt-5"),
    Judge(model="openai/gpt-5-mini"),
    scorer(id="inner", version="1")(lambda run: 1.0),
    scorer(id="inner", version="2")(lambda run: 1.0),
]


def test_every_value_has_a_version_of_its_own() -> None:
    versions = [version_capturing(value) for value in VALUES]

    assert len(set(versions)) == len(VALUES)
    assert versions == [version_capturing(value) for value in VALUES]


def deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(100):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (object(), "a builtins.object"),
        (deep(), "nested too deep"),
        ([{"a": open}, sys.stdout], "which cannot be hashed"),
        (TypeVar("TypeVarOfTests"), "a typing.TypeVar"),
    ],
)
def test_other_values_are_refused_by_name(value: Any, named: str) -> None:
    with pytest.raises(ScorerError, match=named):
        version_capturing(value)


def test_what_is_not_filled_in_yet_is_left_out() -> None:
    def begin() -> str:
        version = version_of_step(lambda ctx: float(later))
        later = 1.0  # pyright: ignore[reportUnusedVariable]  # the step captured it before it was there
        return version

    assert begin().startswith("1-")


def version_of_step(step: Callable[[Any], Any]) -> str:
    untyped: Any = create_scorer(id="x", type="agent")
    return untyped.generate_score(step).version


def reaching_a_constant(ctx: Any) -> float:
    return math.pi if SETTINGS else float(UNKNOWN is None)


SETTINGS: Mapping[str, int] = {"a": 1}
UNKNOWN = object()


def test_a_global_that_is_no_constant_counts_by_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    before = version_of_step(reaching_a_constant)

    monkeypatch.setitem(globals(), "UNKNOWN", object())
    assert version_of_step(reaching_a_constant) == before
    monkeypatch.setitem(globals(), "SETTINGS", {"a": 2})
    assert version_of_step(reaching_a_constant) != before


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Write a module and import it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(text: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, "written_steps", raising=False)
        (tmp_path / "written_steps.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        module = importlib.import_module("written_steps")
        monkeypatch.setitem(sys.modules, "written_steps", module)
        return module

    return write


@pytest.mark.parametrize("changed", ["", "x = (\n\n\n\n\n", "\n\n\ndef other(run):\n    return 1.0\n"])
def test_a_file_that_changed_under_the_process_needs_a_version(
    written: Callable[[str], ModuleType], changed: str
) -> None:
    module = written("import math\n\n\ndef score(run):\n    return 1.0\n")
    Path(module.__file__ or "").write_text(changed, encoding="utf-8")
    linecache.clearcache()

    with pytest.raises(ScorerError, match="give version="):
        _ = scorer(id="x")(module.score).version


def test_classes_are_found_wherever_they_are_written(written: Callable[[str], ModuleType]) -> None:
    text = """
def make():
    class Rule:
        class Part:
            limit = 1
    return Rule.Part

if True:
    class Rule:
        limit = 3

made, outer = make(), Rule
"""
    score = "\ndef score(run):\n    return made.limit / outer.limit\n"
    changes = (("", ""), ("limit = 1", "limit = 2"), ("limit = 3", "limit = 4"))
    versions = [scorer(id="x")(written(text.replace(*change) + score).score).version for change in changes]

    assert len(set(versions)) == 3


def test_classes_of_another_package_are_named(written: Callable[[str], ModuleType]) -> None:
    versions = [version_capturing(written(f"class Rule:\n    limit = {limit}\n").Rule) for limit in (1, 2)]

    assert versions[0] == versions[1]
