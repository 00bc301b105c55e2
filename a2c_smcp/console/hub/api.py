"""The operations of the Server's API."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from a2c_smcp.console.hub import shapes
from a2c_smcp.console.hub.calls import CallBook
from a2c_smcp.console.hub.keys import KeyRing
from a2c_smcp.console.hub.members import MemberList
from a2c_smcp.console.hub.offers import OfficeRooms
from a2c_smcp.console.hub.rates import Numbers, RateSource
from a2c_smcp.console.web.operations import Operation
from a2c_smcp.console.web.problems import JSON
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.console.web.streams import EventStream, Feed
from a2c_smcp.server.administration import Administration

logger = logging.getLogger(__name__)


class ServerAPI:
    """What an operator can read and do."""

    def __init__(
        self,
        administration: Administration,
        feed: Feed,
        numbers: Numbers,
        rates: RateSource,
        calls: CallBook,
        rooms: OfficeRooms,
    ) -> None:
        self._administration = administration
        self._feed = feed
        self._numbers = numbers
        self._rates = rates
        self._calls = calls
        self._rooms = rooms
        self._members = MemberList(administration)
        self._keys = KeyRing(administration)

    @property
    def members(self) -> MemberList:
        """The members, for pages."""
        return self._members

    @property
    def operations(self) -> Sequence[Operation]:
        """All of them."""
        return (
            Operation("GET", "/status", self._numbers.status, "Show the Server.", shapes.Status),
            Operation(
                "GET",
                "/rates",
                self._rates.show,
                "Show each of the last 120 seconds. They are recorded for a minute after this request, and while "
                "somebody follows the events `rates`.",
                list[shapes.Rates],
            ),
            Operation(
                "GET", "/offices", self._members.offices, "List offices.", shapes.Offices, query=shapes.OfficeQuery
            ),
            Operation(
                "GET", "/members", self._members.members, "List members.", shapes.Members, query=shapes.MemberQuery
            ),
            Operation("DELETE", "/offices/{office}/members/{name}", self._disconnect, "Disconnect a member."),
            Operation(
                "GET",
                "/offices/{office}/offers",
                self._rooms.offers,
                "Show what the Computers of an office offer. It takes the Agent's seat for a minute, if nobody has it.",
                shapes.Offers,
            ),
            Operation(
                "GET",
                "/calls",
                self._calls.show,
                "List the calls that run, and those that ended while somebody looked.",
                shapes.Calls,
                query=shapes.CallQuery,
            ),
            Operation(
                "DELETE",
                "/calls/{req_id}",
                self._calls.end,
                "End a running call: its Agent gets the error 403, and its Computer is told to cancel it.",
                query=shapes.EndQuery,
            ),
            Operation("GET", "/keys", self._keys.show, "List the keys of the key file.", list[shapes.KeyInfo]),
            Operation(
                "POST",
                "/keys",
                self._keys.add,
                "Create a key. The answer has the key itself, which is stored nowhere.",
                shapes.MadeKey,
                body=shapes.KeyForm,
            ),
            Operation("DELETE", "/keys/{id}", self._keys.remove, "Remove a key: its connections are closed."),
            Operation(
                "POST",
                "/drain",
                self._drain,
                "Stop the Server: new requests are rejected, running calls end, and members are disconnected.",
                dict[str, Any],
            ),
            Operation(
                "GET",
                "/events",
                self._events,
                "Follow events: `rates`, `members` and `calls`, or some of them. `Last-Event-ID` continues a stream.",
                query=shapes.EventQuery,
                is_stream=True,
                is_activity=False,
            ),
        )

    async def _disconnect(self, asked: Asked) -> None:
        # The journal of the Server names the member.
        self._administration.disconnect(asked.path["office"], asked.path["name"])
        logger.warning("%s disconnected a member", asked.sender.name)

    async def _drain(self, asked: Asked) -> JSON:
        self._administration.drain()
        logger.warning("%s stops the Server", asked.sender.name)
        return JSON({"is_draining": True}, 202)

    async def _events(self, asked: Asked) -> EventStream:
        query: dict[str, Any] = asked.query
        last_id = asked.request.headers.get("last-event-id") or query.get("last_event_id")
        return EventStream(self._feed, query.get("topics") or self._feed.topics, last_id, asked.holds)
