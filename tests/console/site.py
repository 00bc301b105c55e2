"""A small console for tests of what all consoles share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired

from starlette.requests import Request
from typing_extensions import TypedDict

from a2c_smcp.console.web.access import Access
from a2c_smcp.console.web.login_tokens import LoginTokens
from a2c_smcp.console.web.operations import Kind, Operation, Page
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.console.web.sessions import Sessions
from a2c_smcp.console.web.site import Site
from a2c_smcp.console.web.streams import EventStream, Feed
from a2c_smcp.console.web.users import User
from a2c_smcp.errors import ForbiddenError, NotAuthenticatedError
from a2c_smcp.protocol.grants import Grant


class Note(TypedDict):
    text: str
    size: NotRequired[int]


class Filter(TypedDict):
    tag: NotRequired[list[str]]
    most: NotRequired[int]


class KeyDoor:
    """Knows two keys; `admin` may use the console."""

    def __init__(self) -> None:
        self.is_revoked = False

    def has_credential(self, request: Request) -> bool:
        return "authorization" in request.headers

    async def recognise(self, request: Request) -> User | None:
        header = request.headers.get("authorization")
        return await self.admit(request, header.removeprefix("Bearer ")) if header is not None else None

    async def admit(self, request: Request, key: str) -> User:
        if key not in ("admin", "agent"):
            raise NotAuthenticatedError("the key is not accepted")
        if key != "admin":
            raise ForbiddenError("the key does not allow administration")
        return User("ops", Grant(admin=True, holds=lambda: not self.is_revoked))

    def restore(self, reference: str) -> User | None:
        return None


class SmallSite:
    """A console with a note that can be written, a stream, and two pages."""

    def __init__(self, sessions: Sessions | None = None, public_url: str | None = None, most: int = 8) -> None:
        self.door = KeyDoor()
        self.tokens = LoginTokens()
        self.access = Access("test", self.door, sessions, self.tokens, public_url)
        self.feed = Feed({"notes": None, "other": None}, most=most)
        self.note: Any = {"text": ""}
        self.site = Site(
            Kind(
                "test",
                "Server",
                (
                    Operation("GET", "/note", self._read, "Read the note.", Note),
                    Operation("PUT", "/note", self._write, "Write the note.", Note, body=Note),
                    Operation("GET", "/find", self._find, "Show the query.", dict[str, Any], query=Filter),
                    Operation("GET", "/rooms/{room}/notes", self._room, "Show a room.", dict[str, Any]),
                    Operation("GET", "/fail", self._fail, "Fail.", dict[str, Any]),
                    Operation("GET", "/events", self._events, "Follow.", is_stream=True, is_activity=False),
                ),
                (
                    Page("/", "web/base.html", "Overview"),
                    Page("/rooms/{room}", "web/base.html", "Pages", handler=self._page, in_menu=False),
                ),
            ),
            self.access,
        )

    async def _read(self, asked: Asked) -> Any:
        return self.note

    async def _write(self, asked: Asked) -> Any:
        self.note = asked.body
        self.feed.publish("notes", "note", self.note)
        return self.note

    async def _find(self, asked: Asked) -> Any:
        return asked.query

    async def _room(self, asked: Asked) -> Any:
        return asked.path

    async def _fail(self, asked: Asked) -> Any:
        raise RuntimeError("a secret")

    async def _events(self, asked: Asked) -> EventStream:
        last_id = asked.request.headers.get("last-event-id")
        return EventStream(self.feed, ("notes",), last_id, asked.holds, batch_seconds=0, heartbeat_seconds=0.05)

    async def _page(self, asked: Asked) -> Mapping[str, Any]:
        return {"user": asked.path["room"]}
