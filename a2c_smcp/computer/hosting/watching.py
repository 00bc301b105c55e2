"""The resources of one connected MCP server: listed, listed again when the list changes, and watched for updates.

The layer above, the `Audience`, decides which resources are shown and when their contents are read.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable

import anyio
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.hosting.notes import Notes
from a2c_smcp.computer.hosting.requests import Requests
from a2c_smcp.computer.hosting.streams import Streams
from a2c_smcp.computer.hosting.subscriptions import Audience, Subscriptions, refusal
from a2c_smcp.computer.hosting.templates import Templates
from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.listing import Listing, Problems
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.utils.backoff import Backoff

logger = logging.getLogger(__name__)

LIST_TIMEOUT = 30.0
"""Seconds after which a page of the list has failed."""
AT_ONCE = 500
"""Resources of a list that are sorted before other work gets its turn."""


class ResourceWatch:
    """The list of one server's resources, and the subscriptions: to windows and documents in it, and to what is wanted
    beside them."""

    def __init__(self, server: str, session: Session, policy: Policy, redact: Redact) -> None:
        self.server = server
        self.session = session
        self._policy = policy
        self._redact = redact
        capabilities = session.server_capabilities
        resources = capabilities.resources if capabilities is not None else None
        self.has_resources = resources is not None
        self.announces_updates = resources is not None and bool(resources.subscribe)
        """Whether the server offers subscriptions."""
        self.templates = Templates(
            session,
            policy.list_timeout,
            Notes(server, redact),
            is_offered=self.has_resources,
            is_told=resources is not None and bool(resources.list_changed),
        )
        self.notes = Notes(server, redact)
        """What is wrong with the list of resources."""
        self.problem: str | None = None
        """Why the resources cannot be listed."""
        self._stale = asyncio.Event()
        self._listed = asyncio.Event()
        self._current = asyncio.Event()
        """Set while the list contains every change that the server announced, or cannot be read."""
        self._running = asyncio.Event()
        self._shown: dict[str, None] = {}
        """The windows, documents and skills of the newest list."""
        self._wanted: frozenset[str] = frozenset()
        """The resources whose changes are wanted beside those."""
        self._audience: Audience | None = None
        self._subscriptions: Subscriptions | None = None

    def outdate(self) -> None:
        """The lists of resources and templates may have changed."""
        # MCP has one notification for both.
        if self.templates.outdate() and self._audience is not None:
            self._audience.templates_changed()
        self._current.clear()
        self._stale.set()

    def want_again(self, uris: Iterable[str]) -> None:
        """These were wanted of an earlier connection to the server. Called before `run`."""
        self._wanted |= frozenset(uris)

    async def run(self, audience: Audience) -> None:
        """List, and list again when the server announces a change, as long as the connection lives."""
        self._audience = audience
        if not self.has_resources:
            self._listed.set()
            self._current.set()
            return
        backoff = self._backoff()
        if self.session.is_modern:
            subscriptions = Streams(self.session, self.server, audience, self._backoff, self._redact)
        else:
            subscriptions = Requests(self.session, audience, self._backoff(), self._redact)
        self._subscriptions = subscriptions
        # What was wanted of an earlier connection. Not only after the first list, which may fail.
        self._aim()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(subscriptions.run)
            self._running.set()
            self._stale.set()
            while True:
                await self._stale.wait()
                self._stale.clear()
                is_listed = await self._list(audience)
                if not self._stale.is_set():  # no change was announced meanwhile
                    self._current.set()
                if is_listed:
                    backoff.reset()
                else:
                    self._stale.set()
                # Also after a failure: requests wait for this once, at the start. A server that cannot list its
                # resources must not delay every request until its list works.
                self._listed.set()
                await anyio.sleep(backoff.next())

    async def wait_listed(self) -> None:
        """Wait until the server has listed its resources for the first time, or failed to."""
        await self._listed.wait()

    async def wait_current(self) -> None:
        """Wait until the list has been read after the last change that the server announced, or could not be read."""
        await self._current.wait()

    async def list_again(self) -> None:
        """Read the list again, unless the server announces its changes."""
        if not self.announces_updates and self.has_resources and self._audience is not None:
            await self._list(self._audience)

    def close(self) -> None:
        """The connection has ended: nothing more is listed, and nothing more announced."""
        self._listed.set()
        self._current.set()
        self._running.set()
        subscriptions, self._subscriptions = self._subscriptions, None
        if subscriptions is not None:
            subscriptions.close()

    async def _list(self, audience: Audience) -> bool:
        """Read the list; whether that worked."""
        listing, problems = Listing(), Problems("resource")
        try:
            number = 0
            async with contextlib.aclosing(self.session.resources(LIST_TIMEOUT, problems)) as resources:
                async for resource in resources:
                    listing.add(resource)
                    # A list may hold hundreds of thousands of resources. Calls to other servers must not wait until the
                    # addresses of all of them are parsed.
                    number += 1
                    if number % AT_ONCE == 0:
                        await asyncio.sleep(0)
        except (MCPError, TimeoutError) as error:  # if the connection has ended, its owner finds out
            problem = in_words(error, self._redact)
            if problem != self.problem:
                logger.warning("the resources of %s cannot be listed: %s", self.server, problem)
            self.problem = problem
            return False
        self.problem = None
        self.notes.replace(problems.notes)
        audience.take(listing)
        self._watch(listing)
        return True

    # --------------------------------------------------------------------------------------------------------- watching

    async def want(self, uri: str) -> None:
        """Have the server announce the changes of a resource, shown or not, and wait until it has agreed.

        Raises:
            MCPError, TimeoutError, SubscriptionLost: the server does not agree, `unwant` was called meanwhile, or the
                connection has ended.
        """
        self._wanted |= {uri}
        await self._running.wait()
        if self._subscriptions is None:
            raise refusal()
        self._aim()
        self._subscriptions.retry(uri)
        await self._subscriptions.agree(uri)

    def unwant(self, uri: str) -> None:
        """Nobody needs the changes of a resource any more, unless it is shown."""
        self._wanted -= {uri}
        self._aim()

    def _watch(self, listing: Listing) -> None:
        """Have the server announce the changes of the windows, documents and skills in its list."""
        if self._subscriptions is None:
            return
        if self.announces_updates:
            shown = dict.fromkeys((*listing.windows, *listing.documents, *listing.skills))
            if shown != self._shown:
                self._shown = shown
            self._aim()
        self._subscriptions.retry()

    def _aim(self) -> None:
        if self._subscriptions is not None:
            self._subscriptions.aim(self._shown, self._wanted)

    def _backoff(self) -> Backoff:
        return Backoff(self._policy.list_pause, self._policy.longest_delay)
