"""Judges in tests: no key of the machine's own, no address but the stand-in's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tracescore.judge.providers import PROVIDERS
from tracescore.testing import ModelServer


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide keys and base URLs that the machine may have."""
    for name, provider in PROVIDERS.items():
        for variable in (*provider.key_variables, f"{name.upper()}_BASE_URL"):
            monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def serve() -> Iterator[Callable[..., ModelServer]]:
    """Start stand-in servers that end with the test."""
    with ExitStack() as stack:

        def start(replies: Any = None, **options: Any) -> ModelServer:
            return stack.enter_context(ModelServer(replies, **options))

        yield start
