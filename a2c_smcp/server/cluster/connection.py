"""One connection to Redis, for commands and for messages, in the protocol RESP3.

A general client would spend more time on a message than the rest of a relayed call takes. This one writes commands,
reads answers in order, and hands over messages. hiredis parses.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import hiredis

from a2c_smcp.server.cluster.link import CommandFailed, LinkLost, UnusableRedis
from a2c_smcp.server.reply import Reply

logger = logging.getLogger(__name__)

OLDEST = (6, 2)
"""The oldest Redis that has every command the scripts use."""
SHARDED = (7, 0)
"""The oldest Redis whose cluster keeps a message on the shard of its channel; older ones send it to every shard."""
MOST_UNSENT = 64_000_000
"""Bytes that wait for Redis to read them, above which the connection is given up."""
_MISPLACED = ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "LOADING")
"""Errors that say: not this Redis, or not now."""
_SHARDED_COMMANDS = ("SPUBLISH", "SSUBSCRIBE", "SUNSUBSCRIBE")
_CONFIRMATIONS = (b"subscribe", b"ssubscribe", b"unsubscribe", b"sunsubscribe")

_pack = cast("Callable[[tuple[str | bytes, ...]], bytes]", cast("Any", hiredis).pack_command)
_NO_ANSWER = _pack(("CLIENT", "REPLY", "SKIP"))


class RedisConnection(asyncio.Protocol):
    """One connection: commands and their answers, in order, and messages."""

    def __init__(self, on_push: Callable[[Any], None]) -> None:
        self._on_push = on_push
        self._reader = hiredis.Reader(replyError=CommandFailed)
        self._waiting: deque[Reply | None] = deque()
        """For each command that was sent, in order: its reply, or None if only an error matters."""
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._unsent: list[bytes] = []
        """What was packed in this turn of the loop."""
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self.run_id = ""
        self.uptime = 0.0
        self.version = (0, 0)
        self.is_in_cluster = False
        self.publish_command = "PUBLISH"
        """The command that sends a message."""
        self.subscribe_command = "SUBSCRIBE"
        """The command that lets messages of a channel come."""
        self.unsubscribe_command = "UNSUBSCRIBE"
        """The command that ends that."""

    async def greet(self, username: str | None, password: str | None, database: int) -> None:
        """Log in, and learn which Redis this is.

        Raises:
            UnusableRedis: it is too old, or rejects the credentials.
        """
        credentials = ("AUTH", username or "default", password) if password is not None else ()
        try:
            await self.send("HELLO", "3", *credentials)
            if database:
                await self.send("SELECT", str(database))
            await self.send("CLIENT", "SETNAME", "a2c-server")
            facts = read_info(str(await self.send("INFO", "server")))
        except CommandFailed as error:
            reason = _reason(str(error), database)
            raise (UnusableRedis(reason) if reason is not None else error) from None
        version = facts["redis_version"]
        major, minor = version.split(".")[:2]
        self.version = int(major), int(minor)
        if self.version < OLDEST:
            raise UnusableRedis(f"this is Redis {version}: 6.2 or newer is required")
        self.run_id = facts["run_id"]
        self.uptime = float(facts["uptime_in_seconds"])
        # Valkey calls it `server_mode`.
        self.is_in_cluster = facts.get("redis_mode", facts.get("server_mode")) == "cluster"
        if self.is_in_cluster and self.version >= SHARDED:
            # Messages stay on the shard of their channel.
            self.publish_command, self.subscribe_command, self.unsubscribe_command = _SHARDED_COMMANDS

    def send(self, *command: str | bytes) -> Reply:
        """Send a command; its answer settles the reply."""
        reply = Reply()
        if self.closed.done():
            reply.set_exception(LinkLost("not connected to Redis"))
        else:
            self._write(command, reply)
        return reply

    def tell(self, *command: str | bytes) -> None:
        """Send a command whose answer does not matter unless it is an error: a subscription."""
        if not self.closed.done():
            self._write(command, None)

    def post(self, *command: str | bytes) -> None:
        """Send a command that Redis does not answer, not even with an error: a message."""
        # The answer to a message would be one more thing to read, at a time when nothing else is there to be read with
        # it. `calls` describes what a lost message means.
        if not self.closed.done():
            self._send(_NO_ANSWER + _pack(command))

    def _write(self, command: tuple[str | bytes, ...], reply: Reply | None) -> None:
        packed = _pack(command)  # first: a text that cannot be encoded must not wait for an answer
        self._waiting.append(reply)
        self._send(packed)

    def _send(self, packed: bytes) -> None:
        # Collected: one system call for everything that is sent in a turn of the loop. Under load, with one for each
        # message, a call between nodes takes a seventh more CPU time.
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(packed)

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        if self._transport is not None and not self.closed.done():
            self._transport.writelines(unsent)
            if self._transport.get_write_buffer_size() > MOST_UNSENT:
                logger.warning("Redis does not read what is sent to it: connecting again")
                self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Settle replies, and hand over messages, in the order in which Redis wrote them."""
        self._reader.feed(data)
        try:
            while not self.closed.done() and (answer := self._reader.gets()) is not False:
                if isinstance(answer, hiredis.PushNotification):
                    # A subscription is answered by a message if it succeeds, and by an error if not.
                    if self._waiting and self._waiting[0] is None and answer[0] in _CONFIRMATIONS:
                        self._waiting.popleft()
                    self._on_push(answer)
                    continue
                reply = self._waiting.popleft()
                if isinstance(answer, CommandFailed):
                    self._fail(reply, answer)
                elif reply is not None:
                    reply.set_result(_decoded(answer))
        except Exception:
            logger.exception("an answer of Redis cannot be read")
            self.close()

    def _fail(self, reply: Reply | None, error: CommandFailed) -> None:
        if reply is None:
            logger.error("Redis rejects a subscription: %s", error)
            self.close(str(error))
            return
        reply.set_exception(error)
        # Scripts wrap the errors of their commands, in words that depend on the version.
        if any(word in str(error) for word in _MISPLACED):
            self.close(str(error))

    def connection_lost(self, exc: Exception | None) -> None:
        """Redis closed the connection, or the network did."""
        self.close()

    def close(self, reason: str = "the connection to Redis was lost") -> None:
        """Close the connection: what waits for an answer fails."""
        if self.closed.done():
            return
        self.closed.set_result(None)
        if self._transport is not None:
            self._transport.abort()
        waiting, self._waiting = self._waiting, deque()
        for reply in waiting:
            if reply is not None:
                reply.set_exception(LinkLost(reason))


