from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tracescore.store import Store


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Where a fresh store goes, for what is SQLite's own."""
    return str(tmp_path / "a store")


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest) -> str:
    """Where a fresh store goes: each database that the store runs on is a parameter."""
    fixture = {"sqlite": "folder", "postgresql": "postgres_url"}[request.param]
    found: str = request.getfixturevalue(fixture)
    return found


@pytest.fixture
def sqlite_store(folder: str) -> Iterator[Store]:
    with Store.open(folder) as opened:
        yield opened


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    with Store.open(location) as opened:
        yield opened
