"""Serves the owner's API of one Computer, in its event loop.

The Unix socket listens from the start. What serves it is loaded with the first connection: most Computers get none.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import math
import os
import secrets
import socket
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

from a2c_smcp.computer.computer import Computer
from a2c_smcp.console.owner import places
from a2c_smcp.console.owner.call_log import CallLog
from a2c_smcp.console.owner.places import Place
from a2c_smcp.utils.system.sockets import HAS_UNIX_SOCKETS, bind

if TYPE_CHECKING:
    import uvicorn

    from a2c_smcp.console.owner.owner import Owner
    from a2c_smcp.console.web.login_tokens import LoginTokens
    from a2c_smcp.console.web.sessions import Sessions

logger = logging.getLogger("a2c.computer")

LOOPBACK = "127.0.0.1"
STOP_SECONDS = 5.0
MOST_CONNECTIONS = 200


class OwnerServer:
    """The API of a Computer from `open` to `aclose`: on the socket of its owner, and on loopback if `port` is given.

    With a port, `login_url` gives an address for a browser.
    """

    def __init__(
        self,
        computer: Computer,
        office: str | None,
        *,
        port: int | None = None,
        token: str | None = None,
        on_login_url: Callable[[str], None] | None = None,
        console_url: str | None = None,
    ) -> None:
        self.computer = computer
        self.token = token or secrets.token_urlsafe(32)
        """What requests to the port need."""
        self._tokens: LoginTokens | None = None
        self._sessions: Sessions | None = None
        """The logins of browsers, with a port."""
        self._on_login_url = on_login_url
        """Called with an address for a login, and with another one after each login."""
        self._console_url = console_url
        """The console of the Server, if it belongs to the owner as well."""
        self.url: str | None = None
        """The address on loopback."""
        self._office = office
        self._port = port
        self._log = CallLog()
        self._owner: Owner | None = None
        self._base: Path | None = None
        self._socket: socket.socket | None = None
        self._loading: asyncio.Task[None] | None = None
        self._serving: dict[asyncio.Task[None], uvicorn.Server] = {}
        self._unlisten: list[Callable[[], None]] = []

    async def open(self) -> None:
        """Begin to serve.

        Raises:
            OSError: the port cannot be used.
        """
        self._unlisten.append(self.computer.ended_calls.add(self._log.add))
        try:
            await self._open()
        except BaseException:
            await self.aclose()
            raise

    def login_url(self) -> str | None:
        """An address with which a browser logs in once; None without a port. Its token is in the part of the address
        that browsers send to nobody."""
        from a2c_smcp.console.owner.doors import OWNER

        if self._tokens is None:
            return None
        # It does not expire: whoever gets it next may come after days, and then gets no other one.
        return f"{self.url}/console/login#token={self._tokens.mint(OWNER, math.inf)}"

    def log_out(self) -> None:
        """End the logins of all browsers."""
        if self._sessions is not None:
            self._sessions.close_all()

    def _renew(self) -> None:
        url = self.login_url()
        if self._on_login_url is not None and url is not None:
            self._on_login_url(url)

    async def _open(self) -> None:
        listener: socket.socket | None = None
        if self._port is not None or not HAS_UNIX_SOCKETS:
            listener = bind(LOOPBACK, self._port or 0)  # a port that is in use is an error: its owner chose it
            listener.listen(places.BACKLOG)
            self.url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        try:
            self._base = places.free_base(self.computer.name, self._office)
            place = Place(self.computer.name, self._office, os.getpid())
            if HAS_UNIX_SOCKETS:
                self._socket, path = places.listen(self._base)
                place = Place(self.computer.name, self._office, os.getpid(), path)
                asyncio.get_running_loop().add_reader(self._socket.fileno(), self._first)
            elif listener is not None:
                port = listener.getsockname()[1]
                place = Place(self.computer.name, self._office, os.getpid(), None, LOOPBACK, port, self.token)
            places.enter(self._base, place)
        except OSError as error:
            # The Computer works without it, for example where no folder can be written.
            reason = f"{error.strerror or error} ({error.filename})" if error.filename else error
            logger.warning("other programs of the owner cannot reach this Computer: %s", reason)
        if listener is not None:
            await self._load()
            self._serve(listener, with_token=True)
            self._renew()

    def _first(self) -> None:
        """The first connection to the socket waits."""
        listener, self._socket = self._socket, None
        if listener is None:
            return
        asyncio.get_running_loop().remove_reader(listener.fileno())

        async def begin() -> None:
            try:
                await self._load()
                self._serve(listener, with_token=False)
            except Exception:  # the edge of the API: the Computer works without it
                logger.exception("the owner's API cannot be served")
                listener.close()

        self._loading = asyncio.create_task(begin(), name="owner's API")

    async def _load(self) -> None:
        if self._owner is None:
            # In a thread: the imports take longer than a call may wait for the event loop.
            await asyncio.to_thread(importlib.import_module, "uvicorn")
            await asyncio.to_thread(importlib.import_module, "a2c_smcp.console.owner.owner")
            from a2c_smcp.console.owner.owner import Owner

            if self._owner is None:
                self._owner = Owner(self.computer, self._log)

    def _serve(self, listener: socket.socket, *, with_token: bool) -> None:
        import uvicorn

        from a2c_smcp.console.owner.doors import SocketDoor, TokenDoor
        from a2c_smcp.console.owner.pages import PAGES
        from a2c_smcp.console.web.access import Access
        from a2c_smcp.console.web.login_tokens import LoginTokens
        from a2c_smcp.console.web.sessions import Sessions

        if self._owner is None:
            raise RuntimeError("not loaded")
        if with_token:
            self._tokens, self._sessions = LoginTokens(on_used=self._renew), Sessions()
            access = Access("owner", TokenDoor(self.token), self._sessions, self._tokens)
        else:
            access = Access("owner", SocketDoor())
        config = uvicorn.Config(
            self._owner.site(access, PAGES if with_token else (), self._console_url),
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=int(STOP_SECONDS),
        )
        server = _quiet(config)
        task = asyncio.create_task(server.serve(sockets=[listener]), name="owner's API")
        self._serving[task] = server

    async def aclose(self) -> None:
        """Stop to serve."""
        for end in self._unlisten:
            end()
        self._unlisten.clear()
        if self._base is not None:
            places.leave(self._base)
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None
        if self._loading is not None:
            await asyncio.wait((self._loading,))
        if self._owner is not None:
            self._owner.close()
        for server in self._serving.values():
            server.should_exit = True
        if self._serving:
            _, late = await asyncio.wait(self._serving, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)
            self._serving.clear()


def _quiet(config: uvicorn.Config) -> uvicorn.Server:
    """A server of uvicorn that leaves the signals to the program."""
    import uvicorn

    class Quiet(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    return Quiet(config)
