from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tracescore.store import Store


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a fresh store goes: each database that the store runs on is a parameter."""
    if request.param == "sqlite":
        return str(tmp_path / "store")
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    with Store.open(location) as opened:
        yield opened
