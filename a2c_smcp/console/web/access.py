"""Who may use a console: its door, sessions, one-time tokens and failed logins, and the operations for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Annotated, Any, NotRequired
from urllib.parse import urlsplit

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from a2c_smcp.console.web.attempts import Attempts
from a2c_smcp.console.web.operations import Operation
from a2c_smcp.console.web.problems import JSON
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.console.web.sessions import Session, Sessions
from a2c_smcp.console.web.users import Door, Tokens, User
from a2c_smcp.errors import ForbiddenError, MalformedRequestError, NotAuthenticatedError

logger = logging.getLogger(__name__)

GUESS_SECONDS = 0.3
"""How long a wrong key waits for its answer."""


class Login(TypedDict):
    """What somebody logs in with: one of the two."""

    key: NotRequired[Annotated[str, Field(max_length=16_000)]]
    token: NotRequired[Annotated[str, Field(max_length=200)]]


class Who(TypedDict):
    """Who is logged in."""

    user: str | None
    """None if nobody is."""
    csrf: str
    """The value for `X-CSRF-Token`; empty for a request with its own key, which needs none."""
    idle_seconds: float


class Access:
    """The way into a console."""

    def __init__(
        self,
        name: str,
        door: Door,
        sessions: Sessions | None = None,
        tokens: Tokens | None = None,
        public_url: str | None = None,
    ) -> None:
        self.door = door
        self.sessions = sessions if sessions is not None else Sessions()
        self._tokens = tokens
        self.on_log_out: Callable[[], None] = lambda: None
        """Called when somebody logs out."""
        self._name = name
        self._attempts = Attempts()
        parts = urlsplit(public_url) if public_url is not None else None
        self.origin = f"{parts.scheme}://{parts.netloc}".lower() if parts is not None else None
        """The origin that is configured, if any."""
        self.operations = (
            Operation(
                "GET", "/session", self._show, "Show who is logged in.", Who, needs_login=False, is_activity=False
            ),
            Operation("POST", "/session", self._log_in, "Log in.", Who, body=Login, needs_login=False),
            Operation("DELETE", "/session", self._log_out, "Log out."),
        )

    def is_secure(self, request: Request) -> bool:
        """Whether the browser uses TLS."""
        return request.scope.get("scheme") == "https" or (self.origin or "").startswith("https:")

    def cookie_name(self, request: Request) -> str:
        """The name of the cookie. It contains the port: browsers share the cookies of all ports of a host."""
        _, _, port = request.headers.get("host", "").rpartition(":")
        name = f"a2c_{self._name}_{port}" if port.isdecimal() else f"a2c_{self._name}"
        return f"__Host-{name}" if self.is_secure(request) else name

    def session_of(self, request: Request) -> Session | None:
        """The session of a request's cookie, if it has not ended."""
        token = request.cookies.get(self.cookie_name(request))
        return self.sessions.find(token) if token else None

    def give_cookie(self, request: Request, response: Response, token: str) -> None:
        """Let the browser keep a session."""
        response.set_cookie(
            self.cookie_name(request),
            token,
            path="/",
            secure=self.is_secure(request),
            httponly=True,
            samesite="strict",
        )

    # ------------------------------------------------------------------------------------------------------ operations

    async def _show(self, asked: Asked) -> Who:
        user = asked.user if asked.session is not None else await self.door.recognise(asked.request)
        return self._who(user, asked.session)

    async def _log_in(self, asked: Asked) -> JSON:
        request, login = asked.request, asked.body
        address = request.client.host if request.client is not None else ""
        self._attempts.check(address)
        try:
            user = await self._find(request, login)
        except (NotAuthenticatedError, ForbiddenError):
            self._attempts.fail(address)
            await asyncio.sleep(GUESS_SECONDS)
            raise
        if asked.session is not None:
            self.sessions.close(asked.session)
        token, session = self.sessions.open(user)
        logger.info("%s logged in to the console from %s", user.name, address or "this machine")
        response = JSON(self._who(user, session))
        self.give_cookie(request, response, token)
        return response

    async def _find(self, request: Request, login: Any) -> User:
        if "token" in login:
            user = self._tokens.take(login["token"]) if self._tokens is not None else None
            if user is None or not user.is_valid:
                raise NotAuthenticatedError("this login link was used already, or has expired")
            return user
        if "key" not in login:
            raise MalformedRequestError("body: a key or a token is required")
        return await self.door.admit(request, login["key"].strip())

    async def _log_out(self, asked: Asked) -> Response:
        if asked.session is not None:
            self.sessions.close(asked.session)
            self.on_log_out()
            logger.info("%s logged out of the console", asked.sender.name)
        response = Response(None, 204, {"Cache-Control": "no-store"})
        is_secure = self.is_secure(asked.request)
        response.delete_cookie(
            self.cookie_name(asked.request), path="/", secure=is_secure, httponly=True, samesite="strict"
        )
        return response

    def _who(self, user: User | None, session: Session | None) -> Who:
        csrf = session.csrf if session is not None else ""
        return {
            "user": user.name if user is not None else None,
            "csrf": csrf,
            "idle_seconds": self.sessions.idle_seconds,
        }
