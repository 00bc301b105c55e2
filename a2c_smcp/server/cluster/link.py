"""The interface between a node and Redis. `redis.RedisLink` is the real one; the simulation has another."""

from __future__ import annotations

from typing import Protocol

from a2c_smcp.server.reply import Reply


class LinkLost(Exception):
    """The connection to Redis was lost. Whether the command ran is not known."""


class CommandFailed(Exception):
    """Redis answered a command with an error."""


class UnusableRedis(Exception):
    """This Redis cannot be used as it is; the message says why, without a password."""


class LinkListener(Protocol):
    """What a link calls, on its own thread if it has one."""

    def on_connected(self, run_id: str, uptime: float) -> None:
        """The link is connected, to the Redis process `run_id`, which started `uptime` seconds ago."""
        ...

    def on_lost(self) -> None:
        """The connection is lost. Messages are lost from now on; the link connects again by itself."""
        ...

    def on_message(self, data: bytes) -> None:
        """A message came for this node."""
        ...


class Link(Protocol):
    """A connection to Redis. Answers and messages come in the order in which Redis produced them.

    That order matters: a node that takes its first seat in an office gets the office as the answer, and every later
    change as a message. If a message could overtake the answer, the node would keep a wrong picture.
    """

    def subscribe(self, node: str) -> None:
        """Receive the messages for a node, and for no other from now on."""
        ...

    def run(self, script: str, node: str, *arguments: str | int) -> Reply:
        """Run a script for a node; the reply fails with `LinkLost` or `CommandFailed`."""
        ...

    def read(self, command: str, table: str, *arguments: str | int) -> Reply:
        """Run a command that reads one table."""
        ...

    def publish(self, node: str, message: bytes) -> None:
        """Send a message to a node. Without a connection it is lost."""
        ...

    def reset(self) -> None:
        """Drop the connection, which does not answer, and connect again."""
        ...
