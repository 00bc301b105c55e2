"""Subscriptions as of MCP 2026-07-28: a stream of events about a fixed set of resources.

When the set changes, another stream replaces the old one. Over HTTP each stream occupies a connection, of which there
is a limited number, so there must not be a stream for each resource.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from itertools import chain

import anyio
import anyio.abc
import mcp_types as types
from mcp.client.subscriptions import ResourceUpdated, SubscriptionLost, listen
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.hosting.subscriptions import WATCH_TIMEOUT, Audience, Subscriptions, Watched, refusal
from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.utils.backoff import Backoff

logger = logging.getLogger(__name__)

OVERLAP = 1.0
"""Seconds for which a stream stays open beside the one that replaces it. Over HTTP they are different connections: an
event may still be on its way on the old one when the new one is open."""
MOST_STREAMS = 3
"""Open streams of a `Listener`, beside one that is being opened. If the set changes all the time, the oldest is closed
before its time."""
ATTEMPTS = 64
"""Streams that are requested to find out which resources of a set the server rejects."""
ATTEMPT_SECONDS = 15.0
"""Seconds for that."""


@dataclass(eq=False, slots=True)
class _Stream:
    asked: frozenset[str]
    returned: frozenset[str] = frozenset()
    """What had returned when it was requested."""
    honored: frozenset[str] = frozenset()
    """What the server agreed to announce."""
    is_open: bool = False
    problem: Exception | None = None
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server has answered."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class Listener:
    """Listens to the changes of a set of resources, which may change, through one stream.

    `on_change` is called with the resources whose changes are announced from now on, and with those whose changes are
    needed and not announced any more. A resource in the old and in the new stream is in neither: it has no gap.
    """

    def __init__(
        self,
        session: Session,
        backoff: Backoff,
        *,
        on_change: Callable[[Set[str], Set[str]], None],
        on_update: Callable[[str], None],
        on_problem: Callable[[Exception], None],
    ) -> None:
        self._session = session
        self._backoff = backoff
        self._on_change = on_change
        self._on_update = on_update
        self._on_problem = on_problem
        self.target: frozenset[str] = frozenset()
        """The resources whose changes are needed."""
        self.failed: dict[str, Exception] = {}
        """Those for which the server rejected a stream, or opened none in time."""
        self._returned: set[str] = set()
        """Those that are in a stream and were not needed for a moment: they may be other resources now, which have the
        same addresses."""
        self._opening: frozenset[str] = frozenset()
        """What the stream is about that is being opened."""
        self._streams: list[_Stream] = []
        """The open streams. The last one counts; the others are about to be closed."""
        self._has_work = asyncio.Event()
        self._is_retrying = False
        self._tries_failed = False

    @property
    def _asked(self) -> frozenset[str]:
        """What the current stream is about."""
        return self._streams[-1].asked if self._streams else frozenset()

    @property
    def _honored(self) -> frozenset[str]:
        return self._streams[-1].honored if self._streams else frozenset()

    def is_open(self, uri: str) -> bool:
        """Whether the changes of a resource are announced.

        Raises:
            MCPError, TimeoutError, SubscriptionLost: the server does not agree to that.
        """
        has_returned = uri in self._returned
        if uri in self._honored and not has_returned:
            return True
        if uri in self.failed:
            raise self.failed[uri]
        if uri not in self.target or (uri in self._asked and not has_returned):
            raise refusal()
        return False

    def aim(self, target: frozenset[str]) -> None:
        """The changes of these resources are needed."""
        if target == self.target:
            return
        self._returned |= (self.target - target) & (self._asked | self._opening)
        self.target = target
        self.failed = {uri: problem for uri, problem in self.failed.items() if uri in target}
        self._has_work.set()

    def retry(self, uri: str | None = None) -> None:
        """Ask again for what the server did not agree to: one resource, or all."""
        if uri is None:
            self._tries_failed = bool(self.failed)
        elif self.failed.pop(uri, None) is None:
            return
        self._has_work.set()

    async def run(self) -> None:
        """Follow the target, until this is cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                await self._has_work.wait()
                self._has_work.clear()
                await self._follow(tasks)

    def close(self) -> None:
        """The connection has ended."""
        self.target, self._streams = frozenset(), []

    # -------------------------------------------------------------------------------------------------------- replacing

    async def _follow(self, tasks: anyio.abc.TaskGroup) -> None:
        """Have a stream for the target, or for as much of it as the server accepts."""
        # A server may reject a whole stream because of one resource in it. The stream that is open stays open then, and
        # the new resources are asked for by halves. Those that were rejected before come last, and not each time.
        parts = [self.target - self.failed.keys()]
        if self._tries_failed:
            self._tries_failed = False
            parts.insert(0, frozenset(self.failed))
        last: Exception | None = None
        ends = asyncio.get_running_loop().time() + ATTEMPT_SECONDS
        for _ in range(ATTEMPTS):
            if not parts or asyncio.get_running_loop().time() > ends:
                break
            part = parts.pop()
            problem = await self._replace(part, tasks)
            if problem is None:
                continue
            last = problem
            new = list((part & self.target) - self._asked)
            if len(new) > 1 and not _is_final(problem):
                middle = len(new) // 2
                parts += frozenset(new[middle:]), frozenset(new[:middle])
            else:
                self._fail(new, problem)
        if last is not None:
            self._fail(chain.from_iterable(parts), last)
        if self.failed:
            self._retry_later(tasks)

    async def _replace(self, part: frozenset[str], tasks: anyio.abc.TaskGroup) -> Exception | None:
        """Open a stream for what the current one is about and for `part`; why that failed."""
        asked = (self._asked | part) & self.target
        if not asked:
            self._close_streams()
            return None
        if asked == self._asked and not self._returned & asked:
            return None
        stream = _Stream(asked, frozenset(self._returned))
        self._opening = asked
        tasks.start_soon(self._listen, stream, tasks)
        with anyio.move_on_after(WATCH_TIMEOUT):
            await stream.settled.wait()
        self._opening = frozenset()
        if not stream.settled.is_set():
            stream.scope.cancel()
            return TimeoutError(f"no stream was opened within {WATCH_TIMEOUT:g} s")
        return None if stream.is_open else stream.problem or refusal()

    async def _listen(self, stream: _Stream, tasks: anyio.abc.TaskGroup) -> None:
        try:
            with stream.scope:
                async with listen(self._session, resource_subscriptions=list(stream.asked)) as subscription:
                    self._open(stream, frozenset(subscription.honored.resource_subscriptions or ()))
                    async for event in subscription:
                        # Reset by an event, not by an open stream: a server that closes each one at once would
                        # otherwise be asked again at the shortest interval, for ever.
                        self._backoff.reset()
                        if isinstance(event, ResourceUpdated):
                            self._on_update(event.uri)
        except (MCPError, SubscriptionLost, TimeoutError) as error:
            stream.problem = error
            self._on_problem(error)
        stream.settled.set()
        self._end(stream, tasks)

    def _open(self, stream: _Stream, honored: frozenset[str]) -> None:
        before = self._honored - self._returned
        stream.honored, stream.is_open = honored & stream.asked, True
        self._returned -= stream.returned
        for uri in stream.asked:
            self.failed.pop(uri, None)
        if self._streams:
            asyncio.get_running_loop().call_later(OVERLAP, self._streams[-1].scope.cancel)
        self._streams.append(stream)
        while len(self._streams) > MOST_STREAMS:
            self._streams.pop(0).scope.cancel()
        stream.settled.set()
        self._on_change(stream.honored - before, before - stream.honored)

    def _end(self, stream: _Stream, tasks: anyio.abc.TaskGroup) -> None:
        """A stream ended. If it is the one that counts, it is opened again."""
        is_current = bool(self._streams) and stream is self._streams[-1]
        if stream in self._streams:
            self._streams.remove(stream)
        if not is_current:
            return
        self._close_streams()
        self._fail((stream.asked & self.target) - stream.honored, stream.problem or refusal())
        self._on_change(frozenset(), stream.honored & self.target)
        self._retry_later(tasks)

    def _close_streams(self) -> None:
        streams, self._streams = self._streams, []
        for stream in streams:
            stream.scope.cancel()

    def _fail(self, uris: Iterable[str], problem: Exception) -> None:
        self.failed |= {uri: problem for uri in uris if uri in self.target and uri not in self._honored}
        self._on_change(frozenset(), frozenset())

    def _retry_later(self, tasks: anyio.abc.TaskGroup) -> None:
        if not self._is_retrying:
            self._is_retrying = True
            tasks.start_soon(self._retry_after, self._backoff.next())

    async def _retry_after(self, seconds: float) -> None:
        await anyio.sleep(seconds)
        self._is_retrying = False
        self.retry()


