from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tracescore.pipeline.wake import MemoryWake
from tracescore.server import RunningServer, serving
from tracescore.settings import Settings
from tracescore.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def settings() -> Settings:
    return Settings(port=0, broker="none", settle_quiet=0.0, max_request_bytes=200_000, max_inflated_bytes=500_000)


@pytest.fixture
def wake() -> MemoryWake:
    return MemoryWake()


@pytest.fixture
def server(store: Store, settings: Settings, wake: MemoryWake) -> Iterator[RunningServer]:
    with serving(store, settings, wake=wake) as running:
        yield running
