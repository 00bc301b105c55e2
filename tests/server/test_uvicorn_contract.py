"""The contract between `server.uvicorn_protocols`, `server.serving` and the inside of uvicorn."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import httpx
import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl
from uvicorn.server import ServerState
from websockets.asyncio.client import connect

from a2c_smcp.server.app import create_app
from a2c_smcp.server.serving import GracefulServer, uvicorn_config
from a2c_smcp.server.settings import ServerSettings
from a2c_smcp.server.uvicorn_protocols import Http, WebSocket
from a2c_smcp.utils.system.sockets import bind
from tests.support.contracts import overrides, parameters, watch
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

WEBSOCKET_CALLS = {"connection_made", "connection_lost", "data_received", "shutdown"}
"""What uvicorn and its transports call on a WebSocket protocol."""


def test_what_is_relied_on_is_there() -> None:
    for method in (get_local_addr, get_remote_addr, is_ssl):
        assert [name for name, _ in parameters(method)] == ["transport"]
    state = ServerState()
    assert isinstance(state.connections, set)
    assert isinstance(state.tasks, set)
    assert isinstance(state.default_headers, list)
    upgrade = inspect.getsource(HttpToolsProtocol.handle_websocket_upgrade)
    for argument in ("config=", "server_state=", "app_state="):
        assert argument in upgrade, "how a WebSocket protocol is made"
    assert "self.transport.write(" in inspect.getsource(RequestResponseCycle.send), "how a response is written"
    assert callable(uvicorn.Server.handle_exit)
    for name in ("startup", "shutdown", "capture_signals"):
        assert parameters(getattr(GracefulServer, name)) == parameters(getattr(uvicorn.Server, name))


async def test_every_override_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called: set[str] = set()
    expected: set[str] = set()
    ours: dict[type, set[str]] = {
        Http: overrides(Http, HttpToolsProtocol),
        WebSocket: WEBSOCKET_CALLS,
        GracefulServer: overrides(GracefulServer, uvicorn.Server) - {"__init__", "handle_exit"},  # that needs a signal
    }
    for each, names in ours.items():
        watch(monkeypatch, each, names, called)
        expected |= {f"{each.__name__}.{name}" for name in names}

    app = create_app(None)
    started = asyncio.Event()
    with bind("127.0.0.1", 0) as listener:
        config = uvicorn_config(app, ServerSettings())
        config.lifespan = "off"
        server = GracefulServer(config, app, started.set)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await asyncio.wait_for(started.wait(), PATIENCE)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        async with httpx.AsyncClient() as http:
            assert (await http.get(f"http://{address}/healthz")).status_code == 200
        async with connect(f"ws://{address}/socket.io/?EIO=4&transport=websocket") as socket:
            frame: Any = await socket.recv()
            assert frame.startswith("0{")
            [protocol] = [each for each in server.server_state.connections if isinstance(each, WebSocket)]
            protocol.shutdown()
        server.should_exit = True
        await asyncio.wait_for(serving, PATIENCE)
    # `test_a_client_that_does_not_read_its_response_is_disconnected` needs these.
    assert expected - called == {"Http.pause_writing", "Http.resume_writing"}
