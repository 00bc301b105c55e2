"""One listed resource of an MCP server, and the reading of resources: a few at a time, each within a time limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.hosting.subscriptions import Watched
from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.smcp import ResourceContents

logger = logging.getLogger(__name__)

READERS = 16
"""Reads of one server that run at a time."""
READ_TIMEOUT = 30.0
"""Seconds after which a read has failed."""
RETRY_PAUSE = 5.0
"""Seconds before a failed read is retried, unless the server announces a change."""
TURN_SECONDS = 1.0
"""Seconds after which a read does not count as one of the readers, although it still runs: it may hang."""

T = TypeVar("T")


# Compared and hashed by identity: items are keys of tables while their fields change, and a resource that is removed
# and listed again is another item.
@dataclass(eq=False, slots=True)
class Item:
    """A listed resource, and whether its content is known and current.

    `changes` counts the changes of the resource. A read remembers the count at its start. If the count is different at
    the end, the requests that wait get this content, and the next one reads it again.
    """

    uri: str
    name: str
    description: str | None
    is_fresh: bool = False
    watched: Watched = Watched.NO
    """Whether its changes are announced. What is read while they are announced `SOON` is read again when they are."""
    changes: int = 0
    problem: str | None = None
    retry_at: float = float("-inf")

    @property
    def needs_reading(self) -> bool:
        """Whether the content may have changed since it was read. A read that has just failed is not repeated yet."""
        if self.is_fresh and self.watched is not Watched.NO:
            return False
        return self.problem is None or now() >= self.retry_at

    def outdate(self) -> None:
        """The content may have changed."""
        # The change may have repaired a resource that could not be read, so the pause before a retry ends, too.
        self.changes += 1
        self.is_fresh = False
        self.problem = None

    def rename(self, name: str, description: str | None) -> bool:
        """Take the name and description of the newest list; whether they differ."""
        if (self.name, self.description) == (name, description):
            return False
        self.name, self.description = name, description
        self.changes += 1
        self.is_fresh = False
        return True


class Turn:
    """A place among the readers of a server, held like a lease: at most for `TURN_SECONDS`.

    Some servers never answer certain reads. If each of these kept its place until `READ_TIMEOUT`, `READERS` of them
    would block all other resources of the server for 30 seconds.
    """

    def __init__(self, readers: asyncio.Semaphore) -> None:
        self._readers = readers
        self._ends = asyncio.get_running_loop().call_later(TURN_SECONDS, self.end)
        self._has_ended = False

    def end(self) -> None:
        """Let the next reader begin, unless the time limit did so already."""
        if not self._has_ended:
            self._has_ended = True
            self._ends.cancel()
            self._readers.release()


class Reading:
    """Reads resources of one server. A failure is logged and noted at the resource; it does not affect others."""

    def __init__(self, server: str, session: Session, redact: Redact, retry_pause: float) -> None:
        self.server = server
        self.session = session
        self.redact = redact
        self._retry_pause = retry_pause
        self._readers = asyncio.Semaphore(READERS)

    async def turn(self) -> Turn:
        """Wait until another resource may be read."""
        await self._readers.acquire()
        return Turn(self._readers)

    async def read(self, item: Item, turn: Turn, take: Callable[[list[ResourceContents]], T]) -> T | None:
        """What `take` makes of the contents; None if they cannot be read."""
        changes = item.changes
        try:
            with anyio.fail_after(READ_TIMEOUT):
                taken = take(await self.session.read(item.uri))
        except Exception as error:  # servers send anything, and `take` parses it
            if item.changes == changes:  # after a change, the failure says nothing about the new content
                item.problem = in_words(error, self.redact)
                item.retry_at = now() + self._retry_pause
                logger.warning("%s of %s cannot be read: %s", item.uri, self.server, item.problem)
            return None
        finally:
            turn.end()
        item.problem = None
        item.is_fresh = item.changes == changes
        return taken


def now() -> float:
    """The time of the event loop."""
    return asyncio.get_running_loop().time()


def text_of(contents: list[ResourceContents]) -> str:
    """The first text.

    Raises:
        ValueError: there is none.
    """
    text = next((text for part in contents if isinstance(text := part.get("text"), str)), None)
    if text is None:
        raise ValueError("it has no text")
    return text
