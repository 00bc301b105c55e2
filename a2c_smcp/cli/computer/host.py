"""Creates a Computer from the options of the command, and connects it to its Server."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from a2c_smcp.cli.computer.ask_command import AskCommand
from a2c_smcp.cli.computer.reloading import Reloader
from a2c_smcp.cli.errors import fail
from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.input_sources import Keyring
from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.mcp.oauth.logins import LOGIN_COMMAND
from a2c_smcp.errors import (
    ForbiddenError,
    NotAuthenticatedError,
    OfficeRefusedError,
    SMCPError,
    VersionRefusedError,
)
from a2c_smcp.protocol.credentials import auth_with, headers_with
from a2c_smcp.utils.backoff import Backoff
from a2c_smcp.utils.logger import RedactingFormatter
from a2c_smcp.utils.system.terminals import quote

if TYPE_CHECKING:
    from a2c_smcp.cli.computer.command import Options
    from a2c_smcp.computer.config.files import LoadedConfig
    from a2c_smcp.computer.socketio.client import SMCPComputerClient
    from a2c_smcp.console.owner.serving import OwnerServer

logger = logging.getLogger("a2c.computer")

FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
STALE_SECONDS = 60.0
"""Seconds after which a Server has noticed a broken connection: more than its heartbeat interval and timeout."""


class Host:
    """The Computer and its connection."""

    def __init__(
        self,
        options: Options,
        loaded: LoadedConfig | None,
        on_status_changed: Callable[[str], None] | None = None,
    ) -> None:
        self.options = options
        self.url: str | None = None
        """The Server of the last successful connection."""
        self.refusal: NotAllowed | None = None
        self.is_refused = asyncio.Event()
        """Set when the Server rejects a reconnection; `refusal` has the reason."""
        # Passwords in the keyring belong to a configuration file: another file may use the same id for another secret.
        scope = str(options.config.resolve()) if options.config is not None else ""
        self.resolver = InputResolver(keyring=Keyring(scope) if options.keyring else None)
        self.computer = Computer(
            options.name,
            inputs=loaded.inputs if loaded is not None else (),
            mcp_servers=loaded.servers if loaded is not None else (),
            input_resolver=self.resolver,
            policy=Policy(start_timeout=options.start_timeout),
            on_status_changed=on_status_changed,
            require_subscribe=options.require_subscribe,
            login_command=login_command(options.config),
            skills=options.skills,
            landing=options.landing,
        )
        self.computer.approvals.allow_all = options.allow_all
        self.computer.approvals.waits = options.wait_for_approval
        if options.ask_command is not None:
            self.computer.approvals.channels.append(AskCommand(options.ask_command))
        self.reloader = (
            Reloader(options.config, loaded, self.computer)
            if options.config is not None and loaded is not None
            else None
        )
        self.owner_server: OwnerServer | None = None
        """Set while the owner's API is served."""
        self._reloads: set[asyncio.Task[None]] = set()
        # Log lines may quote errors of MCP servers and libraries, which contain values of inputs. The handlers exist
        # before the secrets are known, so their formatters are wrapped here.
        for handler in logging.getLogger().handlers:
            inner = handler.formatter or logging.Formatter()
            handler.setFormatter(RedactingFormatter(inner, self.resolver.secrets.redact))

    @cached_property
    def client(self) -> SMCPComputerClient:
        """The connection, created on first use: its import takes a fifth of a second, and few commands need it."""
        from a2c_smcp.computer.socketio.client import SMCPComputerClient

        return SMCPComputerClient(
            computer=self.computer,
            on_refused=self._on_refused,
            ca_file=self.options.ca_file,
            dialect=self.options.dialect,
        )

    def _on_refused(self, refusal: SMCPError) -> bool:
        if not self.options.keep_trying:
            self.refusal = NotAllowed(f"{refusal.message} (has the key been removed?)")  # it worked before
            self.is_refused.set()
        return self.options.keep_trying

    def reload(self) -> None:
        """Read the configuration again, in the background. The log has the changes."""
        if self.reloader is None:
            logger.warning("nothing to reload: this Computer was started without --config")
            return
        self._start(self.reloader.reload_or_log())

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    async def __aenter__(self) -> Self:
        if self.reloader is not None and self.options.watch_config:
            self._start(self.reloader.watch())
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for task in self._reloads:
            task.cancel()
        await asyncio.gather(*self._reloads, return_exceptions=True)
        if "client" in vars(self):  # not `self.client`, which would create it
            await self.client.disconnect()
        await self.computer.shutdown()

    @asynccontextmanager
    async def open_to_owner(self) -> AsyncGenerator[OwnerServer]:
        """Serve the owner's API, while the context lasts."""
        from a2c_smcp.console.owner.serving import OwnerServer

        options = self.options
        server = OwnerServer(
            self.computer,
            options.office,
            port=options.owner_port,
            token=options.owner_token,
            on_login_url=options.on_owner_url,
            console_url=options.console_url,
        )
        try:
            await server.open()
        except OSError as error:
            fail(f"--owner-port {options.owner_port}: {error.strerror or error}; choose another one")
        self.owner_server = server
        try:
            yield server
        finally:
            self.owner_server = None
            await server.aclose()

    async def connect(self, url: str, office: str | None = None) -> None:
        """Connect to the Server, over WebSocket or long-polling, to join an office; disconnect from another Server.

        Raises:
            NotAllowed: the Server rejects the connection.
            ConnectionError: the Server cannot be reached.
        """
        key, header = self.options.api_key, self.options.api_key_header
        credentials = {"headers": headers_with(key, header), "auth": auth_with(key, header)} if key else {}
        if self.url not in (None, url):
            await self.client.disconnect()
        try:
            await self.client.reach(url, office_id=office, **credentials)
        except (NotAuthenticatedError, ForbiddenError) as error:
            raise NotAllowed(f"{error.message} (check A2C_API_KEY)") from None
        except VersionRefusedError as error:
            raise NotAllowed(error.message) from None
        self.url = url

    async def join(self, url: str, office: str, stale_seconds: float = STALE_SECONDS) -> None:
        """Connect and join the office, and retry until it succeeds.

        Raises:
            NotAllowed: the Server rejects the connection, or the office.
        """
        # After a crash or a lost network, the name of this Computer is still taken by its own old connection, until the
        # Server notices. 403 is therefore retried for a while, and final only after that.
        backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
        forbidden_since: float | None = None
        while True:
            try:
                if not self.client.connected:
                    await self.connect(url, office)
                await self.client.join_office(office)
                logger.info("in office %s as %s", office, self.computer.name)
                return
            except (ConnectionError, OfficeRefusedError) as error:
                if isinstance(error, NotAllowed):
                    raise
                is_final = isinstance(error, OfficeRefusedError) and error.is_final
                if isinstance(error, OfficeRefusedError) and error.code == ForbiddenError.code:
                    now = time.monotonic()
                    forbidden_since = now if forbidden_since is None else forbidden_since
                    is_final = now - forbidden_since > stale_seconds
                else:
                    forbidden_since = None
                if is_final and isinstance(error, OfficeRefusedError):
                    raise NotAllowed(f"cannot join office {office}: {error.message} ({error.code})") from None
                delay = backoff.next()
                logger.warning("%s; trying again in %.0f s", error, delay)
            await asyncio.sleep(delay)


def login_command(config: Path | None) -> str:
    """What the owner types to log in to an MCP server of a configuration, before its name."""
    return LOGIN_COMMAND if config is None else f"a2c computer --config {quote(str(config))} login"


class NotAllowed(ConnectionError):
    """The Server rejects this Computer, and a retry would not help."""
