"""A client of the ASGI shell, over WebSocket or long-polling.

Under `a2c server` a WebSocket hands its frames over directly (`Frames`). Under any other ASGI server, frames come
through `receive` and go through `send`, like in every ASGI application.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from a2c_smcp.server.asgi_requests import Receive, Send, hung_up
from a2c_smcp.server.hub import GOODBYE_SECONDS, Hub
from a2c_smcp.server.sending import Client
from a2c_smcp.utils.eager import begin, can_begin
from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.session import NOOP

logger = logging.getLogger(__name__)

FRAMES = "a2c.frames"
"""The name of an ASGI extension, see `Frames`."""
LARGE = 2_000
"""Characters. After a longer message the loop turns to other clients: reading many large messages in a row would delay
them, and would keep all of these messages in memory at the same time."""
IN_A_ROW = 8
"""Messages of one client after which the loop turns to others."""


class Frames(Protocol):
    """The ASGI extension of `a2c server`: frames without a queue, a task and a coroutine for each of them."""

    is_writable: bool
    """Whether the socket's buffer has room."""

    def listen(self, on_frame: Callable[[str | bytes], None], on_writable: Callable[[], None]) -> None:
        """Have every frame handed over at once; `receive` then waits only for the end."""
        ...

    def post(self, frame: str) -> None:
        """Send a frame now."""
        ...

    def limit(self, max_bytes: int) -> None:
        """Change the largest message that is read."""
        ...


class AsgiClient(Client):
    """A client over WebSocket or long-polling."""

    def __init__(self, hub: Hub[Any], wire: Connection, environ: dict[str, Any], address: str | None) -> None:
        super().__init__(hub, wire, environ, address)
        self._send: Send | None = None
        self._frames: Frames | None = None
        self._begin: Callable[[Any], asyncio.Future[None] | None] = begin
        self._late: asyncio.Future[None] | None = None
        """The frame that is being sent to a client that does not take it at once."""
        self._poll: asyncio.Future[None] | None = None
        self._newest_poll = 0
        self._reader: asyncio.Task[Any] | None = None
        self._goodbye: asyncio.Future[None] | None = None

    # -------------------------------------------------------------------------------------------------------- websocket

    def attach(self, send: Send, frames: Frames | None) -> None:
        """Let a WebSocket carry the session."""
        self._send = send
        self._frames = frames
        self.fit()
        # `begin` runs `send` at once in this turn of the loop, and makes a task only if it has to wait. With a function
        # that does not allow that, each frame gets a task.
        self._begin = begin if can_begin(send) else asyncio.ensure_future
        self._reader = asyncio.current_task()

    def flush(self) -> None:
        """Send what is in the outbox, as far as the client takes it without waiting."""
        # A client that does not take more keeps its packets in the outbox, whose size is limited (`WireLimits.unread`).
        session = self.wire.session
        if self._frames is not None:
            while self._frames.is_writable and (frame := session.take_frame()) is not None:
                self._frames.post(frame)
            return
        # Long-polling: the packets stay in the outbox, and the poll that waits is woken to take them.
        if self._send is None:
            if self._poll is not None and not self._poll.done() and (session.has_output() or session.is_probed):
                self._poll.set_result(None)
            return
        # One `send` at a time: ASGI does not promise an order of concurrent ones. `_sent` continues here.
        while self._late is None and (frame := session.take_frame()) is not None:
            try:
                late = self._begin(self._send({"type": "websocket.send", "text": frame}))
            except Exception as error:
                logger.debug("a message could not be sent: %s", error)
                self._send = None
                self.hub.end(self)
                return
            if late is not None:
                self._late = late
                late.add_done_callback(self._sent)

    def fit(self) -> None:
        """Let the WebSocket read messages as large as the wire core does."""
        if self._frames is not None:
            self._frames.limit(self.wire.largest_input)

    def _sent(self, late: asyncio.Future[None]) -> None:
        self._late = None
        if late.cancelled() or late.exception() is not None:
            self._send = None
            self.hub.end(self)
        else:
            self.flush()

    async def read(self, receive: Receive) -> None:
        """Receive what the client sends, until the end."""
        in_a_row = 0
        try:
            if self._frames is not None:
                self._frames.listen(self._take, self.flush)
                await receive()  # the end
            while self._frames is None and not self.is_ended:
                message = await receive()
                frame = message.get("text")
                if frame is None:
                    frame = message.get("bytes")
                    if frame is None:
                        break
                self._take(frame)
                # `receive` of some servers returns without waiting while messages are there: without this turn of the
                # loop, one client that floods would stop all others.
                in_a_row += 1
                if in_a_row == IN_A_ROW or len(frame) > LARGE:
                    in_a_row = 0
                    await asyncio.sleep(0)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.is_ended or task is None:
                raise
            # The session ended and `_hang_up` cancelled the task, because `receive` may never return if the client does
            # not close. While the session is open, the ASGI server cancels the task, and that is passed on.
            task.uncancel()
        finally:
            self._reader = None
            self.hub.end(self)
        # An ASGI server closes the connection when the application returns, and would cut off the last frames.
        if self._goodbye is not None:
            await asyncio.wait([self._goodbye])

    def _take(self, frame: str | bytes) -> None:
        if self.is_ended:
            return
        with self.lock:
            value = self.wire.receive_frame(frame, self.hub.now())
        self.hub.receive(self, (value,))

    def finish(self) -> None:
        """Send the rest, then close."""
        self.flush()
        if self._send is not None:
            self._goodbye = asyncio.ensure_future(self._hang_up(self._send))
        elif self._poll is not None and not self._poll.done():
            self._poll.set_result(None)

    async def _hang_up(self, send: Send) -> None:
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                # The callback of a frame that was sent may begin the next one. It runs in the turn after the wait.
                while self._late is not None:
                    await asyncio.wait([self._late])
                    await asyncio.sleep(0)
                await send({"type": "websocket.close", "code": 1000})
        except Exception as error:  # the client is gone, or does not read
            logger.debug("a WebSocket was not closed in good order: %s", error)
        if self._reader is not None:
            self._reader.cancel()

    # ----------------------------------------------------------------------------------------------------- long-polling

    async def poll(self, receive: Receive) -> str | None:
        """Wait for packets, and return the body that answers a poll; None if the client hung up before."""
        number = self.begin_poll()
        waiting = self.expect(number)
        if waiting is not None:
            gone = asyncio.ensure_future(hung_up(receive))
            try:
                await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
            if not waiting.done():
                return None
        return self.take(number)

    def begin_poll(self) -> int:
        """Note that a poll came; its number.

        Only the newest poll is answered with packets. A client whose poll was cut by a proxy sends another, and packets
        that went into the old answer would be lost.
        """
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(None)
        self._newest_poll += 1
        return self._newest_poll

    def expect(self, number: int) -> asyncio.Future[None] | None:
        """Done when a poll can be answered; None if it can be at once."""
        session = self.wire.session
        if session.has_output() or session.is_probed or self.is_ended or number != self._newest_poll:
            return None
        self._poll = asyncio.get_running_loop().create_future()
        return self._poll

    def take(self, number: int, most: int | None = None) -> str:
        """The body that answers a poll, with packets of about `most` characters."""
        session = self.wire.session
        # Replaced by a newer poll. Its answer still has to be a valid payload, since the client may be reading it.
        if number != self._newest_poll:
            return NOOP
        # During an upgrade the answer is empty: the packets are for the WebSocket. If it fails, the next poll gets
        # them.
        with self.lock:
            return NOOP if session.is_probed else session.take_payload(most) or NOOP
