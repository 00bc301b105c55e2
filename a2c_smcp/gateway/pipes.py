"""Standard input and output as the transport of a host that started this process.

MCP's library has one, too. Its threads hold the process until the host closes standard input, so that a signal could
not end it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

from a2c_smcp.utils.text import one_line
from a2c_smcp.utils.threads import in_thread

logger = logging.getLogger(__name__)

CHUNK = 65_536
LAST_SECONDS = 1.5
"""Time for the answers to the last requests after the host closed standard input. A host that waits for the end of this
process waits longer; one that is gone does not read them."""
_SHOWN = 60
"""Characters of a line that is not a message, in the log."""

FromHost: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
ToHost: TypeAlias = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def host_streams() -> AsyncGenerator[tuple[FromHost, ToHost]]:
    """The messages of the host, which end when it closes standard input or stops to read, and a stream for answers."""
    put, from_host = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_host, answers = anyio.create_memory_object_stream[SessionMessage](0)
    asked = _Asked()
    with _own_output() as output:
        tasks = [
            asyncio.create_task(_read(put, asked), name="read the host"),
            asyncio.create_task(_write(answers, output, put, asked), name="write to the host"),
        ]
        try:
            yield from_host, to_host
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for stream in (put, from_host, to_host, answers):
                stream.close()


async def until(stopped: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do work until it ends, or until `stopped` is set."""
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (working, stopping):
            task.cancel()
        results = await asyncio.gather(working, stopping, return_exceptions=True)
    if isinstance(results[0], Exception):
        raise results[0]


@contextlib.contextmanager
def _own_output() -> Generator[int]:
    """Standard output, which only MCP may use. What others print goes to standard error meanwhile."""
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield output
    finally:
        os.dup2(output, 1)
        os.close(output)


class _Asked:
    """The requests of the host that are not answered."""

    def __init__(self) -> None:
        self._ids = set[RequestId]()
        self._answered = asyncio.Event()

    def sent(self, message: JSONRPCMessage) -> None:
        """The host sent a message."""
        match message:
            case JSONRPCRequest(id=request_id):
                self._ids.add(request_id)
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._ids.discard((params or {}).get("requestId", ""))
            case _:
                pass

    def got(self, message: JSONRPCMessage) -> None:
        """The host got a message."""
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._ids.discard(message.id)
            self._answered.set()

    async def answered(self) -> None:
        """Wait until there are none, but not for long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                while self._ids:
                    self._answered.clear()
                    await self._answered.wait()


async def _read(put: MemoryObjectSendStream[SessionMessage | Exception], asked: _Asked) -> None:
    with put:
        async for line in _lines():
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                logger.warning(
                    "the host sent what is not a message: %s", one_line(line.decode("utf-8", "replace"), _SHOWN)
                )
            else:
                asked.sent(message)
                await put.send(SessionMessage(message))
        # A program such as `echo` closes its end at once: it still wants to see the answers.
        await asked.answered()


async def _lines() -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    # Not `sys.stdin`: its buffer has a lock, which a thread that reads still holds when the process ends.
    while chunk := await in_thread(os.read, 0, CHUNK):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            line = b"".join((*begun, end))
            begun.clear()
            if line.strip():
                yield line
        begun.append(rest)


async def _write(
    answers: MemoryObjectReceiveStream[SessionMessage],
    output: int,
    put: MemoryObjectSendStream[SessionMessage | Exception],
    asked: _Asked,
) -> None:
    with answers:
        async for answer in answers:
            text = answer.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await in_thread(_write_all, output, text.encode() + b"\n")
            except OSError:  # the host is gone
                put.close()
                return
            asked.got(answer.message)


def _write_all(output: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(output, left) :]
