"""Stand-in model servers for the judges' tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tracescore.testing import ModelServer


@pytest.fixture
def serve() -> Iterator[Callable[..., ModelServer]]:
    """Start stand-in servers that end with the test."""
    with ExitStack() as stack:

        def start(replies: Any = None, **options: Any) -> ModelServer:
            return stack.enter_context(ModelServer(replies, **options))

        yield start
