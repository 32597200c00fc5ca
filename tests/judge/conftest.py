"""Stand-in model servers for the judges' tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tracescore.judge.learned import Learned
from tracescore.testing import ModelServer


@pytest.fixture(autouse=True)
def _nothing_is_learned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test learned of a port must not be known of the next server that gets it."""
    monkeypatch.setattr("tracescore.judge.chat.PROCESS_FACTS", Learned())


@pytest.fixture
def serve() -> Iterator[Callable[..., ModelServer]]:
    """Start stand-in servers that end with the test."""
    with ExitStack() as stack:

        def start(replies: Any = None, **options: Any) -> ModelServer:
            return stack.enter_context(ModelServer(replies, **options))

        yield start
