"""All MCP servers of a Computer: started side by side, kept apart, changed while they run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic

from a2c_smcp.computer.config.input_sources import InputMissing
from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.model import BaseServerConfig, MCPServerConfig
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.config.secrets import replace_secrets
from a2c_smcp.computer.hosting.connected import AudienceT
from a2c_smcp.computer.hosting.kept_list import KeptList
from a2c_smcp.computer.hosting.owner import Owner
from a2c_smcp.computer.hosting.watching import ResourceWatch
from a2c_smcp.computer.mcp.client import MCPClient
from a2c_smcp.computer.mcp.failures import CannotStart
from a2c_smcp.computer.mcp.oauth.access import OpenUrl
from a2c_smcp.computer.mcp.oauth.logins import LOGIN_COMMAND, Logins
from a2c_smcp.computer.mcp.oauth.store import LoginStore
from a2c_smcp.computer.mcp.processes import Children
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.computer.mcp.transports.sse import SseClient
from a2c_smcp.computer.mcp.transports.stdio import StdioClient
from a2c_smcp.computer.mcp.transports.streamable_http import HttpClient
from a2c_smcp.errors import NotFoundError

_CLIENTS: dict[str, type[MCPClient]] = {"stdio": StdioClient, "sse": SseClient, "streamable": HttpClient}
_RUNNING_FIELDS = ("type", "server_parameters", "disabled")
"""A change of these restarts a running server; any other change only affects how its tools are offered."""


class Host(Generic[AudienceT]):
    """The owners of all servers, in configuration order.

    `show` makes the view of a server that has just become ready. `on_change` is called when a server changes its state
    or its tools, `on_configured` when the configuration of the servers changes.
    """

    def __init__(
        self,
        *,
        resolver: InputResolver,
        policy: Policy,
        show: Callable[[ResourceWatch], AudienceT],
        on_change: Callable[[str], None],
        on_configured: Callable[[], None],
        login_store: LoginStore | None = None,
        login_command: str = LOGIN_COMMAND,
    ) -> None:
        self._resolver = resolver
        self._policy = policy
        self._show = show
        self._on_change = on_change
        self._on_configured = on_configured
        self._owners: dict[str, Owner[AudienceT]] = {}
        # By name, not in the owner: an update replaces the owner, and requests that wait for their turn must still
        # exclude each other.
        self._turns: dict[str, asyncio.Lock] = {}
        self._children = Children()
        self._logins = Logins(login_store or LoginStore(), resolver.secrets, login_command)
        self._is_closed = False

    # ----------------------------------------------------------------------------------------------------------- asking

    @property
    def owners(self) -> Mapping[str, Owner[AudienceT]]:
        """The owners by the names of their servers."""
        return self._owners

    @property
    def configs(self) -> tuple[MCPServerConfig, ...]:
        """What is configured now, in order."""
        return tuple(owner.config for owner in self._owners.values())  # type: ignore[misc]

    @property
    def views(self) -> list[AudienceT]:
        """The views of the servers that are ready, in configuration order."""
        return [owner.connected.view for owner in self._owners.values() if owner.connected is not None]

    def view(self, name: str) -> AudienceT | None:
        """The view of a server, if it is ready."""
        owner = self._owners.get(name)
        return owner.connected.view if owner is not None and owner.connected is not None else None

    @property
    def sessions(self) -> dict[str, Session]:
        """The connections to the servers that are ready, in configuration order."""
        return {name: owner.connected.session for name, owner in self._owners.items() if owner.connected is not None}

    @property
    def prompts(self) -> dict[str, KeptList]:
        """The prompts of the servers that are ready and have any, in configuration order."""
        return {
            name: owner.connected.prompts
            for name, owner in self._owners.items()
            if owner.connected is not None and owner.connected.prompts.is_offered
        }

    def session(self, name: str) -> Session | None:
        """The connection to a server, if it is ready."""
        owner = self._owners.get(name)
        return owner.connected.session if owner is not None and owner.connected is not None else None

    def find(self, name: str) -> Owner[AudienceT]:
        """The owner of a server.

        Raises:
            NotFoundError: there is no such server.
        """
        owner = self._owners.get(name)
        if owner is None:
            raise NotFoundError(f"there is no MCP server {name}")
        return owner

    # ----------------------------------------------------------------------------------------------- starting, stopping

    async def replace_all(self, configs: Iterable[MCPServerConfig]) -> None:
        """Replace all servers by these; running servers are stopped."""
        await self.stop_all()
        # A Computer that was shut down may be booted again.
        self._is_closed = False
        self._owners = {config.name: self._owner(config) for config in configs}
        self._turns = {}

    async def start_all(self, patience: float | None = None) -> None:
        """Start all servers side by side; return when each has started or failed, or after `patience` seconds."""
        owners = list(self._owners.values())
        for owner in owners:
            owner.start()
        # `wait` with a timeout cancels nothing: a server that is late goes on starting, only this call returns.
        waits = [asyncio.ensure_future(owner.wait_settled()) for owner in owners]
        if waits:
            _, late = await asyncio.wait(waits, timeout=patience)
            for wait in late:
                wait.cancel()

    async def start(self, name: str) -> None:
        """Start a server that is stopped or failed, and wait for the outcome.

        Raises:
            NotFoundError: there is no such server.
        """
        async with self._turn(name):
            owner = self.find(name)
            if not self._is_closed:
                owner.start()
        # Not in its turn: a server may take a minute to start, and a request to stop it must not wait that long.
        await owner.wait_settled()

    async def stop(self, name: str) -> None:
        """Stop a server; running calls on it end with an error.

        Raises:
            NotFoundError: there is no such server.
        """
        async with self._turn(name):
            await self.find(name).stop("was stopped by its owner")

    async def log_in(self, name: str, open_url: OpenUrl, patience: float) -> None:
        """Log in to a server, and wait until it has connected, or failed to.

        Raises:
            NotFoundError: there is no such server.
            LoginRefusedError: the login failed.
        """
        # Not in its turn: a person may take minutes, and a request to stop the server must not wait that long.
        await self.find(name).log_in(open_url, patience)

    async def log_out(self, name: str) -> bool:
        """Forget the login at a server, and connect again without it; whether there was one.

        Raises:
            NotFoundError: there is no such server.
            LoginRefusedError: the login cannot be removed.
        """
        async with self._turn(name):
            return await self.find(name).log_out()

    async def stop_all(self) -> None:
        """Stop all servers, side by side."""
        await asyncio.gather(*(owner.stop("was stopped") for owner in self._owners.values()))

    async def aclose(self) -> None:
        """Stop all servers and release everything."""
        self._is_closed = True  # a change that is under way must not start a server
        await self.stop_all()
        await self._children.aclose()

    # --------------------------------------------------------------------------------------------------------- changing

    async def put(self, config: MCPServerConfig, *, start: bool) -> None:
        """Add a server, or change one. Only that server restarts, and only if it must."""
        async with self._turn(config.name):
            old = self._owners.get(config.name)
            if old is not None and old.config == config:
                old.config = config  # equal, but it may know a newer version of its file
                return
            # A changed alias or confirmation rule needs no restart, and a restart would end running calls.
            if old is not None and runs_the_same(old.config, config):
                old.configure(config)
                self._on_configured()
                return
            if old is not None:
                await old.stop("was stopped: its configuration changed")
            owner = self._owners[config.name] = self._owner(config)
            if old is not None:
                owner.inherit(old)  # until it is ready, calls of its tools are told that it is starting
            self._on_configured()
            if start and not self._is_closed:
                owner.start()
        await owner.wait_settled()  # not in its turn, as in `start`

    async def remove(self, name: str) -> None:
        """Stop a server and forget it.

        Raises:
            NotFoundError: there is no such server.
        """
        async with self._turn(name):
            await self.find(name).stop("was removed")
            del self._owners[name]
            self._on_configured()

    # -------------------------------------------------------------------------------------------------------- internals

    def _owner(self, config: BaseServerConfig) -> Owner[AudienceT]:
        return Owner(
            config,
            _CLIENTS[getattr(config, "type", "")],
            resolve=self._resolve,
            redact=self._resolver.secrets.redact,
            on_change=self._changed,
            children=self._children,
            policy=self._policy,
            show=self._show,
            logins=self._logins,
        )

    async def _resolve(self, config: BaseServerConfig) -> dict[str, Any]:
        secrets = self._resolver.secrets
        for value in config.secret_values:
            secrets.add(value)

        def remember(_: str, value: str) -> str:
            secrets.add(value)
            return value

        replace_secrets(config.parameters(), remember)  # nothing is replaced: it finds the secrets in plain text
        try:
            return await self._resolver.render(config.parameters(), config.name)
        except InputMissing as error:
            raise CannotStart(str(error)) from None

    @asynccontextmanager
    async def _turn(self, name: str) -> AsyncGenerator[None]:
        """One change of a server at a time."""
        # A stop during an update would stop the old server, and miss the one that the update is about to start.
        async with self._turns.setdefault(name, asyncio.Lock()):
            yield

    def _changed(self, owner: Owner[AudienceT]) -> None:
        if self._owners.get(owner.name) is owner:
            self._on_change(owner.name)


def runs_the_same(old: BaseServerConfig, new: BaseServerConfig) -> bool:
    """Whether a server with the old configuration need not be restarted for the new one."""
    # The parameters are compared as the file has them and with variables filled in: a server also restarts if only the
    # value of an environment variable changed.
    return old.parameters() == new.parameters() and all(
        getattr(old, field) == getattr(new, field) for field in _RUNNING_FIELDS
    )
