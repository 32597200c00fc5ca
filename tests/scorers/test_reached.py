"""A version covers what steps reach: through modules, class bodies and types, whatever stands between."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union

import pytest

from tracescore import create_scorer

PACKAGE = {
    "acme/__init__.py": "",
    "acme/inner/__init__.py": "",
    "acme/inner/helpers.py": """
        LIMIT = 3
        UNUSED = 1

        def tally(text):
            return len(text) / LIMIT
    """,
    "acme/scoring.py": """
        from dataclasses import dataclass
        from typing import Annotated

        import acme.inner.helpers
        from acme import inner
        from pydantic import AfterValidator, BaseModel, Field
        from tracescore import Judge, create_scorer, scorer

        TONE = 0.5
        MOST = 9

        def check(name):
            return name

        class Item(BaseModel):
            name: Annotated[str, AfterValidator(check)]

        class Items(BaseModel):
            items: list[Item] = Field(default=[], max_length=MOST)
            tone: float = TONE
            share: float = inner.helpers.LIMIT / 2

        def made(size):
            @dataclass(order=True)
            class Box:
                width: int = size

                def area(self):
                    return self.width
            return Box

        Box = made(4)

        @scorer(id="dotted")
        def dotted(run):
            return acme.inner.helpers.tally(run.output.text)

        @scorer(id="boxed")
        def boxed(run):
            class Local:
                size = 1
            return Box().area() + Local.size

        judge = Judge(model="openai/x", instructions="i")
        judged = create_scorer(id="judged", type="agent", judge=judge).generate_score(
            description="d", create_prompt=lambda ctx: "p", output_schema=Items, calculate_score=lambda ctx: 1.0
        )
    """,
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """Write the package with one replacement, each time in a new folder, and give its scorers' versions."""
    count = itertools.count()

    def write(old: str = "", new: str = "", *, name: str = "acme") -> dict[str, str]:
        folder = tmp_path / str(next(count))
        for path, text in PACKAGE.items():
            target = folder / path.replace("acme", name)
            target.parent.mkdir(parents=True, exist_ok=True)
            lines = (line.removeprefix("        ") for line in text.replace("acme", name).splitlines())
            target.write_text("\n".join(lines).replace(old, new), encoding="utf-8")
        monkeypatch.syspath_prepend(str(folder))
        for module in [module for module in sys.modules if module.split(".")[0] == name]:
            monkeypatch.delitem(sys.modules, module)
        scoring: Any = importlib.import_module(f"{name}.scoring")
        return {name: getattr(scoring, name).version for name in ("dotted", "boxed", "judged")}

    return write


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("LIMIT = 3", "LIMIT = 4", {"dotted", "judged"}),
        ("len(text) /", "len(text) *", {"dotted"}),
        ("TONE = 0.5", "TONE = 0.6", {"judged"}),
        ("MOST = 9", "MOST = 8", {"judged"}),
        ("return name", "return name.strip()", {"judged"}),
        ("made(4)", "made(5)", {"boxed"}),
        ("order=True", "order=False", {"boxed"}),
        ("size = 1", "size = 2", {"boxed"}),
        ("UNUSED = 1", "UNUSED = 2", set[str]()),
    ],
)
def test_what_is_reached_counts(package: Callable[..., dict[str, str]], old: str, new: str, changed: set[str]) -> None:
    before, after = package(), package(old, new)

    assert {name for name in before if before[name] != after[name]} == changed


def test_the_name_of_a_package_does_not_count(package: Callable[..., dict[str, str]]) -> None:
    """But where it stands in the text of a step."""
    before, after = package(), package(name="emca")

    assert {name for name in before if before[name] != after[name]} == {"dotted"}


def version_of_type(kind: Any) -> str:
    untyped: Any = create_scorer(id="x", output_type=kind)
    version: str = untyped.generate_score(always).version
    return version


def always(ctx: Any) -> float:
    return 1.0


TYPES: list[Any] = [
    str | None,
    int | None,
    Union[int, str, None],  # noqa: UP007
    Literal["a", "b"],
    Literal["a"],
    list[str | None],
    Annotated[int, "small"],
    Annotated[int, "large"],
    dict[str, Any],
]


def test_every_type_has_a_version_of_its_own() -> None:
    assert len({version_of_type(kind) for kind in TYPES}) == len(TYPES)
    assert version_of_type(str | None) == version_of_type(Optional[str])  # noqa: UP045
