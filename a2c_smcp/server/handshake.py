"""What an HTTP request to the Socket.IO path asks for, and which web pages may ask. Pure, for both shells."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

MAX_QUERY = 4_000

Header: TypeAlias = tuple[str, str]
Origins: TypeAlias = "str | list[str] | Callable[[str, Any], bool] | None"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is not served."""

    status: HTTPStatus
    code: int
    """Engine.IO's own."""
    message: str

    @property
    def body(self) -> bytes:
        """As Engine.IO servers write it."""
        return json.dumps({"code": self.code, "message": self.message}).encode()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A session, or a new one."""

    carrier: str
    sid: str | None


def read_query(query: bytes) -> Wanted | Refusal:
    """What the query of a request asks for; whatever bytes it is made of."""
    if len(query) > MAX_QUERY:
        return Refusal(HTTPStatus.BAD_REQUEST, 3, "the query is too long")
    fields = dict(reversed(parse_qsl(query.decode("latin-1"), errors="replace")))  # the first of a key counts
    if fields.get("EIO") != "4":
        return Refusal(HTTPStatus.BAD_REQUEST, 5, "Unsupported protocol version: EIO=4 is expected")
    carrier = fields.get("transport", "")
    if carrier not in ("polling", "websocket"):
        return Refusal(HTTPStatus.BAD_REQUEST, 0, "Transport unknown: polling or websocket is expected")
    return Wanted(carrier, fields.get("sid"))


UNKNOWN_SESSION = Refusal(HTTPStatus.BAD_REQUEST, 1, "Session ID unknown")
BAD_METHOD = Refusal(HTTPStatus.METHOD_NOT_ALLOWED, 2, "Bad handshake method")
NOT_THIS_WAY = Refusal(HTTPStatus.BAD_REQUEST, 3, "Bad request: this session uses another transport")
TOO_MANY = Refusal(HTTPStatus.TOO_MANY_REQUESTS, 4, "too many connections from one address")
TOO_SLOW = Refusal(HTTPStatus.REQUEST_TIMEOUT, 3, "the request took too long")
TOO_LARGE = Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, 3, "the request is too large")
FOREIGN = Refusal(HTTPStatus.BAD_REQUEST, 4, "Not an accepted origin")


def cors(origins: Origins, headers: Mapping[str, str], scheme: str, environ: Any) -> list[Header] | None:
    """The headers that let a web page read the answer; None if its origin may not ask.

    `headers` have lower-case names. Without a setting, only pages of this host may ask; an empty list checks nothing.
    """
    origin = headers.get("origin")
    if origin is None or origins == []:
        return []
    if callable(origins):
        is_allowed = origins(origin, environ)
    elif origins == "*":
        is_allowed = True
    elif origins is None:
        is_allowed = origin in _own_origins(headers, scheme)
    else:
        is_allowed = origin in ([origins] if isinstance(origins, str) else origins)
    if not is_allowed:
        return None
    return [
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Allow-Credentials", "true"),
        ("Access-Control-Allow-Methods", "OPTIONS, GET, POST"),
        *(
            [("Access-Control-Allow-Headers", asked)]
            if (asked := headers.get("access-control-request-headers"))
            else []
        ),
        ("Vary", "Origin"),
    ]


def _own_origins(headers: Mapping[str, str], scheme: str) -> set[str]:
    scheme = {"ws": "http", "wss": "https"}.get(scheme, scheme)
    host = headers.get("host", "")
    forwarded_scheme = headers.get("x-forwarded-proto", scheme).split(",")[0].strip()
    forwarded_host = headers.get("x-forwarded-host", host).split(",")[0].strip()
    return {f"{scheme}://{host}", f"{forwarded_scheme}://{forwarded_host}"}
