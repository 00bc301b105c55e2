"""Fixtures of every test: a Server in each form, and clients for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any

import pytest

from tests.support.peer import Crowd, crowd
from tests.support.running import Kind, Running, running


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["async", "sync"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(params=["websocket", "polling"])
def transport(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The Server's options; a test sets them with `@pytest.mark.parametrize("options", …)` or `serve_with`."""
    return {}


@pytest.fixture
def server(kind: Kind, options: dict[str, Any]) -> Generator[Running]:
    with running(kind, **options) as server:
        yield server


@pytest.fixture
async def people(server: Running) -> AsyncGenerator[Crowd]:
    """Clients of the Server, over WebSocket."""
    async with crowd(server) as people:
        yield people
