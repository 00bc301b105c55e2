"""A request to the console: where it comes from, who sends it, and its JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request

from a2c_smcp.console.web.sessions import Session
from a2c_smcp.console.web.users import User
from a2c_smcp.errors import ForbiddenError, MalformedRequestError, TimedOutError, TooLargeError

SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
CSRF_HEADER = "x-csrf-token"
MOST_BODY = 1_000_000
BODY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request whose sender is known."""

    request: Request
    user: User | None
    """None only where no login is needed."""
    session: Session | None
    """None if the request has its own credential."""
    holds: Callable[[], bool]
    """Whether the sender is still allowed to read the answer, which may be a stream."""
    path: Mapping[str, str] = field(default_factory=dict[str, str])
    """The variable parts of the path."""
    query: Any = None
    """The query, in the shape that the operation declares."""
    body: Any = None
    """The body, in the shape that the operation declares."""

    @property
    def sender(self) -> User:
        """The user, where a login is needed."""
        if self.user is None:
            raise ForbiddenError
        return self.user


def check_origin(request: Request, own: str | None, *, is_page: bool) -> None:
    """Reject a request that a page of another origin causes. `own` is the origin that is configured, if any.

    Raises:
        ForbiddenError: it comes from another origin.
    """
    is_safe = request.method in SAFE
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        # `none` is a person: an address that was typed, or a bookmark. A link on another site may lead to a page, but
        # nothing else of another site gets an answer. The browser sends this header, and no page can change it.
        is_navigation = is_page and is_safe and request.headers.get("sec-fetch-mode") == "navigate"
        if site == "same-origin" or (site == "none" and is_safe) or is_navigation:
            return
        raise ForbiddenError("the request comes from a page of another site")
    # Browsers leave `Sec-Fetch-Site` out for addresses without TLS that are not this machine.
    origin = request.headers.get("origin")
    if origin is None:
        return
    sent = urlsplit(origin).netloc.lower()
    # The scheme is not compared: a proxy may end TLS.
    if sent and (sent == request.headers.get("host", "").lower() or origin.lower() == own):
        return
    raise ForbiddenError("the request comes from a page of another origin")


def check_csrf(request: Request, session: Session) -> None:
    """Reject an unsafe request that relies on a cookie, and does not come from a page of its session.

    Raises:
        ForbiddenError: its CSRF token is missing or wrong.
    """
    if request.method not in SAFE and not session.accepts(request.headers.get(CSRF_HEADER, "")):
        raise ForbiddenError("the CSRF token is missing or wrong: load the page again")


async def read_body(request: Request, most: int = MOST_BODY) -> bytes:
    """The body of a request.

    Raises:
        MalformedRequestError: the client hung up.
        TooLargeError: it is too large.
        TimedOutError: it does not arrive.
    """
    parts = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                parts += part
                if len(parts) > most:
                    raise TooLargeError(f"the body is larger than {most:,} bytes")
    except TimeoutError:
        raise TimedOutError("the body did not arrive") from None
    except ClientDisconnect:
        raise MalformedRequestError("the client hung up") from None
    return bytes(parts)


async def read_json(request: Request, most: int = MOST_BODY) -> Any:
    """The JSON in the body of a request; None if it is empty.

    Raises:
        MalformedRequestError: it is not JSON, or not declared as JSON.
        TooLargeError, TimedOutError: see `read_body`.
    """
    parts = await read_body(request, most)
    if not parts:
        return None
    # A form of another site can send any text, but not with this type.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise MalformedRequestError("the body must have the Content-Type application/json")
    try:
        return json.loads(parts)
    except (ValueError, RecursionError):
        raise MalformedRequestError("the body is not valid JSON") from None
