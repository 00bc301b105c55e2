"""The link of a node to Redis: keeps one connection, and runs the scripts."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from functools import cache, partial
from pathlib import Path
from typing import Any

from a2c_smcp.server.cluster.address import RedisAddress
from a2c_smcp.server.cluster.connection import RedisConnection
from a2c_smcp.server.cluster.link import CommandFailed, LinkListener, LinkLost, UnusableRedis
from a2c_smcp.server.reply import Reply
from a2c_smcp.utils.backoff import Backoff

logger = logging.getLogger(__name__)

SCRIPTS = ("enlist", "restate", "look", "office", "commit", "beat", "retire")
STABLE_SECONDS = 5.0
"""A connection that lasts this long was a success: the next one is tried at once."""


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
        self._number = 0
        """Counts the connections: the scripts ignore what arrives late from one before."""
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
        backoff, now, told = Backoff(0.1, 1.0), asyncio.get_running_loop().time, ""
        while True:
            try:
                connection = await self._address.connect(f"{self._prefix}:nodes", self._on_push)
            except Exception as error:  # whatever it is, this loop must not end: the node would never come back
                if isinstance(error, UnusableRedis) and not first.done():
                    first.set_exception(error)
                    return
                problem = str(error) or "it does not answer"
                if problem != told:
                    logger.warning("Redis at %s cannot be reached: %s; trying again", self._address, problem)
                told = problem
            else:
                connected, told = now(), ""
                try:
                    self._node = None
                    self._connection = connection
                    self._number += 1
                    for name in SCRIPTS:
                        connection.send("SCRIPT", "LOAD", script(name))
                    listener.on_connected(connection.run_id, connection.uptime)
                    if not first.done():
                        first.set_result(None)
                    await asyncio.shield(connection.closed)
                    if now() - connected > STABLE_SECONDS:
                        backoff.reset()
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
            if self._node is not None:
                connection.tell(connection.unsubscribe_command, self._inbox(self._node))
            self._node = node
            connection.tell(connection.subscribe_command, self._inbox(node))

    def run(self, script: str, node: str, *arguments: str | int) -> Reply:
        """Run a script for a node."""
        connection = self._connection
        if connection is None:
            return _lost()
        # One key, for the shard; the others have the same hash tag.
        key = ("1", f"{self._prefix}:nodes")
        given = (self._prefix, node, str(self._number), connection.publish_command, *map(str, arguments))
        outcome = Reply()
        reply = connection.send("EVALSHA", _digest(script), *key, *given)
        reply.then(partial(self._ran, connection, script, (*key, *given), outcome))
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
                # A script fails on no Redis that works. The node starts anew with the next connection.
                logger.error("Redis cannot run the script %s: %s", name, error)
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

    def evaluate(self, text: str, tables: tuple[str, ...], *arguments: str | int) -> Reply:
        """Run a short script on some tables."""
        connection = self._connection
        if connection is None:
            return _lost()
        keys = [f"{self._prefix}:{table}" for table in tables]
        return connection.send("EVAL", text, str(len(keys)), *keys, *map(str, arguments))

    def publish(self, node: str, message: bytes) -> None:
        """Send a message to a node. Without a connection it is lost."""
        connection = self._connection
        if connection is not None:
            connection.post(connection.publish_command, self._inbox(node), message)

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


def _pass_on(to: Reply, reply: Reply) -> None:
    try:
        to.set_result(reply.result())
    except BaseException as error:
        to.set_exception(error)


def _lost() -> Reply:
    reply = Reply()
    reply.set_exception(LinkLost("not connected to Redis"))
    return reply