class Streams(Subscriptions):
    """Two listeners: for what is shown, and for what is wanted beside it.

    A server may show a hundred thousand documents. Each resource that an Agent begins to watch would repeat all their
    addresses in the request for a new stream.
    """

    def __init__(
        self,
        session: Session,
        server: str,
        audience: Audience,
        new_backoff: Callable[[], Backoff],
        redact: Redact,
    ) -> None:
        super().__init__()
        self._server = server
        self._audience = audience
        self._redact = redact
        self._shown: Mapping[str, object] = {}
        self._tasks: anyio.abc.TaskGroup | None = None
        self._listeners = [
            Listener(
                session,
                new_backoff(),
                on_change=self._change,
                on_update=audience.updated,
                on_problem=self._note,
            )
            for _ in range(2)
        ]

    async def run(self) -> None:
        """Follow the aim, until this is cancelled."""
        async with anyio.create_task_group() as self._tasks:
            for listener in self._listeners:
                self._tasks.start_soon(listener.run)

    def aim(self, shown: Mapping[str, object], wanted: Set[str]) -> None:
        """Changes are needed of what is shown, in this order, and of what is wanted beside it."""
        of_shown, of_wanted = self._listeners
        if shown is not self._shown:
            self._shown = shown
            of_shown.aim(frozenset(shown))
        # A resource that begins or ceases to be shown changes its listener. Until the other one is open, changes are
        # not announced; then it counts as changed.
        of_wanted.aim(frozenset(uri for uri in wanted if uri not in shown))
        self._tell_news()

    def retry(self, uri: str | None = None) -> None:
        """Ask again for what the server did not agree to: one resource, or all."""
        for listener in self._listeners:
            listener.retry(uri)

    def close(self) -> None:
        """The connection has ended."""
        self._tasks = None
        for listener in self._listeners:
            listener.close()
        self._tell_news()

    def _is_open(self, uri: str) -> bool:
        return self._listeners[0 if uri in self._shown else 1].is_open(uri)

    def _change(self, opened: Set[str], lost: Set[str]) -> None:
        self._audience.watch(lost, Watched.NO)
        self._audience.watch(opened, Watched.YES)
        self._tell_news()
        # In a task of its own: the loop that reads events calls this function, and must not wait for reads.
        if opened and self._tasks is not None:
            self._tasks.start_soon(self._audience.look_again)

    def _note(self, problem: Exception) -> None:
        logger.debug("%s announces no changes of resources: %s", self._server, in_words(problem, self._redact))


def _is_final(problem: Exception) -> bool:
    """Whether a server that rejects a stream for this reason rejects all."""
    return isinstance(problem, MCPError) and problem.code == types.METHOD_NOT_FOUND
