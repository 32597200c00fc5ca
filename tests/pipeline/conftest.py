from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers.processes import bytecode_folder
from tracescore.store import Store


@pytest.fixture(autouse=True)
def _child_processes_share_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", bytecode_folder())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened
