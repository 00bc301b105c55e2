"""The contract between our clients and the inside of python-socketio and python-engineio."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import engineio
import pytest
import socketio
from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.packet import Packet

from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider, SMCPAgentClient
from a2c_smcp.errors import NotAuthenticatedError
from a2c_smcp.server import DefaultAuthenticationProvider
from a2c_smcp.transport.async_connection import AsyncConnection
from a2c_smcp.transport.async_engine import AsyncEngine
from a2c_smcp.transport.async_internals import AsyncInternals
from a2c_smcp.transport.packet import SMCPPacket
from a2c_smcp.transport.sync_connection import SyncConnection
from a2c_smcp.transport.sync_engine import SyncEngine
from a2c_smcp.transport.sync_internals import SyncInternals
from tests.support.agents import Form
from tests.support.contracts import overrides, parameters, stubbed, watch
from tests.support.peer import Peer
from tests.support.proxy import network
from tests.support.running import running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

OURS: dict[Form, dict[type, type]] = {
    "async": {
        AsyncConnection: socketio.AsyncClient,
        AsyncInternals: socketio.AsyncClient,
        AsyncEngine: engineio.AsyncClient,
        SMCPPacket: Packet,
    },
    "sync": {
        SyncConnection: socketio.Client,
        SyncInternals: socketio.Client,
        SyncEngine: engineio.Client,
        SMCPPacket: Packet,
    },
}
STUBS = [each for package in ("engineio", "socketio") for each in stubbed(package)]


@pytest.mark.parametrize(("module", "name", "expected"), STUBS, ids=[f"{module}.{name}" for module, name, _ in STUBS])
def test_what_is_relied_on_is_there(module: str, name: str, expected: list[tuple[str, bool]] | None) -> None:
    if name.startswith("_"):
        return  # a class that only the stubs have
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if expected is not None:
        assert parameters(found)[: len(expected)] == expected
        assert all(can_be_left_out for _, can_be_left_out in parameters(found)[len(expected) :])


@pytest.mark.parametrize("make", [socketio.AsyncClient, socketio.Client, AsyncSMCPAgentClient, SMCPAgentClient])
async def test_attributes_that_are_relied_on_are_there(make: Callable[..., Any]) -> None:
    client = make(DefaultAgentAuthProvider("a", "o")) if "Agent" in make.__name__ else make()
    for attribute in ("connected", "namespaces", "failed_namespaces", "namespace_handlers", "packet_class"):
        assert hasattr(client, attribute)
    for attribute in ("connection_headers", "connection_auth", "connection_transports"):
        assert hasattr(client, attribute)
    for attribute in ("connection_namespaces", "socketio_path", "reconnection", "reconnection_attempts"):
        assert hasattr(client, attribute)
    for attribute in ("reconnection_delay", "reconnection_delay_max", "randomization_factor", "_connect_event"):
        assert hasattr(client, attribute)
    for attribute in ("sid", "state", "current_transport", "read_loop_task", "write_loop_task", "ws", "queue"):
        assert hasattr(client.eio, attribute)


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_every_override_is_called(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    called: set[str] = set()
    expected: set[str] = set()
    for ours, theirs in OURS[form].items():
        names = overrides(ours, theirs)
        assert names, "or there would be nothing to check"
        watch(monkeypatch, ours, names, called)
        expected |= {f"{ours.__name__}.{name}" for name in names}
    await asyncio.wait_for(_live(form), 2 * PATIENCE)
    assert expected - called == set()


async def _live(form: Form) -> None:
    """Everything that happens in the life of a client."""
    provider = DefaultAuthenticationProvider("key")
    with running("async", provider) as server:
        async with network(server.url) as wires:
            agent = _agent(form, "key")
            await _do(agent.connect_to_server, wires.url)
            await _do(agent.join_office)
            peer = Peer()
            assert await peer.connect(server.url, auth={"x-api-key": "key"})
            await peer.ask("server:join_office", {"role": "computer", "name": "pc", "office_id": "office"})
            assert await _do(agent.get_computers_in_office, "office"), "and the notice came before"
            await peer.disconnect()
            back = asyncio.Event()
            loop = asyncio.get_running_loop()
            agent.on("connect", lambda: loop.call_soon_threadsafe(back.set), namespace="/smcp")
            wires.cut()
            await back.wait()
            await _do(agent.disconnect)

        stranger = _agent(form, "wrong")
        with pytest.raises(NotAuthenticatedError):
            await _do(stranger.connect_to_server, server.url)

        polling = _agent(form, "key")
        lost = asyncio.Event()

        def lose(reason: str) -> None:
            loop.call_soon_threadsafe(lost.set)

        polling.on("disconnect", lose, namespace="/smcp")
        await _do(polling.reach, server.url, auth={"x-api-key": "key"}, transports=["polling"])
        await server.shutdown()  # the Server shows it out
        await lost.wait()
        await _do(polling.disconnect)

    lonely = _agent(form, "key", reconnection_attempts=1, reconnection_delay=0.01)
    with contextlib.suppress(SocketIOConnectionError):
        await _do(lonely.connect, "http://127.0.0.1:9", retry=True)
    await _do(lonely.disconnect)


def _agent(form: Form, key: str, **options: Any) -> Any:
    make = AsyncSMCPAgentClient if form == "async" else SMCPAgentClient
    return make(DefaultAgentAuthProvider("agent", "office", api_key=key), **options)


async def _do(method: Callable[..., Any], *args: Any, **options: Any) -> Any:
    if inspect.iscoroutinefunction(method):
        return await method(*args, **options)
    return await asyncio.to_thread(method, *args, **options)
