"""The offices and views that hosts use: made with the first request, forgotten when no host has used them for a while.

The names of tools outlive a view: a host that returns finds them unchanged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeAlias

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from a2c_smcp.errors import RateLimitedError
from a2c_smcp.gateway.head import Scope
from a2c_smcp.gateway.naming import NameBook
from a2c_smcp.gateway.observing import Observe
from a2c_smcp.gateway.office import Office
from a2c_smcp.gateway.profile import MODES, Profile
from a2c_smcp.gateway.seat import Connect
from a2c_smcp.gateway.settings import GatewaySettings
from a2c_smcp.gateway.view import View
from a2c_smcp.gateway.visits import Receive, Send

logger = logging.getLogger(__name__)

MOST_NAMES = 100_000
"""Names of tools and prompts that are kept for views that are not used."""
MOST_BOOKS = 1_000
"""Views that are not used and whose names are kept. A host can make any number of profiles with its query."""

Key: TypeAlias = tuple[str, Profile]
"""An office, and a profile."""


class ServedView:
    """A view with MCP's session manager, whose task this owns."""

    def __init__(self, view: View, settings: GatewaySettings, maker: str) -> None:
        self.view = view
        self.maker = maker
        """The principal who used it first."""
        self._manager = StreamableHTTPSessionManager(
            view.server,
            session_idle_timeout=settings.idle_seconds,
            max_request_body_size=settings.body_bytes,
            max_sessions=settings.sessions,
        )
        self._requests = 0
        self.used_at = time.monotonic()
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        # The manager's task group belongs to the task that entered it.
        self._task = asyncio.create_task(self._run(), name=f"gateway of {view.office.id}")

    @property
    def is_idle(self) -> bool:
        """Whether no host uses it now."""
        return not self._requests and not len(self.view.news.sessions)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. The seat is kept until it ends."""
        self._requests += 1
        try:
            await self._ready.wait()
            async with self.view.office.seat.used():
                await self._manager.handle_request(scope, receive, send)
        finally:
            self._requests -= 1
            self.used_at = time.monotonic()

    async def aclose(self) -> None:
        """End all sessions. Hosts that listen are told that the end is deliberate."""
        self.view.close()
        self._stop.set()
        with contextlib.suppress(Exception):
            await self._task

    async def _run(self) -> None:
        async with self._manager.run():
            self._ready.set()
            await self._stop.wait()


class Views:
    """All of them. `connect` makes what takes the seat of an office; `observe` counts the requests of hosts."""

    def __init__(
        self, connect: Callable[[str], Connect], settings: GatewaySettings, observe: Observe | None = None
    ) -> None:
        self._connect = connect
        self._observe = observe
        self._settings = settings
        self._common = {
            replace(profile, mode=mode) for profile in (Profile(), *settings.profiles.values()) for mode in MODES
        }
        """The profiles of the operator, and the whole office, in each mode."""
        self._offices: dict[str, Office] = {}
        self._views: dict[Key, ServedView] = {}
        self._names: OrderedDict[Key, NameBook] = OrderedDict()
        """Of views that were forgotten, the latest last."""
        self._sweeping: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._views)

    @property
    def offices(self) -> list[str]:
        """The offices that are known."""
        return list(self._offices)

    def sessions_of(self, principal: str) -> int:
        """The sessions of a principal in all offices."""
        return sum(served.view.news.sessions.count(principal) for served in self._views.values())

    @property
    def sessions(self) -> int:
        """The sessions of all principals."""
        return sum(len(served.view.news.sessions) for served in self._views.values())

    def office(self, office_id: str) -> Office:
        """An office, which is forgotten if no host uses it.

        Raises:
            RateLimitedError: too many are used at the same time.
        """
        office = self._offices.get(office_id)
        if office is None:
            if len(self._offices) >= self._settings.views:
                self._forget_an_office()
            office = self._offices[office_id] = Office(
                office_id, self._connect(office_id), linger=self._settings.linger
            )
            if self._sweeping is None or self._sweeping.done():
                self._sweeping = asyncio.create_task(self._sweep(), name="gateway: forget what is not used")
        return office

    def get(self, office_id: str, profile: Profile, principal: str) -> ServedView:
        """The view of an office, for a principal who needs it.

        Raises:
            RateLimitedError: too many are used at the same time.
        """
        key = office_id, profile
        served = self._views.get(key)
        if served is None:
            self._make_room(profile, principal)
            view = View(self.office(office_id), profile, self._names.pop(key, None), self._observe)
            served = self._views[key] = ServedView(view, self._settings, principal)
        return served

    def _make_room(self, profile: Profile, maker: str) -> None:
        # Only what hosts make up is limited, for each user: one must not keep the others from what they use.
        theirs = [key for key, each in self._views.items() if each.maker == maker and key[1] not in self._common]
        if profile not in self._common and len(theirs) >= self._settings.views_of_a_principal:
            problem = f"{maker!r} uses {len(theirs)} combinations of options at the same time, which is the limit"
            self._forget_one(theirs, problem)
        if len(self._views) >= self._settings.views:
            problem = f"{len(self._views)} offices and profiles are in use, which is the limit of this Server"
            self._forget_one(list(self._views), problem)

    def _forget_one(self, keys: list[Key], problem: str) -> None:
        idle = [key for key in keys if self._views[key].is_idle]
        if not idle:
            raise RateLimitedError(problem)
        self._forget(min(idle, key=lambda key: self._views[key].used_at))

    def _forget(self, key: Key) -> None:
        served = self._views.pop(key)
        self._keep_names(key, served.view.names)
        self._close(served.aclose(), "gateway: forget a view")

    def _keep_names(self, key: Key, names: NameBook) -> None:
        if not len(names):
            return
        self._names[key] = names
        while len(self._names) > MOST_BOOKS or sum(map(len, self._names.values())) > MOST_NAMES:
            self._names.popitem(last=False)

    def _close(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _forget_an_office(self) -> None:
        """Make room for another office: its hosts come and go, and one user may have a key for any number of them."""
        in_use = {office_id for office_id, _ in self._views}
        idle = (each for each, office in self._offices.items() if each not in in_use and not office.seat.is_used)
        office_id = next(idle, None)  # the oldest
        if office_id is None:
            raise RateLimitedError(f"{len(self._offices)} offices are in use, which is the limit of this Server")
        self._close(self._offices.pop(office_id).aclose(), "gateway: forget an office")

    async def _sweep(self) -> None:
        """Forget what no host uses, as long as there is something."""
        keep = self._settings.keep_seconds
        while self._views or self._offices:
            await asyncio.sleep(keep / 2)
            now = time.monotonic()
            for key, served in list(self._views.items()):
                if served.is_idle and now - served.used_at >= keep:
                    self._forget(key)
            in_use = {office_id for office_id, _ in self._views}
            for office_id, office in list(self._offices.items()):
                if office_id not in in_use and office.seat.is_released:
                    del self._offices[office_id]
                    # Not awaited: a host may begin to use one of the next offices meanwhile.
                    self._close(office.aclose(), "gateway: forget an office")

    async def aclose(self) -> None:
        """End all sessions, and release all seats."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        await asyncio.gather(*(served.aclose() for served in self._views.values()), *self._closing)
        await asyncio.gather(*(office.aclose() for office in self._offices.values()))
