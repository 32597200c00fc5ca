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
