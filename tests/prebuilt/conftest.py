"""The endpoint that rubrics are judged by."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.prebuilt.endpoint import Endpoint


@pytest.fixture(scope="module")
def started() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    with endpoint.server:
        yield endpoint


@pytest.fixture
def endpoint(started: Endpoint) -> Endpoint:
    started.answers({})
    return started
