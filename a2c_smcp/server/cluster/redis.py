"""The connection of a node to Redis: one, for commands and for messages, in the protocol RESP3.

A general client would spend more time on a message than the rest of a relayed call takes. This one writes commands,
reads answers in order, and hands over messages. hiredis parses.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import hiredis

from a2c_smcp.server.cluster.address import RedisAddress
from a2c_smcp.server.cluster.link import CommandFailed, LinkListener, LinkLost, UnusableRedis
from a2c_smcp.server.reply import Reply
from a2c_smcp.utils.backoff import Backoff

logger = logging.getLogger(__name__)

SCRIPTS = ("enlist", "restate", "look", "commit", "beat", "retire")
OLDEST = (6, 2)
"""The oldest Redis that has every command the scripts use."""
SHARDED = (7, 0)
"""The oldest Redis whose cluster keeps a message on the shard of its channel; older ones send it to every shard."""
CONNECT_SECONDS = 3.0
MOST_UNSENT = 64_000_000
"""Bytes that wait for Redis to read them, above which the connection is given up."""
_MISPLACED = ("MOVED", "READONLY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "TRYAGAIN")
"""Errors that say: not this Redis, or not now."""


_pack = cast("Callable[[tuple[str | bytes, ...]], bytes]", cast("Any", hiredis).pack_command)


@cache
def script(name: str) -> str:
    """The text of a script."""
    folder = Path(__file__).parent / "scripts"
    return (folder / "common.lua").read_text("utf-8") + "\n" + (folder / f"{name}.lua").read_text("utf-8")


@cache
def _digest(name: str) -> str:
    return hashlib.sha1(script(name).encode(), usedforsecurity=False).hexdigest()


class RedisLink:
    """Keeps one connection to Redis, on the event loop that it is started on."""

    def __init__(self, address: RedisAddress, prefix: str = "a2c") -> None:
        self._address = address
        # The braces are a hash tag: all keys of this cluster are on one shard of a Redis Cluster.
        self._prefix = "{" + prefix + "}"
        self._listener: LinkListener | None = None
        self._connection: RedisConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._node: str | None = None

    async def start(self, listener: LinkListener) -> None:
        """Connect, and keep connecting until `stop`.

        Raises:
            UnusableRedis: this Redis cannot be used at all. A Redis that cannot be reached is tried again.
        """
        self._listener = listener
        first = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(self._keep_connected(listener, first))
        await first

    async def stop(self) -> None:
        """Close the connection."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _keep_connected(self, listener: LinkListener, first: asyncio.Future[None]) -> None:
        backoff = Backoff(0.1, 1.0)
        while True:
            try:
                connection = await self._address.connect(f"{self._prefix}:nodes", self._on_push)
            except UnusableRedis as error:
                if not first.done():
                    first.set_exception(error)
                    return
                logger.error("%s", error)
            except (OSError, TimeoutError, CommandFailed, LinkLost) as error:
                logger.warning("Redis at %s cannot be reached: %s", self._address, error or type(error).__name__)
            else:
                try:
                    self._node = None
                    self._connection = connection
                    for name in SCRIPTS:
                        connection.send("SCRIPT", "LOAD", script(name))
                    backoff.reset()
                    listener.on_connected(connection.run_id, connection.uptime)
                    if not first.done():
                        first.set_result(None)
                    await asyncio.shield(connection.closed)
                finally:
                    self._connection = None
                    connection.close()
                    listener.on_lost()
            if not first.done():
                first.set_result(None)
            await asyncio.sleep(backoff.next())

    # --------------------------------------------------------------------------------------------------------- commands

    def subscribe(self, node: str) -> None:
        """Receive the messages for a node, and for no other from now on."""
        connection = self._connection
        if connection is not None:
            sharded = "S" if connection.is_sharded else ""
            if self._node is not None:
                connection.push(f"{sharded}UNSUBSCRIBE", self._inbox(self._node))
            self._node = node
            connection.push(f"{sharded}SUBSCRIBE", self._inbox(node))

    def run(self, script: str, node: str, *arguments: str | int) -> Reply:
        """Run a script for a node."""
        connection = self._connection
        if connection is None:
            return _lost()
        # One key, for the shard; the others have the same hash tag.
        shared = ("1", f"{self._prefix}:nodes", self._prefix, node, connection.publish_command)
        outcome = Reply()
        reply = connection.send("EVALSHA", _digest(script), *shared, *map(str, arguments))
        reply.then(partial(self._ran, connection, script, (*shared, *map(str, arguments)), outcome))
        return outcome

    def _ran(
        self, connection: RedisConnection, name: str, arguments: tuple[str, ...], outcome: Reply, reply: Reply
    ) -> None:
        try:
            outcome.set_result(reply.result())
        except CommandFailed as error:
            # An operator flushed the scripts. The command did not run, so it is safe to send it again.
            if str(error).startswith("NOSCRIPT") and self._connection is connection:
                connection.send("EVAL", script(name), *arguments).then(partial(_pass_on, outcome))
            else:
                if str(error).startswith(_MISPLACED):
                    connection.close()
                outcome.set_exception(error)
        except BaseException as error:
            outcome.set_exception(error)

    def read(self, command: str, table: str, *arguments: str | int) -> Reply:
        """Run a command that reads one table."""
        connection = self._connection
        if connection is None:
            return _lost()
        return connection.send(command, f"{self._prefix}:{table}", *map(str, arguments))

    def publish(self, node: str, message: bytes) -> None:
        """Send a message to a node. Without a connection it is lost."""
        connection = self._connection
        if connection is not None:
            connection.tell(connection.publish_command, self._inbox(node), message)

    def reset(self) -> None:
        """Drop the connection, and connect again."""
        if self._connection is not None:
            self._connection.close()

    def _inbox(self, node: str) -> str:
        return f"{self._prefix}:inbox:{node}"

    def _on_push(self, push: Any) -> None:
        # ["message", channel, data], or "smessage"; other kinds confirm a subscription.
        if push[0] in (b"message", b"smessage") and self._listener is not None:
            self._listener.on_message(push[2])
        elif push[0] == b"sunsubscribe" and push[1].decode() == self._inbox(self._node or ""):
            self.reset()  # the shard of the channel moved


