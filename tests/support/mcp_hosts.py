"""MCP hosts that start `a2c mcp`: the client of the MCP library, at the other end of a process's pipes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias, cast

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from tests.support.process import Command, environment, start_warm
from tests.support.waiting import PATIENCE, eventually

Era: TypeAlias = Literal["legacy", "auto"]
"""`legacy` opens a session, `auto` uses 2026-07-28 where the server has it."""


class HostedCommand:
    """A running `a2c mcp`, as the transport of a client."""

    def __init__(self, *flags: str, env: dict[str, str] | None = None) -> None:
        command: Command = ["a2c", "mcp", *flags]
        self.process = start_warm(command, environment(env), is_apart=True)
        self.errors = ""
        """What it wrote to standard error, complete after `end`."""
        self._complaints = threading.Thread(target=self._listen, daemon=True)
        self._complaints.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[tuple[Any, Any]]:
        """The streams of a client. At the end, standard input is closed, as a host does."""
        put, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](100)
        outgoing, get = anyio.create_memory_object_stream[SessionMessage](0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=100_000_000)
        ours = os.fdopen(os.dup(self.process.stdout.fileno()), "rb")
        pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), ours)
        stdin = self.process.stdin

        async def read() -> None:
            with put:
                async for line in reader:
                    # Whatever is on standard output is a message.
                    await put.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False)))

        async def write() -> None:
            with get:
                async for message in get:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
                    await asyncio.to_thread(_put, stdin, text)

        tasks = [asyncio.create_task(read()), asyncio.create_task(write())]
        try:
            yield incoming, outgoing
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            pipe.close()
            for stream in (put, incoming, outgoing, get):
                stream.close()
            with contextlib.suppress(OSError):
                stdin.close()

    async def end(self) -> int:
        """Wait for its exit code."""
        code = await asyncio.to_thread(self.process.wait, PATIENCE)
        self._complaints.join(PATIENCE)
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        self._complaints.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class Host:
    """A client of the MCP library with a running `a2c mcp`. Notifications are collected."""

    def __init__(self, command: HostedCommand, client: Client, heard: list[str]) -> None:
        self.command = command
        self.client = client
        self.heard = heard

    async def until_tool(self, name: str) -> None:
        """Wait until the host is offered a tool: a Computer starts its MCP servers one after another."""
        await self._until(lambda listed: listed is not None and name in listed)

    async def until_refused(self) -> None:
        """Wait until the host may not list tools any more."""
        await self._until(lambda listed: listed is None)

    async def _until(self, condition: Callable[[set[str] | None], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    listed = {tool.name for tool in (await self.client.list_tools(cache_mode="bypass")).tools}
                except MCPError:
                    listed = None
                if condition(listed):
                    return
                await asyncio.sleep(0.05)

    async def until_heard(self, method: str, after: int = 0) -> None:
        await eventually(lambda: method in self.heard[after:])

    async def text(self, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> str:
        """The text that a tool returns."""
        result = await self.client.call_tool(tool, arguments or {}, **options)
        text = "".join(getattr(part, "text", "") for part in cast("Any", result).content)
        assert not cast("Any", result).is_error, text
        return text


@asynccontextmanager
async def hosted(
    era: Era, *flags: str, env: dict[str, str] | None = None, answer: Callable[[Any], Any] | None = None
) -> AsyncGenerator[Host]:
    """A host that has started `a2c mcp` with these flags. At the end it closes standard input, and the command exits
    with 0."""
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(getattr(message, "method", type(message).__name__))

    async def elicit(context: Any, params: Any) -> Any:
        assert answer is not None
        return answer(params)

    with contextlib.closing(HostedCommand(*flags, env=env)) as command:
        options: dict[str, Any] = {"elicitation_callback": elicit} if answer is not None else {}
        async with Client(command.streams(), mode=era, message_handler=hear, **options) as client:
            yield Host(command, client, heard)
        assert await command.end() == 0, command.errors
        assert "Traceback" not in command.errors


def _put(stream: Any, text: str) -> None:
    stream.write(text)
    stream.flush()
