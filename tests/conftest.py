"""Settings and fixtures for every test: a Server in each form, and clients for it."""

from __future__ import annotations

import gc
import signal
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.peer import Crowd, crowd
from tests.support.quick import Guard, is_quick
from tests.support.running import Kind, Running, running

# The time that an example takes says nothing about the code: other tests and other programs use the same processors.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")

pytest_plugins = ["tests.support.browser"]

GUARD = pytest.StashKey[Guard]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run only tests without processes and connections")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        config.stash[GUARD] = Guard()
    for ignored in (signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)):
        if signal.getsignal(ignored) is signal.SIG_IGN:
            # A shell starts `make test &` with SIGINT ignored, and `nohup make test` ignores SIGHUP. A program passes
            # that on to every program it starts: no test could interrupt one. A handler that does nothing keeps the
            # signal away from the tests themselves, and is not passed on.
            signal.signal(ignored, _ignore)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing about a signal."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import all tests without looking for garbage, which would take a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # modules stay, and tests that look for garbage need not look through them
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_module = collection_path.suffix == ".py" and collection_path.name != "conftest.py"
    return True if config.getoption("--quick") and is_module and not is_quick(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        slow = [item for item in items if item.get_closest_marker("process")]
        items[:] = [item for item in items if item not in slow]
        config.hook.pytest_deselected(items=slow)


@pytest.fixture(autouse=True)
def guard(request: pytest.FixtureRequest) -> Generator[None]:
    """In quick mode, fail a test that starts a process or opens a connection."""
    guard = request.config.stash.get(GUARD, None)
    if guard is None:
        yield
        return
    with guard.watching() as attempts:
        yield
    assert not attempts, "this test does not belong to the quick ones: see tests/support/quick.py"


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
    """The Server's options; a test sets them with `@pytest.mark.parametrize("options", …)`."""
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
