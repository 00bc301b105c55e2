"""Events for browsers, over SSE.

A feed keeps the last events in a ring. A reader that connects again gets what it missed, if the ring still has it, and
is told to load everything again if not. A reader that is slower than the events is told so and disconnected.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from a2c_smcp.errors import RateLimitedError

MOST_EVENTS = 1_000
MOST_READERS = 200
LINGER_SECONDS = 30.0
"""How long a topic goes on without readers, so that one that connects again misses nothing."""
HEARTBEAT_SECONDS = 15.0
BATCH_SECONDS = 0.1
"""Time between two writes to a reader: many events cost one write."""
WRITE_SECONDS = 30.0
"""Time for a write to a reader that does not read."""
RETRY_MILLISECONDS = 1_000


class Source(Protocol):
    """Publishes the events of a topic while somebody reads them."""

    def start(self) -> None:
        """The first reader came."""
        ...

    def stop(self) -> None:
        """The last reader left, some time ago."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its place in the feed, its topic, its kind, and its data as JSON."""

    number: int
    topic: str
    kind: str
    data: str


class Reader:
    """A place in a feed, from which events are read."""

    def __init__(self, topics: frozenset[str], number: int, *, is_resumed: bool) -> None:
        self.topics = topics
        self.number = number
        """The last event that was read."""
        self.is_resumed = is_resumed
        """Whether it goes on where it was."""
        self.news = asyncio.Event()
        self.is_slow = False
        """Whether it fell behind the ring."""


class Feed:
    """The events of a console. `sources` has a source for each topic, or None for one that others publish."""

    def __init__(
        self,
        sources: Mapping[str, Source | None],
        most: int = MOST_EVENTS,
        most_readers: int = MOST_READERS,
        linger_seconds: float = LINGER_SECONDS,
    ) -> None:
        self._sources = dict(sources)
        self._ring: deque[Event] = deque(maxlen=most)
        self._last = 0
        self._run = secrets.token_hex(4)
        """Tells the numbers of this process from those of another."""
        self._readers: set[Reader] = set()
        self._most_readers = most_readers
        self._linger_seconds = linger_seconds
        self._since: dict[str, int] = {}
        """The topics that are published, and the last event before each began."""
        self._dropped: dict[str, int] = {}
        """The last event of each topic that the ring has no more."""
        self._ending: dict[str, asyncio.TimerHandle] = {}
        self.is_closed = False

    @property
    def topics(self) -> Iterable[str]:
        """What can be read."""
        return self._sources

    def is_read(self, topic: str) -> bool:
        """Whether events of a topic are wanted."""
        return topic in self._since

    def publish(self, topic: str, kind: str, data: Any) -> None:
        """Send an event to the readers of a topic, if there are any."""
        if topic not in self._since:
            return
        self._last += 1
        if len(self._ring) == self._ring.maxlen:
            self._dropped[self._ring[0].topic] = self._ring[0].number
        self._ring.append(Event(self._last, topic, kind, json.dumps(data, separators=(",", ":"))))
        for reader in self._readers:
            if topic in reader.topics:
                reader.news.set()

    def check_room(self) -> None:
        """Reject a reader if there are too many.

        Raises:
            RateLimitedError: there are.
        """
        if len(self._readers) >= self._most_readers:
            raise RateLimitedError("too many streams are open", details={"retry_after": 5})

    def open(self, topics: Iterable[str], last_id: str | None) -> Reader:
        """Start to read, after the event with the id `last_id` if that is possible.

        Raises:
            RateLimitedError: there are too many readers.
        """
        self.check_room()
        wanted = frozenset(topics)
        number = self._resume(wanted, last_id)
        for topic in wanted - self._since.keys():
            self._since[topic] = self._last
            source = self._sources[topic]
            if source is not None:
                source.start()
        for topic in wanted & self._ending.keys():
            self._ending.pop(topic).cancel()
        reader = Reader(wanted, self._last if number is None else number, is_resumed=number is not None)
        if number is not None:
            reader.news.set()
        self._readers.add(reader)
        return reader

    def close(self, reader: Reader) -> None:
        """Stop to read."""
        self._readers.discard(reader)
        for topic in reader.topics:
            if topic in self._since and not any(topic in each.topics for each in self._readers):
                loop = asyncio.get_running_loop()
                if topic not in self._ending and not self.is_closed:
                    self._ending[topic] = loop.call_later(self._linger_seconds, self._stop, topic)

    def take(self, reader: Reader) -> list[Event]:
        """The events that a reader has not read."""
        reader.news.clear()
        # From the end: mostly a few of many events are new.
        new = itertools.takewhile(lambda event: event.number > reader.number, reversed(self._ring))
        found = [event for event in new if event.topic in reader.topics][::-1]
        reader.is_slow = self._has_dropped(reader.topics, reader.number)
        reader.number = self._last
        return found

    def id_of(self, number: int) -> str:
        """The id of an event, as a browser repeats it."""
        return f"{self._run}-{number}"

    def aclose(self) -> None:
        """End all streams: the process ends."""
        self.is_closed = True
        for topic in list(self._since):
            self._stop(topic)
        for reader in self._readers:
            reader.news.set()

    def _resume(self, topics: frozenset[str], last_id: str | None) -> int | None:
        """The number of the event after which a reader goes on; None if events after it are gone."""
        run, _, text = (last_id or "").partition("-")
        if run != self._run or not text.isdecimal() or len(text) > 18:
            return None
        number = int(text)
        if number > self._last or any(number < self._since.get(topic, self._last + 1) for topic in topics):
            return None
        return None if self._has_dropped(topics, number) else number

    def _has_dropped(self, topics: frozenset[str], number: int) -> bool:
        """Whether an event after this number is gone. Events of other topics do not count."""
        return any(self._dropped.get(topic, 0) > number for topic in topics)

    def _stop(self, topic: str) -> None:
        timer = self._ending.pop(topic, None)
        if timer is not None:
            timer.cancel()
        self._since.pop(topic, None)
        source = self._sources[topic]
        if source is not None:
            source.stop()
        if not self._since:
            self._ring.clear()


