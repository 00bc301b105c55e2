"""The gateway inside a Server: `mount` is called with the first request of an MCP host."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from a2c_smcp.agent.base import SETTLE_SECONDS
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.local import Link, LocalAgentClient
from a2c_smcp.errors import TimedOutError
from a2c_smcp.gateway.http import Gateway, Surroundings
from a2c_smcp.gateway.nodes import AGENT_NAME
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.gateway.seat import Connect
from a2c_smcp.gateway.settings import GatewaySettings
from a2c_smcp.protocol.grants import Grant


class ServerHost(Surroundings, Protocol):
    """What the Server offers."""

    def enter(self, grant: Grant, on_event: Callable[[str, list[Any]], None], on_closed: Callable[[], None], /) -> Link:
        """Connect to the Server without a socket."""
        ...

    def show(self, name: str, about: str, count: Callable[[], int], /) -> None:
        """Show a number in the metrics of the Server."""
        ...


def mount(host: ServerHost, settings: GatewaySettings | Mapping[str, Any] | None = None) -> Gateway:
    """The gateway for the offices of a Server."""

    def connect(office_id: str) -> Connect:
        # The seat is the Server's own. What each host may do is decided by the credential of its requests.
        grant = Grant(offices=(office_id,), roles=frozenset(("agent",)), subject=AGENT_NAME)

        async def take() -> AsyncSMCPAgentClient:
            agent = LocalAgentClient(
                partial(host.enter, grant), office_id, AGENT_NAME, max_restored_bytes=chosen.restored_bytes
            )
            try:
                await agent.connect_to_server()
                await agent.join_office()
                # A Computer that does not answer must not keep hosts from all others.
                with contextlib.suppress(TimedOutError):
                    await agent.wait_for(timeout=SETTLE_SECONDS)
            except BaseException:
                await agent.disconnect()
                raise
            return agent

        return take

    chosen = settings if isinstance(settings, GatewaySettings) else read_settings(settings or {})
    gateway = Gateway(connect, host, chosen)
    host.show("a2c_mcp_sessions", "Sessions of MCP hosts.", lambda: gateway.views.sessions)
    host.show("a2c_mcp_streams", "Streams of notifications to MCP hosts.", lambda: gateway.streams)
    return gateway


def read_settings(given: Mapping[str, Any]) -> GatewaySettings:
    """The settings from a mapping, in which profiles may be mappings, too.

    Raises:
        InvalidProfile: a profile cannot be used.
    """
    settings = GatewaySettings(**given)
    profiles: Mapping[str, Any] = settings.profiles
    made = {name: each if isinstance(each, Profile) else Profile.of(each) for name, each in profiles.items()}
    return replace(settings, profiles=made)