class RedisConnection(asyncio.Protocol):
    """One connection: commands and their answers, in order, and messages."""

    def __init__(self, on_push: Callable[[Any], None]) -> None:
        self._on_push = on_push
        self._reader = hiredis.Reader(replyError=CommandFailed)
        self._waiting: deque[Reply] = deque()
        """For each command that was sent, in order."""
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self.run_id = ""
        self.uptime = 0.0
        self.version = (0, 0)
        self.is_sharded = False

    @property
    def publish_command(self) -> str:
        """The command that sends a message."""
        return "SPUBLISH" if self.is_sharded else "PUBLISH"

    async def greet(self, username: str | None, password: str | None, database: int) -> None:
        """Log in, and learn which Redis this is.

        Raises:
            UnusableRedis: it is too old, or rejects the credentials.
        """
        credentials = ("AUTH", username or "default", password) if password is not None else ()
        try:
            await self.send("HELLO", "3", *credentials)
        except CommandFailed as error:
            if str(error).startswith("NOAUTH"):  # its text is about the command, which the operator does not know
                raise UnusableRedis("Redis requires a password, and its URL has none") from None
            if str(error).startswith(("WRONGPASS", "NOPERM")):
                raise UnusableRedis(f"Redis rejects the credentials: {error}") from None
            if "unknown command" in str(error).lower() or str(error).startswith("NOPROTO"):
                raise UnusableRedis("this Redis is too old: 6.2 or newer is required") from None
            raise
        if database:
            await self.send("SELECT", str(database))
        await self.send("CLIENT", "SETNAME", "a2c-server")
        info = str(await self.send("INFO", "server"))
        facts = dict(line.split(":", 1) for line in info.splitlines() if ":" in line)
        self.run_id = facts["run_id"]
        self.uptime = float(facts["uptime_in_seconds"])
        major, minor = facts["redis_version"].split(".")[:2]
        self.version = int(major), int(minor)
        if self.version < OLDEST:
            raise UnusableRedis(f"this is Redis {facts['redis_version']}: 6.2 or newer is required")
        self.is_sharded = facts.get("redis_mode") == "cluster" and self.version >= SHARDED

    def send(self, *command: str | bytes) -> Reply:
        """Send a command; its answer settles the reply."""
        reply = Reply()
        if self.closed.done():
            reply.set_exception(LinkLost("not connected to Redis"))
            return reply
        self._waiting.append(reply)
        self.push(*command)
        return reply

    def tell(self, *command: str | bytes) -> None:
        """Send a command that Redis does not answer."""
        # The answer to a message would be one more thing to read, at a time when nothing else is there to be read with
        # it: a quarter of the time that a call to another node takes. What a lost message means, `calls` describes.
        self.push("CLIENT", "REPLY", "SKIP")
        self.push(*command)

    def push(self, *command: str | bytes) -> None:
        """Send a command whose answer is a message: a subscription."""
        # Written once per turn of the loop: many calls at the same time cost one system call.
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(_pack(command))

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        if self._transport is not None and not self.closed.done():
            self._transport.write(b"".join(unsent))
            if self._transport.get_write_buffer_size() > MOST_UNSENT:
                logger.warning("Redis does not read what is sent to it: connecting again")
                self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while (answer := self._reader.gets()) is not False:
                if isinstance(answer, hiredis.PushNotification):
                    self._on_push(answer)
                    continue
                reply = self._waiting.popleft()
                if isinstance(answer, CommandFailed):
                    reply.set_exception(answer)
                else:
                    reply.set_result(_decoded(answer))
        except Exception:
            logger.exception("an answer of Redis cannot be read")
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection: what waits for an answer fails."""
        if self.closed.done():
            return
        self.closed.set_result(None)
        if self._transport is not None:
            self._transport.abort()
        waiting, self._waiting = self._waiting, deque()
        for reply in waiting:
            reply.set_exception(LinkLost("the connection to Redis was lost"))


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


def _pass_on(to: Reply, reply: Reply) -> None:
    try:
        to.set_result(reply.result())
    except BaseException as error:
        to.set_exception(error)


def _lost() -> Reply:
    reply = Reply()
    reply.set_exception(LinkLost("not connected to Redis"))
    return reply
