"""The login at one MCP server: the token of each request, its renewal, and what to do when the server rejects it.

A token is renewed before it expires, and by one task at a time: in this process by a task that all requests wait for,
and among processes under the lock of the store. Authorization servers replace the refresh token with each use, so a
second renewal would invalidate the first, and one that is cancelled half-way would lose the login.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from inspect import isawaitable

import httpx2
from mcp.client.auth import OAuthFlowError
from pydantic import ValidationError

from a2c_smcp.computer.config.oauth import CODE, OAuthParameters
from a2c_smcp.computer.config.secrets import Secrets, hide, hide_in_text
from a2c_smcp.computer.mcp.oauth.challenge import Challenge
from a2c_smcp.computer.mcp.oauth.demand import Demand
from a2c_smcp.computer.mcp.oauth.endpoints import Endpoints, Unreachable, Untrusted
from a2c_smcp.computer.mcp.oauth.loopback import LoginDenied, listening
from a2c_smcp.computer.mcp.oauth.store import Login, LoginStore, Place, Stamp, StoreBusy
from a2c_smcp.errors import LoginRefusedError
from a2c_smcp.utils.text import one_line
from a2c_smcp.utils.threads import in_thread

logger = logging.getLogger(__name__)

LOGIN_SECONDS = 300.0
"""For a person to log in at the browser."""
RENEW_SECONDS = 100.0
"""For all requests of a login without a person."""
CLOSE_SECONDS = 5.0
"""For a renewal to finish when its server is stopped."""
EARLY_PAUSE = 5.0
"""Between two attempts to renew a token that is still valid."""
LOOK_SECONDS = 1.0
"""Between two looks at the store while a server waits for a login."""
MAX_STEP_UPS = 3
"""How often further rights are requested without a person before they count as refused."""
SHOWN = 300

_FAILURES = (OAuthFlowError, Untrusted, httpx2.InvalidURL, ValueError, OverflowError)
"""Errors of a login that another attempt would not change. The last two are of an answer that cannot be read."""
OpenUrl = Callable[[str], object]
"""Shows an address to a person; it may be async. The result False means that it cannot be shown."""


class Access:
    """The login at one MCP server. `demand` is set while the server rejects requests, and None otherwise."""

    def __init__(self, url: str, settings: OAuthParameters | None, store: LoginStore, secrets: Secrets) -> None:
        self.url = url
        self.settings = settings or OAuthParameters()
        self.demand: Demand | None = None
        self._store = store
        self._secrets = secrets
        self._place = Place(url, self.settings.client, self.settings.issuer or "")
        self._login: Login | None = None
        self._stamp: Stamp | None = None
        self._is_loaded = False
        self._renewal: asyncio.Task[str | None] | None = None
        self._next_early_renewal = 0.0
        self._changed = asyncio.Event()
        self._step_ups = 0

    @property
    def needs_person(self) -> bool:
        """Whether a person must log in."""
        return self.settings.chosen_flow == CODE

    @property
    def has_login(self) -> bool:
        """Whether there is a login that can be used."""
        return self._access_token is not None

    # -------------------------------------------------------------------------------------------------------- a request

    async def token(self) -> str | None:
        """The token for a request; None if there is none.

        Raises:
            httpx2.TransportError: it must be renewed, and the authorization server does not answer.
        """
        # A look at the file system for each request: the owner may have logged in or out with another process.
        if not self._is_loaded or self._stamp != self._store.stamp(self._place):
            await self._load()
        login = self._login
        if login is None or login.tokens is None:
            return None
        token = login.tokens.access_token
        if not login.is_due or not (login.tokens.refresh_token or not self.needs_person):
            return token
        if login.is_expired:
            return await self._renew(token, Challenge())
        # The token still works. The request must not wait for an authorization server, nor fail with it.
        if time.monotonic() >= self._next_early_renewal:
            self._start_renewal(token, Challenge())
        return token

    async def after(self, used: str | None, response: httpx2.Response) -> str | None:
        """Another token for a request that was rejected with this one; None, and a `demand`, if there is none.

        Raises:
            httpx2.TransportError: the authorization server does not answer.
        """
        challenge = Challenge.of(response)
        if challenge is None:
            return None
        self.demand = None
        if challenge.status == 403:
            return await self._step_up(used, challenge)
        if used is None and self.needs_person:
            self.demand = Demand(challenge, "requires a login")
            return None
        return await self._renew(used, challenge)

    def reject(self, response: httpx2.Response) -> Demand | None:
        """The server rejected a request, also with the newest token: what it demands; None if it is no matter of a
        login."""
        challenge = Challenge.of(response)
        if challenge is None:
            return None
        if self.demand is None:
            self.demand = Demand(challenge, "rejects the login, although it is new", is_refused=True)
        return self.demand

    def accept(self) -> None:
        """The server accepted a request."""
        # A demand for further rights stays: it concerns other requests than this one.
        if self.demand is not None and self.demand.challenge.status == 401:
            self.demand = None

    @property
    def _access_token(self) -> str | None:
        return self._login.tokens.access_token if self._login is not None and self._login.tokens is not None else None

    async def _step_up(self, used: str | None, challenge: Challenge) -> str | None:
        """Obtain the further rights that a server demands; without an end, a server could demand them for ever."""
        wanted = set((challenge.scope or "").split())
        login = self._login
        requested = set((login.requested_scope or "").split()) if login is not None else set[str]()
        if login is None or not wanted or wanted <= requested or self._step_ups >= MAX_STEP_UPS:
            reason = "rejects the request: the login lacks rights that cannot be obtained"
            self.demand = Demand(challenge, reason, is_refused=True)
            return None
        if self.needs_person:
            await self._note(challenge)
            missing = one_line(" ".join(sorted(wanted - requested)), SHOWN)
            self.demand = Demand(challenge, f"requires a login with further rights ({missing})")
            return None
        self._step_ups += 1
        return await self._renew(used, challenge)

    async def _note(self, challenge: Challenge) -> None:
        """Store which rights are demanded: the person may log in with another process, which does not know it."""
        with contextlib.suppress(OSError, StoreBusy):
            async with self._store.locked(self._place):
                await self._load()
                if self._login is not None and self._login.demanded_scope != challenge.scope:
                    await self._keep(self._login.model_copy(update={"demanded_scope": challenge.scope}))

    # --------------------------------------------------------------------------------------------------------- renewing

    async def _renew(self, used: str | None, challenge: Challenge) -> str | None:
        """A token other than the used one; None if a login is needed. All requests wait for one renewal."""
        try:
            return await asyncio.shield(self._start_renewal(used, challenge))
        except (Unreachable, StoreBusy, OSError) as error:
            raise httpx2.ConnectError(self._words(error)) from None

    def _start_renewal(self, used: str | None, challenge: Challenge) -> asyncio.Task[str | None]:
        """The renewal that is running, or a new one."""
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._renewed(used, challenge), name="renew a login")
            self._renewal.add_done_callback(self._renewal_ended)
        return self._renewal

    def _renewal_ended(self, task: asyncio.Task[str | None]) -> None:
        self._renewal = None
        # The exception is retrieved here: the request that waited for it may have been cancelled.
        if not task.cancelled() and (error := task.exception()) is not None:
            self._next_early_renewal = time.monotonic() + EARLY_PAUSE
            logger.debug("a login at %s was not renewed: %s", self._shown_url, self._words(error))

    async def _renewed(self, used: str | None, challenge: Challenge) -> str | None:
        # Imported late: it takes long, and most Computers need no login.
        from a2c_smcp.computer.mcp.oauth.flows import Flow

        async with self._store.locked(self._place):
            await self._load()
            if (found := self._access_token) not in (None, used) and self._login is not None and not self._login.is_due:
                return found  # another process was faster
            login = self._login or self._empty()
            try:
                async with asyncio.timeout(RENEW_SECONDS), Endpoints(self.url) as endpoints:
                    flow = Flow(login, self.settings, endpoints)
                    if not self.needs_person:
                        renewed: Login | None = await flow.log_in(challenge)
                    elif login.tokens is not None and login.tokens.refresh_token:
                        renewed = await flow.refresh()
                        if renewed is None and endpoints.status not in (400, 401, 403):
                            raise Unreachable(f"the authorization server answered HTTP {endpoints.status}")
                    else:
                        renewed = None
            except TimeoutError:
                raise Unreachable(f"the authorization server did not finish within {RENEW_SECONDS:g} s") from None
            except _FAILURES as error:
                reason = f"cannot be logged in to: {self._words(error)}"
                self.demand = Demand(challenge, reason, is_refused=True)
                return None
            if renewed is None:
                # The registration stays, the tokens go: the next start must not try them again.
                has_refresh = login.tokens is not None and login.tokens.refresh_token
                why = "the authorization server rejects the last one" if has_refresh else "the last one has ended"
                if login.tokens is not None:
                    await self._keep(login.model_copy(update={"tokens": None, "expires_at": None}))
                self.demand = Demand(challenge, f"requires a new login: {why}")
                return None
            try:
                await self._keep(renewed)
            except (OSError, StoreBusy) as error:
                # The new token works, and the old one does not: the call must not fail for the sake of the next start.
                logger.warning(
                    "the renewed login at %s cannot be stored (%s): the next start needs a new one",
                    self._shown_url,
                    self._words(error),
                )
            return self._access_token

    # ----------------------------------------------------------------------------------------------- logging in and out

    async def log_in(self, open_url: OpenUrl, patience: float) -> None:
        """Log in anew; `open_url` gets the address where a person does so, within `patience` seconds.

        Raises:
            LoginRefusedError: the login failed, was rejected, or was not completed in time.
        """
        from a2c_smcp.computer.mcp.oauth.flows import Flow  # as in `_renewed`

        challenge = self.demand.challenge if self.demand is not None else None
        try:
            # Locked, although it only reads: a person should not log in for a login that cannot be stored.
            async with self._store.locked(self._place):
                await self._load()
        except (OSError, StoreBusy) as error:
            raise LoginRefusedError(f"no login can be stored: {error}") from None
        login = self._login or self._empty()
        if challenge is None:
            is_step_up = login.tokens is not None and login.demanded_scope is not None
            challenge = Challenge(403, login.demanded_scope) if is_step_up else Challenge()
        is_shown = False

        async def show(url: str) -> None:
            nonlocal is_shown
            is_shown = True
            answer = await in_thread(open_url, url)
            if isawaitable(answer):
                answer = await answer
            if answer is False:  # as `webbrowser.open` answers on a machine without a browser
                raise OAuthFlowError("no browser can be opened: pass a function as open_url that shows the address")

        try:
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(asyncio.timeout(patience if self.needs_person else RENEW_SECONDS))
                endpoints = await stack.enter_async_context(Endpoints(self.url))
                listener = (
                    await stack.enter_async_context(listening(self.settings.redirect_url))
                    if self.needs_person
                    else None
                )
                flow = Flow(login, self.settings, endpoints, listener=listener, show_url=show)
                renewed = await flow.log_in(challenge)
        except TimeoutError:
            if is_shown:
                raise LoginRefusedError(f"the login was not completed within {patience:g} s") from None
            raise LoginRefusedError("the authorization server did not answer in time") from None
        except (*_FAILURES, Unreachable, LoginDenied) as error:
            raise LoginRefusedError(self._words(error)) from None
        except OSError as error:
            where = self.settings.redirect_url or "127.0.0.1"
            raise LoginRefusedError(f"cannot listen at {where} for the browser: {error.strerror or error}") from None
        try:
            async with self._store.locked(self._place):
                await self._keep(renewed)
        except (OSError, StoreBusy) as error:
            raise LoginRefusedError(f"the login cannot be stored: {error}") from None
        self._step_ups = 0
        self.demand = None
        self._changed.set()

    async def log_out(self) -> bool:
        """Revoke and forget the login; whether there was one.

        Raises:
            LoginRefusedError: the stored login cannot be removed.
        """
        try:
            async with self._store.locked(self._place):
                await self._load()
                login = self._login
                was_there = await self._store.delete(self._place)
        except (OSError, StoreBusy) as error:
            raise LoginRefusedError(f"the login cannot be removed: {error}") from None
        if login is not None:
            await self._revoke(login)
        await self._load()
        return was_there

    async def _revoke(self, login: Login) -> None:
        """Tell the authorization server that the tokens are not used any more, if it wants to know."""
        from a2c_smcp.computer.mcp.oauth.flows import Flow  # as in `_renewed`

        # The login is forgotten in any case. A server that cannot be reached must not keep the owner from that.
        try:
            async with asyncio.timeout(RENEW_SECONDS), Endpoints(self.url) as endpoints:
                await Flow(login, self.settings, endpoints).revoke()
        except (*_FAILURES, Unreachable, TimeoutError) as error:
            logger.warning(
                "the login at %s is removed here, but its authorization server did not revoke it (%s)",
                self._shown_url,
                self._words(error),
            )

    # ---------------------------------------------------------------------------------------------------------- waiting

    async def wait_changed(self) -> None:
        """Wait until there is another login than the last one that was used, from this process or another."""
        while not self._changed.is_set() and self._stamp == self._store.stamp(self._place):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._changed.wait()
        self._changed.clear()
        await self._load()

    async def aclose(self) -> None:
        """Wait a little for a renewal, then cancel it."""
        if (renewal := self._renewal) is not None:
            _, late = await asyncio.wait((renewal,), timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()

    # -------------------------------------------------------------------------------------------------------- internals

    @property
    def _shown_url(self) -> str:
        return hide_in_text(self.url, hide)

    def _empty(self) -> Login:
        return Login(url=self._place.url, client=self._place.client, issuer=self._place.issuer)

    async def _load(self) -> None:
        self._stamp = self._store.stamp(self._place)  # before reading: a change during the reading is noticed later
        self._take(await self._store.load(self._place))
        self._is_loaded = True

    async def _keep(self, login: Login) -> None:
        self._take(login)  # before it is written: from here on its secrets are removed from all texts
        await self._store.save(self._place, login)
        self._stamp = self._store.stamp(self._place)

    def _take(self, login: Login | None) -> None:
        before = self._login.secrets if self._login is not None else []
        after = login.secrets if login is not None else []
        for value in before:
            if value not in after:
                self._secrets.discard(value)
        for value in after:
            self._secrets.add(value)
        if before != after:
            self.demand = None
        self._login = login

    def _words(self, error: BaseException) -> str:
        # The text of a validation error quotes the answer, which may have a token. The library puts it into its own.
        cause = error.__cause__ or error.__context__
        if isinstance(error, ValidationError | OverflowError) or isinstance(cause, ValidationError):
            return "the authorization server gave an invalid answer"
        return one_line(self._secrets.redact(str(error) or type(error).__name__, SHOWN))
