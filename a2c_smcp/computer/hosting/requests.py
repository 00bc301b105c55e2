"""Subscriptions as before MCP 2026-07-28: a request to subscribe to each resource, and one to unsubscribe."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence, Set

import anyio
import anyio.abc
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.hosting.subscriptions import WATCH_TIMEOUT, Audience, Subscriptions, Watched, refusal
from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.utils.backoff import Backoff

logger = logging.getLogger(__name__)

WATCHERS = 8
"""Requests at a time: a folder with thousands of documents must not delay the calls that go over the same pipe."""


class Requests(Subscriptions):
    """Compares what is needed with what the server agreed to, and sends requests where they differ.

    Each resource has at most one request at a time. What is needed may change while the server answers: a request to
    unsubscribe must not overtake the one to subscribe.
    """

    def __init__(self, session: Session, audience: Audience, backoff: Backoff, redact: Redact) -> None:
        super().__init__()
        self._session = session
        self._audience = audience
        self._backoff = backoff
        self._redact = redact
        self._shown: Mapping[str, object] = {}
        self._wanted: Set[str] = frozenset()
        self._agreed: set[str] = set()
        """What the server was asked to announce, and agreed to."""
        self._open: set[str] = set()
        """The part of it that the audience knows."""
        self._failed: dict[str, Exception] = {}
        self._due: OrderedDict[str, None] = OrderedDict()
        """The resources that need a request."""
        self._busy: set[str] = set()
        """The resources with a request under way."""
        self._untold: dict[str, None] = {}
        """The resources of which the audience does not know the outcome."""
        self._has_work = asyncio.Event()
        self._workers = 0
        self._is_retrying = False

    async def run(self) -> None:
        """Follow the aim, until this is cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                await self._has_work.wait()
                self._has_work.clear()
                while self._workers < min(WATCHERS, len(self._due)):
                    self._workers += 1
                    tasks.start_soon(self._work, tasks)

    def aim(self, shown: Mapping[str, object], wanted: Set[str]) -> None:
        """Changes are needed of what is shown, in this order, and of what is wanted beside it."""
        before, self._shown = self._shown, shown
        wanted_before, self._wanted = self._wanted, wanted
        for uri in wanted_before - wanted:
            if uri not in shown:
                self._release(uri)
        listed: list[str] = []
        if shown is not before:
            # No request: a resource that is not listed any more is gone, and its subscription with it.
            for uri in [uri for uri in before if uri not in shown and uri not in wanted]:
                self._forget(uri)
            listed = [uri for uri in shown if uri not in before]
        # A resource that comes into the list is a new one, also if an Agent watches its address already: the server may
        # have dropped the subscription with the old one.
        self._agreed.difference_update(listed)
        further = [uri for uri in wanted - wanted_before if uri not in self._open]
        self._ask(list(dict.fromkeys((*listed, *further))))
        for uri in further:  # a request of an Agent waits for these
            self._due.move_to_end(uri, last=False)

    def retry(self, uri: str | None = None) -> None:
        """Ask again for what the server did not agree to: one resource, or all."""
        self._ask([each for each in self._failed if uri in (None, each)])

    def close(self) -> None:
        """The connection has ended."""
        self._shown, self._wanted = {}, frozenset()
        self._failed.clear()
        self._tell_news()

    def _is_open(self, uri: str) -> bool:
        if uri in self._failed:
            raise self._failed[uri]
        if not self._is_needed(uri):
            raise refusal()
        return uri in self._open

    def _is_needed(self, uri: str) -> bool:
        return uri in self._shown or uri in self._wanted

    # --------------------------------------------------------------------------------------------------------- requests

    def _ask(self, uris: Sequence[str]) -> None:
        """Subscribe to these."""
        for uri in uris:
            self._failed.pop(uri, None)
            self._open.discard(uri)
            self._due[uri] = None
        self._audience.watch(uris, Watched.SOON)
        self._has_work.set()

    def _release(self, uri: str) -> None:
        """Unsubscribe, if there is a subscription, or a request for one."""
        self._drop(uri)
        if uri in self._agreed or uri in self._busy:
            self._due[uri] = None
            self._has_work.set()

    def _forget(self, uri: str) -> None:
        """There is no subscription any more."""
        self._drop(uri)
        self._agreed.discard(uri)

    def _drop(self, uri: str) -> None:
        self._open.discard(uri)
        self._failed.pop(uri, None)
        self._due.pop(uri, None)
        self._untold.pop(uri, None)
        self._tell_news()

    async def _work(self, tasks: anyio.abc.TaskGroup) -> None:
        try:
            while (uri := next((each for each in self._due if each not in self._busy), None)) is not None:
                del self._due[uri]
                self._busy.add(uri)
                try:
                    await self._settle(uri, tasks)
                finally:
                    self._busy.discard(uri)
                # It may have become needed, or not needed, while the server answered.
                if self._is_needed(uri) != (uri in self._agreed) and uri not in self._failed:
                    self._due[uri] = None
        finally:
            self._workers -= 1
        # All at once: one by one, each request meanwhile would read a whole catalogue for a few documents.
        if not self._workers:
            self._tell(list(self._untold), tasks)

    async def _settle(self, uri: str, tasks: anyio.abc.TaskGroup) -> None:
        """Send the request that a resource needs."""
        on = self._is_needed(uri)
        if on != (uri in self._agreed):
            try:
                with anyio.fail_after(WATCH_TIMEOUT):
                    await self._session.watch(uri, on)
            except (MCPError, TimeoutError) as error:
                logger.debug("%s: %s", uri, in_words(error, self._redact))
                # A server that cannot unsubscribe announces changes that nobody needs, which does no harm.
                self._agreed.discard(uri)
                if on and self._is_needed(uri):
                    self._failed[uri] = error
            else:
                (self._agreed.add if on else self._agreed.discard)(uri)
        if on and self._is_needed(uri) and uri not in self._open:
            self._untold[uri] = None
            if uri in self._wanted:  # a request of an Agent may wait for it
                self._tell([uri], tasks)

    def _tell(self, uris: Iterable[str], tasks: anyio.abc.TaskGroup) -> None:
        """Tell the audience of the outcome."""
        for uri in uris:
            self._untold.pop(uri, None)
        opened = [uri for uri in uris if uri in self._agreed]
        failed = [uri for uri in uris if uri in self._failed]
        self._open.update(opened)
        self._audience.watch(failed, Watched.NO)
        self._audience.watch(opened, Watched.YES)
        self._tell_news()
        if opened:
            tasks.start_soon(self._audience.look_again)
        # What is shown is asked for again with the next list. What an Agent watches need not be in any list: a server
        # that has just restarted may not know it yet.
        if not self._is_retrying and any(uri in self._wanted for uri in failed):
            self._is_retrying = True
            tasks.start_soon(self._retry_later)

    async def _retry_later(self) -> None:
        await anyio.sleep(self._backoff.next())
        self._is_retrying = False
        self.retry()
