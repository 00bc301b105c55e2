"""Fixtures for logins: an MCP server that needs one, and a Computer that hosts it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from a2c_smcp.computer.mcp.oauth.store import LoginStore
from tests.support.guarded import Guarded, guarded
from tests.support.hosting import Watched, hosting


@pytest.fixture(scope="module")
def process() -> Generator[Guarded]:
    with guarded() as server:
        yield server


@pytest.fixture
def server(process: Guarded) -> Guarded:
    """The server, with its first behaviour and without logins."""
    process.control(reset=True)
    return process


@pytest.fixture
def store(tmp_path: Path) -> LoginStore:
    return LoginStore(tmp_path / "logins")


@pytest.fixture
async def computer(server: Guarded, store: LoginStore) -> AsyncGenerator[Watched]:
    async with hosting(server.config(), login_store=store) as computer:
        yield computer
