"""What the gateway uses of MCP's library beyond its documented interface."""

from __future__ import annotations

import inspect

from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession


def test_a_session_knows_its_connection_which_says_whether_the_host_has_initialized() -> None:
    assert "self._connection" in inspect.getsource(ServerSession.__init__)
    assert "initialize_accepted" in inspect.getsource(Connection)
    assert "exit_stack" in inspect.getsource(Connection)


def test_a_server_has_middleware_and_its_handlers_can_be_found() -> None:
    server = Server("any")
    assert isinstance(server.middleware, list)
    entry = server.get_request_handler("ping")
    assert entry is not None
    assert entry.params_type is not None
