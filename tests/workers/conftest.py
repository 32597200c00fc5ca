from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres import PostgresServer


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, PostgresServer | None]:
    """Where a fresh store goes, and the server that it is on where there is one."""
    if request.param == "sqlite":
        return str(tmp_path / "store"), None
    return request.getfixturevalue("postgres_url"), request.getfixturevalue("postgres")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the longest tests on PostgreSQL to `make slow`: on SQLite they stay in every run."""
    for item in items:
        if isinstance(item, pytest.Function) and item.name.endswith("[postgresql]"):
            file = item.path
            if file.parent == Path(__file__).parent and file.name in ("test_crash.py", "test_versions.py"):
                item.add_marker(pytest.mark.slow)