def read_info(text: str) -> dict[str, str]:
    """The facts in an answer to INFO."""
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def _reason(error: str, database: int) -> str | None:
    """Why Redis cannot be used if it greets with this error; None if it may be another time."""
    # Only texts that cannot contain the password: a Redis that does not know a command repeats its arguments.
    match error.partition(" ")[0]:
        case "NOAUTH":
            return "Redis requires a password, and its URL has none"
        case "WRONGPASS":
            return "Redis rejects the user name or the password"
        case "DENIED":
            return "Redis is in protected mode, and accepts only connections from its own machine"
        case "NOPERM":
            return f"the user of Redis lacks a permission: {error}"
        case "NOPROTO":
            return "this Redis is too old: 6.2 or newer is required"
        case _ if "unknown command" in error.lower():
            return "this Redis is too old: 6.2 or newer is required"
        case _ if "DB index" in error or "SELECT is not allowed" in error:
            return f"this Redis has no database {database}"
        case _:
            return None


def _decoded(answer: Any) -> Any:
    match answer:
        case bytes():
            return answer.decode()
        case dict():  # a script returns fields and values one after another; so does this
            return [_decoded(part) for item in cast("dict[Any, Any]", answer).items() for part in item]
        case list() | set():
            return [_decoded(item) for item in cast("list[Any]", answer)]
        case _:
            return answer
