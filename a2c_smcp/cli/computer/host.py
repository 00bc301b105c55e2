"""A Computer as the command runs it: made from options, connected to the Server, and kept so."""

from __future__ import annotations

import asyncio
import logging
import random
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from socketio.exceptions import ConnectionError as CannotConnect

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.inputs.providers import InputMissing, Keyring
from a2c_smcp.computer.inputs.render import input_ids
from a2c_smcp.computer.inputs.resolver import InputResolver
from a2c_smcp.computer.mcp_clients.policy import Policy
from a2c_smcp.computer.socketio.client import OfficeRefusedError, SMCPComputerClient
from a2c_smcp.smcp import SMCP_NAMESPACE
from a2c_smcp.utils.logger import RedactingFormatter

if TYPE_CHECKING:
    from a2c_smcp.cli.computer.command import Options
    from a2c_smcp.computer.mcp_clients.config_file import LoadedConfig

logger = logging.getLogger("a2c.computer")

LONGEST_DELAY = 30.0


class Host:
    """The Computer and its connection."""

    def __init__(self, options: Options, loaded: LoadedConfig | None) -> None:
        self.options = options
        scope = str(options.config.resolve()) if options.config is not None else ""
        self.resolver = InputResolver(keyring=Keyring(scope) if options.keyring else None)
        self.computer = Computer(
            options.name,
            inputs=loaded.inputs if loaded is not None else (),
            mcp_servers=loaded.servers if loaded is not None else (),
            confirm_callback=allow_everything if options.allow_all else None,
            input_resolver=self.resolver,
            policy=Policy(start_timeout=options.start_timeout),
            require_subscribe=options.require_subscribe,
        )
        self.client = SMCPComputerClient(computer=self.computer)
        self.client.on("connect_error", self._on_connect_error, namespace=SMCP_NAMESPACE)
        self._refusal: Any = None
        for handler in logging.getLogger().handlers:
            inner = handler.formatter or logging.Formatter()
            handler.setFormatter(RedactingFormatter(inner, self.resolver.secrets.redact))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.client.disconnect()
        await self.computer.shutdown()

    async def ask_inputs(self) -> None:
        """Have the inputs of all servers ready before the first one starts: questions come one after another."""
        for config in self.computer.mcp_servers:
            if not config.disabled:
                for input_id in input_ids(config.parameters()):
                    if self.resolver.get(input_id) is not None:
                        try:
                            await self.resolver.resolve(input_id, config.name)
                        except InputMissing as error:
                            logger.warning("%s", error)

    async def connect(self, url: str) -> None:
        """Connect to the Server, over WebSocket or else over HTTP.

        Raises:
            NotAllowed: the Server refuses this connection.
            ConnectionError: the Server cannot be reached.
        """
        key = self.options.api_key
        header = self.options.api_key_header
        credentials = {"headers": {header: key}, "auth": {header: key}} if key else {}
        problem = ""
        for transports in (["websocket"], None):
            self._refusal = None
            try:
                await self.client.connect(url, transports=transports, **credentials)
                return
            except CannotConnect as error:
                problem = str(error)
            except ValueError as error:
                raise ConnectionError(f"{url}: {error}") from None
            if (refusal := _read_refusal(self._refusal)) is not None:
                reason, code = refusal
                if code in (401, 403):
                    raise NotAllowed(f"the Server refuses this Computer: {reason} (at {url}; is A2C_API_KEY right?)")
                raise ConnectionError(f"the Server at {url} says: {reason}")
        raise ConnectionError(f"cannot reach {url}: {_in_plain_words(problem)}")

    async def join(self, url: str, office: str) -> None:
        """Connect and join; as long as nobody is there to answer, or the name is taken, try again.

        Raises:
            NotAllowed: the Server refuses this connection.
        """
        delay = 1.0
        while True:
            try:
                if not self.client.connected:
                    await self.connect(url)
                await self.client.join_office(office)
                logger.info("in office %s as %s", office, self.computer.name)
                return
            except (ConnectionError, OfficeRefusedError) as error:
                if isinstance(error, NotAllowed):
                    raise
                logger.warning("%s; trying again in %.0f s", error, delay)
            await asyncio.sleep(delay * random.uniform(0.75, 1.25))
            delay = min(2 * delay, LONGEST_DELAY)

    def _on_connect_error(self, data: Any = None) -> None:
        self._refusal = data


def _read_refusal(data: Any) -> tuple[str, int | None] | None:
    """Message and code of a refused connection; None when it was not the Server that refused."""
    if not isinstance(data, dict):
        return None
    refusal = cast("dict[str, Any]", data)
    details = refusal.get("data")
    code = cast("dict[str, Any]", details).get("code") if isinstance(details, dict) else None
    return str(refusal.get("message") or "refused"), code if isinstance(code, int) else None


def _in_plain_words(problem: str) -> str:
    """What the HTTP library says, for a person."""
    if "Connect call failed" in problem:
        return "nobody answers there"
    if any(sign in problem for sign in ("getaddrinfo", "Name or service", "nodename nor servname", "name resolution")):
        return "there is no such host"
    if "Unexpected" in problem or "Invalid" in problem:
        return "what answers there is no A2C Server"
    return problem


def allow_everything(req_id: str, server: str, tool: str, parameters: dict[str, Any]) -> bool:
    """The owner wants no questions."""
    return True


class NotAllowed(ConnectionError):
    """The Server knows what we want and says no."""
