"""MCP over the standard input and output of a child process."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio import ClosedResourceError
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from a2c_smcp.computer.mcp_clients.base_client import CannotStart, MCPClient, Streams
from a2c_smcp.computer.mcp_clients.link import Link
from a2c_smcp.computer.mcp_clients.model import StdioParameters
from a2c_smcp.computer.mcp_clients.processes import default_environment
from a2c_smcp.computer.mcp_clients.streams import Inbox, Outbox

LATE_EXIT = 0.3
"""Seconds between the end of a server's output and its exit for which the news of its end waits."""
MAX_NOISE_BYTES = 10_000_000
"""What a server may write to its standard output, between two messages, that is none."""


class StdioClient(MCPClient):
    """A server that this Computer starts."""

    @asynccontextmanager
    async def _connect(self, parameters: dict[str, Any], link: Link) -> AsyncGenerator[Streams]:
        wanted = StdioParameters.model_validate(parameters)
        inbox = Inbox(lambda: child.hold(), lambda: child.release())
        reader = _Reader(wanted, inbox, link, self._on_noise)
        environment = default_environment() | (wanted.env or {})
        self._check_startable(wanted, environment)
        try:
            child = await self._children.spawn(
                [wanted.command, *wanted.args],
                env=environment,
                cwd=wanted.cwd,
                on_line=reader.take,
                on_error_line=self._on_stderr,
            )
        except (OSError, ValueError) as error:
            raise CannotStart(f"cannot start {wanted.command}: {error}") from error
        link.pid = child.pid

        async def send(message: SessionMessage) -> None:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
            try:
                await child.write(text.encode(wanted.encoding, wanted.encoding_error_handler))
            except ConnectionError:
                raise ClosedResourceError from None

        def on_end(_: object) -> None:
            link.lose(child.describe_end())

        def on_silence(_: object) -> None:
            inbox.end()
            child.exited.add_done_callback(on_end)  # it usually exits a moment later: then we can say how
            asyncio.get_running_loop().call_later(LATE_EXIT, on_end, None)

        child.silent.add_done_callback(on_silence)
        try:
            yield inbox, Outbox(send)
        finally:
            with anyio.CancelScope(shield=True):  # every wait inside is bounded; a child must not outlive its client
                await child.stop()

    def _check_startable(self, wanted: StdioParameters, environment: dict[str, str]) -> None:
        """Say in plain words what the system would say in riddles."""
        if wanted.cwd is not None and not os.path.isdir(wanted.cwd):
            raise CannotStart(f"the working directory {wanted.cwd} does not exist")
        if shutil.which(wanted.command, path=environment.get("PATH")) is None:
            beside = os.path.join(wanted.cwd or "", wanted.command)
            if os.sep not in wanted.command or not os.path.exists(beside):
                raise CannotStart(f"command not found: {wanted.command}")


class _Reader:
    """Turns lines into messages and counts what is none."""

    def __init__(self, parameters: StdioParameters, inbox: Inbox, link: Link, on_noise: Callable[[str], None]) -> None:
        self._inbox = inbox
        self._link = link
        self._on_noise = on_noise
        self._noise = 0
        self._encoding: str | None = parameters.encoding
        self._errors = parameters.encoding_error_handler
        if parameters.encoding.lower().replace("-", "") == "utf8" and self._errors == "strict":
            self._encoding = None  # the JSON reader decodes it itself

    def take(self, line: bytes) -> bool:
        """Read a line; whether it was a message."""
        if not line.strip():
            return False
        try:
            text = line if self._encoding is None else line.decode(self._encoding, self._errors)
            message = jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError:
            self._ignore(line)
            return False
        self._noise = 0
        self._inbox.put(SessionMessage(message))
        return True

    def _ignore(self, line: bytes) -> None:
        if not self._noise:
            self._on_noise(line[:200].decode("utf-8", "replace"))
        self._noise += len(line)
        if self._noise > MAX_NOISE_BYTES:
            self._link.lose("floods its standard output with what is no MCP message")
            self._inbox.end()
