"""A short way for the messages that calls are made of: over a WebSocket, on an event loop.

The library has a queue, a task and a timer for every message that goes, and tasks and a timer for every one that comes.
Here who has something to say writes it, and who reads it handles it. Handshake, heartbeat and farewell stay its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeAlias

logger = logging.getLogger(__name__)

EVENT = "42"
"""How a frame begins that carries an event."""
ACK = "43"
"""How a frame begins that carries an ack."""

SendFrame: TypeAlias = Callable[[Any], Coroutine[Any, Any, None]]


class Outbox(asyncio.Queue[Any]):
    """The library's queue of packets for one peer, with a way past it while the peer keeps up."""

    _send: SendFrame | None = None
    _unsent = 0
    """Packets that were put into the queue and have not been sent."""
    _late: asyncio.Task[None] | None = None
    """What the peer was not ready to take at once."""

    def open(self, send: SendFrame) -> None:
        """There is a WebSocket now. What was taken out before went elsewhere."""
        self._send = send
        self._unsent = self.qsize()

    def close(self) -> None:
        """There is none any more."""
        self._send = None
        if self._late is not None:
            self._late.cancel()

    def post(self, frame: str) -> bool:
        """Send now, without waiting for anything; False if the frame has to queue."""
        if self._unsent or self._late is not None or self._send is None:
            return False
        sending = self._send(frame)
        try:
            awaited = sending.send(None)
        except StopIteration:
            return True
        except Exception as error:
            self._fail(error)
            return True
        self._late = asyncio.ensure_future(self._finish(sending, awaited))
        return True

    async def send(self, frame: str | bytes) -> None:
        """Send what was in the queue, after what is late.

        Raises:
            OSError: the connection has ended.
        """
        if self._late is not None:
            await asyncio.wait([self._late])
        if self._send is None:
            raise ConnectionResetError("the connection has ended")
        await self._send(frame)
        self._unsent -= 1

    def _put(self, item: Any) -> None:
        super()._put(item)
        self._unsent += 1

    async def _finish(self, sending: Coroutine[Any, Any, None], awaited: Any) -> None:
        try:
            await _Rest(sending, awaited)
        except Exception as error:
            self._fail(error)
        finally:
            self._late = None

    def _fail(self, error: Exception) -> None:
        """The connection has ended: who reads from it finds out, and ends what there is to end."""
        self._send = None
        logger.debug("a message could not be sent: %s", error)


class _Rest:
    """What is left of a coroutine that has begun and waits for something."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], awaited: Any) -> None:
        self._coroutine = coroutine
        self._awaited = awaited

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            yield self._awaited
        except BaseException:
            self._coroutine.close()
            raise
        yield from self._coroutine.__await__()