class EventStream(Response):
    """The response with the events of some topics, until the reader leaves or may not read any more."""

    media_type = "text/event-stream"

    def __init__(
        self,
        feed: Feed,
        topics: Iterable[str],
        last_id: str | None,
        holds: Callable[[], bool],
        batch_seconds: float = BATCH_SECONDS,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        # A proxy such as nginx keeps a response until it has a buffer full of it, unless it is told not to.
        super().__init__(None, 200, {"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._feed = feed
        self._holds = holds
        self._batch_seconds = batch_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._topics, self._last_id = frozenset(topics), last_id
        feed.check_room()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the stream ends."""
        reader = self._feed.open(self._topics, self._last_id)
        leaving = asyncio.ensure_future(hung_up(receive))
        writing = asyncio.ensure_future(self._write(reader, send))
        try:
            await asyncio.wait((leaving, writing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._feed.close(reader)
            for task in (leaving, writing):
                task.cancel()
            _, ended = await asyncio.gather(leaving, writing, return_exceptions=True)
        # A reader that is gone, or does not read, is no fault.
        if isinstance(ended, Exception) and not isinstance(ended, OSError | TimeoutError):
            raise ended

    async def _write(self, reader: Reader, send: Send) -> None:
        async def write(text: str, *, more: bool = True) -> None:
            async with asyncio.timeout(WRITE_SECONDS):
                await send({"type": "http.response.body", "body": text.encode(), "more_body": more})

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        # A page loads everything when it reads this, unless the stream goes on where it was.
        kind = "resumed" if reader.is_resumed else "opened"
        await write(f"retry: {RETRY_MILLISECONDS}\n{self._event(kind, '{}', reader.number)}")
        while True:
            found, reason = await self._next(reader)
            text = "".join(self._event(event.kind, event.data, event.number) for event in found)
            if reason:
                await write(text + self._event("ended", json.dumps({"reason": reason}), None), more=False)
                return
            await write(text or ": heartbeat\n\n")
            await asyncio.sleep(self._batch_seconds)

    async def _next(self, reader: Reader) -> tuple[list[Event], str]:
        """The next events, none for a heartbeat; and why the stream ends, if it does."""
        try:
            async with asyncio.timeout(self._heartbeat_seconds):
                await reader.news.wait()
        except TimeoutError:
            pass
        if self._feed.is_closed:
            return [], "restart"
        if not self._holds():
            return [], "logged_out"
        found = self._feed.take(reader)
        return (found, "") if not reader.is_slow else ([], "slow")

    def _event(self, kind: str, data: str, number: int | None) -> str:
        place = f"id: {self._feed.id_of(number)}\n" if number is not None else ""
        return event_text(kind, data, place)


def event_text(kind: str, data: str, place: str = "") -> str:
    """An event as a stream has it."""
    return f"{place}event: {kind}\ndata: {data}\n\n"


async def hung_up(receive: Receive) -> None:
    """Wait until the browser closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
