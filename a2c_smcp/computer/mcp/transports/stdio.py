"""MCP over the standard input and output of a child process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import orjson

from a2c_smcp.computer.config.model import StdioParameters
from a2c_smcp.computer.mcp.client import MCPClient, filled
from a2c_smcp.computer.mcp.conversation import Conversation, Message
from a2c_smcp.computer.mcp.failures import CannotStart
from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.parsing import parse
from a2c_smcp.computer.mcp.processes import default_environment
from a2c_smcp.utils.system.processes import program

LATE_EXIT = 0.3
"""Seconds to wait for the exit code of a server that closed its output, so that the reason can include it."""


class StdioClient(MCPClient):
    """A server that this Computer starts as a child process."""

    @asynccontextmanager
    async def _open(self, parameters: dict[str, Any], link: Link) -> AsyncGenerator[Conversation]:
        wanted = filled(StdioParameters, parameters)
        write = _writer(wanted)

        def send(message: Message, _: Mapping[str, str] | None) -> None:
            child.write(write(message))

        async def ready() -> None:
            await child.ready()

        conversation = Conversation(send, self._on_notice, ready)
        reader = _Reader(wanted, conversation, link, self._on_noise, self._policy.noise_bytes)
        # A server gets few variables of ours: the environment of a Computer may hold the keys of other servers.
        environment = default_environment() | (wanted.env or {})
        self._check_startable(wanted, environment)
        try:
            child = await self._children.spawn(
                [program(wanted.command, environment), *wanted.args],
                env=environment,
                cwd=wanted.cwd,
                on_line=reader.take,
                on_error_line=self._on_stderr,
                stall_timeout=self._policy.stall_timeout,
            )
        except (OSError, ValueError) as error:
            raise CannotStart(f"cannot start {wanted.command}: {error}") from error
        link.pid = child.pid

        def on_end(_: object) -> None:
            link.lose(child.describe_end())

        # A server that exits closes its output first. Open requests fail at once, while the reason waits a moment for
        # the exit code: "exited with code 3" helps more than "closed its standard output". A server may also close its
        # output and live on, or leave a child that holds the pipe; the timer covers both.
        def on_silence(_: object) -> None:
            conversation.end()
            child.exited.add_done_callback(on_end)  # it usually exits a moment later, and the exit code says more
            asyncio.get_running_loop().call_later(LATE_EXIT, on_end, None)

        child.silent.add_done_callback(on_silence)
        child.unusable.add_done_callback(lambda broken: link.lose(broken.result()))
        try:
            yield conversation
        finally:
            # Shielded: if the owner is cancelled here, the child must still be stopped. Every wait inside is bounded.
            with anyio.CancelScope(shield=True):
                await child.stop()

    def _check_startable(self, wanted: StdioParameters, environment: dict[str, str]) -> None:
        """Report the two most common mistakes clearly: the system reports both as `No such file or directory`."""
        if wanted.cwd is not None and not os.path.isdir(wanted.cwd):
            raise CannotStart(f"the working directory {wanted.cwd} does not exist")
        if shutil.which(wanted.command, path=environment.get("PATH")) is None:
            beside = os.path.join(wanted.cwd or "", wanted.command)
            if os.sep not in wanted.command or not os.path.exists(beside):
                raise CannotStart(f"command not found: {wanted.command}")


class _Reader:
    """Turns lines into messages, and counts the bytes of lines that are none."""

    def __init__(
        self,
        parameters: StdioParameters,
        conversation: Conversation,
        link: Link,
        on_noise: Callable[[str], None],
        most_noise: int,
    ) -> None:
        self._conversation = conversation
        self._link = link
        self._on_noise = on_noise
        self._most_noise = most_noise
        self._noise = 0
        self._encoding: str | None = None if _is_utf8(parameters) else parameters.encoding
        self._errors = parameters.encoding_error_handler

    def take(self, line: bytes) -> bool:
        """Read a line; whether it was a message."""
        if not line.strip():
            return False
        if self._conversation.receive(self._parse(line)):
            self._noise = 0
            return True
        # Many servers print a banner or a log line to standard output. That is tolerated, but not without end: a server
        # that only prints would keep this Computer busy, and its start would time out with a useless reason.
        if not self._noise:
            self._on_noise(line.decode("utf-8", "replace"))
        self._noise += len(line)
        if self._noise > self._most_noise:
            self._link.lose("floods its standard output with what is no MCP message")
            self._conversation.end()
        return False

    def _parse(self, line: bytes) -> Any:
        try:
            if self._encoding is None:
                return orjson.loads(line)
        except ValueError:
            pass
        try:
            return parse(line.decode(self._encoding or "utf-8-sig", self._errors))
        except ValueError:
            return None


def _is_utf8(parameters: StdioParameters) -> bool:
    return parameters.encoding.lower().replace("-", "") == "utf8" and parameters.encoding_error_handler == "strict"


def _writer(parameters: StdioParameters) -> Callable[[Message], bytes]:
    """The function that turns a message into a line."""

    # `json.dumps` writes ASCII, and every encoding that a configuration may name contains ASCII.
    def in_other_encoding(message: Message) -> bytes:
        return (json.dumps(message, separators=(",", ":")) + "\n").encode(parameters.encoding)

    def in_utf8(message: Message) -> bytes:
        try:
            return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError:  # orjson does not write integers of more than 64 bits
            return in_other_encoding(message)

    return in_utf8 if _is_utf8(parameters) else in_other_encoding
