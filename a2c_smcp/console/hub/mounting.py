"""The console inside a Server: `mount` is called with the first request for it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Protocol

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from a2c_smcp.console.hub.api import ServerAPI
from a2c_smcp.console.hub.calls import CallBook
from a2c_smcp.console.hub.door import Keys, PrintedTokens, ServerDoor
from a2c_smcp.console.hub.members import MemberSource
from a2c_smcp.console.hub.offers import OfficeRooms, Siblings
from a2c_smcp.console.hub.office_api import office_operations
from a2c_smcp.console.hub.office_views import OfficeViews
from a2c_smcp.console.hub.owner_page import owner_page
from a2c_smcp.console.hub.pages import ServerPages
from a2c_smcp.console.hub.rates import Numbers, RateSource
from a2c_smcp.console.hub.recording import KEEP_SECONDS
from a2c_smcp.console.hub.trials import Trials
from a2c_smcp.console.web.access import Access
from a2c_smcp.console.web.kept_sessions import SessionFile
from a2c_smcp.console.web.operations import Kind
from a2c_smcp.console.web.problems import problem
from a2c_smcp.console.web.requests import read_body
from a2c_smcp.console.web.sessions import Sessions
from a2c_smcp.console.web.site import Site
from a2c_smcp.console.web.streams import LINGER_SECONDS, Feed
from a2c_smcp.errors import NotFoundError, SMCPError
from a2c_smcp.gateway.body import replaying
from a2c_smcp.gateway.nodes import FORWARDED
from a2c_smcp.server.app import GATEWAY
from a2c_smcp.server.mounting import OtherNodes
from a2c_smcp.server.one_time import ComputerPage, OneTimeToken

logger = logging.getLogger(__name__)

TITLE = "Server"


class ServerHost(Keys, Protocol):
    """What the Server offers."""

    siblings: Siblings
    other_nodes: OtherNodes | None

    def has_sibling(self, module: str, /) -> bool:
        """Whether the Server has another application."""
        ...


def mount(
    host: ServerHost,
    public_url: str | None = None,
    sessions_file: Path | None = None,
    one_time: OneTimeToken | None = None,
    computer_page: ComputerPage | None = None,
    linger_seconds: float = LINGER_SECONDS,
) -> Console:
    """The console of a Server. Whoever has the `one_time` token may log in once, and gets from there to the
    `computer_page`. `linger_seconds` is how long it goes on to watch after the last reader has left."""
    return Console(host, public_url, sessions_file, one_time, computer_page, linger_seconds)


class Console:
    """The pages and the API of a Server."""

    def __init__(
        self,
        host: ServerHost,
        public_url: str | None,
        sessions_file: Path | None,
        one_time: OneTimeToken | None,
        computer_page: ComputerPage | None,
        linger_seconds: float,
    ) -> None:
        administration = host.administration
        has_gateway = host.has_sibling(GATEWAY)
        door = ServerDoor(host, has_token=one_time is not None)
        tokens = PrintedTokens(one_time) if one_time is not None else None
        # The nodes of a cluster would overwrite each other's sessions.
        is_alone = host.other_nodes is None
        keeper = SessionFile(sessions_file) if sessions_file is not None and is_alone else None
        self._nodes = host.other_nodes
        node = self._nodes.own if self._nodes is not None else None
        self._sessions = Sessions(keeper=keeper, prefix=f"{node}." if node is not None else "")
        self._sessions.restore(door.restore)
        numbers = Numbers(administration, node, has_gateway=has_gateway)
        keep_seconds = min(KEEP_SECONDS, 2 * linger_seconds)
        members, rates = MemberSource(administration), RateSource(administration, numbers, keep_seconds)
        self._calls, self._rates = CallBook(administration, keep_seconds), rates
        sources = {"rates": rates, "members": members, "calls": self._calls}
        self._feed = Feed(sources, linger_seconds=linger_seconds)
        for source in (members, rates, self._calls):
            source.feed = self._feed
        rooms = OfficeRooms(host.siblings)
        api = ServerAPI(administration, self._feed, numbers, rates, self._calls, rooms)
        self._views = OfficeViews(rooms)
        operations = (*api.operations, *office_operations(self._views, Trials(rooms)))
        pages = [*ServerPages(administration, api.members, public_url, has_gateway=has_gateway).pages]
        self._access = Access("console", door, self._sessions, tokens, public_url)
        if computer_page is not None:
            pages.append(owner_page(computer_page))
            self._access.on_log_out = computer_page.log_out
        self._site = Site(Kind("console", TITLE, operations, pages), self._access)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. Its path starts at the root of the Server."""
        if self._nodes is not None and (node := self._node_of_session(scope, self._nodes)) is not None:
            unanswered = await self._forwarded(scope, receive, send, self._nodes, node)
            if unanswered is None:
                return
            receive = unanswered
        root: str = scope.get("root_path", "")
        await self._site({**scope, "path": root + scope["path"]}, receive, send)

    def _node_of_session(self, scope: Scope, nodes: OtherNodes) -> str | None:
        """The other node of a cluster that has the session of a request."""
        request = Request(scope)
        node, found, _ = request.cookies.get(self._access.cookie_name(request), "").partition(".")
        return node if found and node != nodes.own and not scope.get(FORWARDED) else None

    async def _forwarded(
        self, scope: Scope, receive: Receive, send: Send, nodes: OtherNodes, node: str
    ) -> Receive | None:
        """Have another node serve a request. If it is gone, what this node reads the request from: its person logs in
        again."""
        try:
            body = await read_body(Request(scope, receive))
        except SMCPError as error:
            await problem(error)(scope, receive, send)
            return None
        try:
            await nodes.forward(node, scope, body, receive, send)
        except NotFoundError:
            return replaying(body, receive)
        except SMCPError as error:
            logger.warning("node %s did not answer a request for the console: %s", node, error.message)
        return None

    async def aclose(self) -> None:
        """End the streams, and keep the sessions."""
        self._feed.aclose()
        self._views.close()
        self._calls.close()
        self._rates.close()
        self._sessions.aclose()
