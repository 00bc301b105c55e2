"""The resources that Agents watch: who watches what, and the notices of changes.

A watch belongs to an Agent in an office, and ends with it. It outlives the connection to its MCP server: after a
restart the subscription is opened again, and the Agent gets a notice, because the resource may have changed meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.errors import RateLimitedError

logger = logging.getLogger(__name__)

OF_AN_AGENT = 256
"""Resources that one Agent may watch."""
OF_A_COMPUTER = 1024
"""Resources that all Agents together may watch."""
PAUSE = 0.1
"""Seconds between two notices of one resource."""
AT_ONCE = 5
"""Notices in each pause. All notices of a Computer count against its rate limit at the Server, so the updates of many
resources take turns."""
DEPTH = 16
"""Levels of an address above an updated resource that are compared with the watched ones."""

Place: TypeAlias = tuple[str, str]
"""A server, and the address of a resource there."""


_AGREED = object()
"""Holds a watch to which the server has agreed."""


@dataclass(eq=False, slots=True)
class WatchRequest:
    """A request of an Agent to watch a resource, while it is handled."""

    caller: Caller
    uri: str
    server: str | None
    """The server, once it is known."""
    is_over: bool = False
    """Whether the Agent left, or ended the watch, while the request was handled."""
    is_agreed: bool = False
    """Whether the server announces the changes."""


@dataclass(slots=True)
class _Watch:
    holders: dict[Caller, set[object]] = field(default_factory=dict[Caller, set[object]])
    """By Agent: the requests for the watch that are handled, and the agreement of the server. An Agent may send the
    same request twice at a time; if one fails, the other one counts."""
    was_open: bool = False
    """Whether the server has announced changes before. If it does so again, there was a gap."""


class Watches:
    """`send(uri, server)` sends a notice; it returns False, and sends nothing, if there is no office."""

    def __init__(self, send: Callable[[str, str], Awaitable[bool]]) -> None:
        self._send = send
        self._watches: dict[Place, _Watch] = {}
        self._counts: Counter[Caller] = Counter()
        self._requests: set[WatchRequest] = set()
        """The requests that are handled."""
        self._due: dict[Place, None] = {}
        """The resources that changed since their last notice, in order."""
        self._worker: asyncio.Task[None] | None = None

    # ----------------------------------------------------------------------------------------------- beginning, ending

    # A request takes time: the server has to be found, and to agree. Meanwhile the Agent may leave, or end the watch. A
    # watch that began afterwards would never end.

    def request(self, caller: Caller, uri: str, server: str | None) -> WatchRequest:
        """An Agent requests to watch a resource. `settle` ends the request."""
        request = WatchRequest(caller, uri, server)
        self._requests.add(request)
        return request

    def begin(self, request: WatchRequest, server: str) -> None:
        """The server is known: the Agent watches the resource, for as long as the request is handled.

        Raises:
            RateLimitedError: it watches too many, or all Agents together do.
        """
        caller, place = request.caller, (server, request.uri)
        request.server = server
        if request.is_over:
            return
        watch = self._watches.get(place)
        if watch is None or caller not in watch.holders:
            if self._counts[caller] >= OF_AN_AGENT or self._counts.total() >= OF_A_COMPUTER:
                problem = f"{self._counts[caller]} resources are watched, and no more are possible"
                raise RateLimitedError(f"{problem}; send `watch: false` for one that is not needed")
            self._counts[caller] += 1
        self._watches.setdefault(place, _Watch()).holders.setdefault(caller, set()).add(request)

    def settle(self, request: WatchRequest) -> list[Place]:
        """The request has its answer. The watch goes on if the server agreed. Returns what nobody watches now."""
        self._requests.discard(request)
        place = (request.server or "", request.uri)
        watch = self._watches.get(place)
        holders = watch.holders.get(request.caller, set()) if watch is not None else set[object]()
        if request not in holders:
            return []
        holders.remove(request)
        if request.is_agreed:
            holders.add(_AGREED)
        return [] if holders else self._end([request.caller], [place])

    def end(self, caller: Caller, uri: str, server: str | None = None) -> list[Place]:
        """An Agent does not watch a resource any more, of one server or of any; what nobody watches now."""
        for request in self._requests:
            if request.caller == caller and request.uri == uri and (server is None or request.server in (None, server)):
                request.is_over = True
        return self._end([caller], [place for place in self._watches if place[1] == uri and server in (None, place[0])])

    def end_all(self, office_id: str, agent: str | None) -> list[Place]:
        """The Agents of an office, or one of them, watch nothing any more; what nobody watches now."""

        def is_meant(caller: Caller) -> bool:
            return caller.office_id == office_id and agent in (None, caller.agent)

        for request in self._requests:
            if is_meant(request.caller):
                request.is_over = True
        return self._end(list(filter(is_meant, self._counts)), list(self._watches))

    def of(self, server: str) -> list[str]:
        """What is watched of a server."""
        return [uri for each, uri in self._watches if each == server]

    async def aclose(self) -> None:
        """Stop sending notices."""
        if self._worker is not None and not self._worker.done():
            self._worker.cancel()
            await asyncio.wait((self._worker,))

    def _end(self, callers: list[Caller], places: list[Place]) -> list[Place]:
        ended: list[Place] = []
        for place in places:
            watch = self._watches[place]
            for caller in callers:
                if watch.holders.pop(caller, None) is not None:
                    self._counts[caller] -= 1
            if not watch.holders:
                del self._watches[place]
                self._due.pop(place, None)
                ended.append(place)
        self._counts += Counter()  # drops the Agents that watch nothing
        return ended

    # ---------------------------------------------------------------------------------------------------------- changes

    def opened(self, server: str, uris: Iterable[str]) -> None:
        """A server announces the changes of these resources from now on."""
        if not self._watches:
            return
        for uri in uris:
            watch = self._watches.get((server, uri))
            if watch is None:
                continue
            if watch.was_open:  # there was a gap, in which changes were not announced
                self._announce((server, uri))
            watch.was_open = True

    def updated(self, server: str, uri: str) -> None:
        """A server says that a resource changed."""
        if not self._watches:
            return
        # MCP allows a server to name a part of the resource that was asked for. The notice names the resource that the
        # Agent watches: this bounds the notices by the number of watches, whatever a server makes up.
        for _ in range(DEPTH):
            if (server, uri) in self._watches:
                self._announce((server, uri))
                return
            uri = uri.rpartition("/")[0]
            if not uri:
                return

    def _announce(self, place: Place) -> None:
        self._due[place] = None
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work(), name="announce resources")

    async def _work(self) -> None:
        while self._due:
            for server, uri in list(self._due)[:AT_ONCE]:
                # Removed before sending: a change during the sending may come too late for the notice, and needs
                # another.
                self._due.pop((server, uri), None)
                try:
                    # Without an office there is no Agent: the watch has ended, or ends in a moment.
                    await self._send(uri, server)
                except Exception as error:  # the connection broke just now
                    logger.debug("announcing a change of %s failed: %s", uri, error)
            await asyncio.sleep(PAUSE)
