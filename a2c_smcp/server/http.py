"""HTTP on the Socket.IO path, without I/O: the query of a request, the responses, and the allowed web origins."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from a2c_smcp.errors import SMCPError, VersionRefusedError
from a2c_smcp.protocol.dialects.versions import refusal_body

# `parse_qsl` makes a pair of strings for every "&": the query is parsed before a client is known, so it must be short.
MAX_QUERY = 4_000

VERSION_REFUSED = 4900
"""The close code of a WebSocket whose client speaks a version that is not allowed."""

Header: TypeAlias = tuple[str, str]
Origins: TypeAlias = "str | list[str] | Callable[[str, Any], bool] | None"


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request. The names of its headers are in lower case."""

    method: str
    query: bytes
    headers: Mapping[str, str]
    scheme: str
    environ: dict[str, Any]
    """The request as a WSGI environ, for authentication providers and handlers."""
    is_websocket: bool


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response. `refusal` says why the request is rejected; it is empty if it is served. `close_code` is for a
    WebSocket whose server cannot send a response."""

    status: HTTPStatus = HTTPStatus.OK
    body: bytes = b""
    content_type: str = "text/plain; charset=UTF-8"
    refusal: str = ""
    further_headers: tuple[Header, ...] = ()
    close_code: int = 1000

    @property
    def headers(self) -> list[Header]:
        """The headers of every response."""
        length = str(len(self.body))
        return [
            ("Content-Type", self.content_type),
            ("Content-Length", length),
            ("Cache-Control", "no-store"),
            *self.further_headers,
        ]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The session that a request asks for; `sid` is None for a new one."""

    carrier: str
    sid: str | None


def refuse(status: HTTPStatus, code: int, message: str) -> Response:
    """The response to a rejected request. Code and body are those of Engine.IO servers, which clients expect."""
    return Response(status, json.dumps({"code": code, "message": message}).encode(), "application/json", message)


UNKNOWN_SESSION = refuse(HTTPStatus.BAD_REQUEST, 1, "Session ID unknown")
BAD_METHOD = refuse(HTTPStatus.METHOD_NOT_ALLOWED, 2, "Bad handshake method")
NOT_THIS_WAY = refuse(HTTPStatus.BAD_REQUEST, 3, "Bad request: this session uses another transport")
TOO_MANY = refuse(HTTPStatus.TOO_MANY_REQUESTS, 4, "too many connections from one address")
TOO_SLOW = refuse(HTTPStatus.REQUEST_TIMEOUT, 3, "the request took too long")
TOO_LARGE = refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, 3, "the request is too large")
FOREIGN = refuse(HTTPStatus.BAD_REQUEST, 4, "Not an accepted origin")


def bad_request(reason: str) -> Response:
    """The response to a request that violates the protocol."""
    return refuse(HTTPStatus.BAD_REQUEST, 3, f"Bad request: {reason}")


def refuse_version(error: SMCPError) -> Response:
    """The response to a handshake whose version is not allowed. Official clients read the versions from the body."""
    body = json.dumps(refusal_body(error)).encode()
    if not isinstance(error, VersionRefusedError):
        return Response(HTTPStatus.BAD_REQUEST, body, "application/json", error.message)
    headers = (("X-A2C-Error-Code", str(error.code)),)
    return Response(HTTPStatus.BAD_REQUEST, body, "application/json", error.message, headers, VERSION_REFUSED)


def read_query(query: bytes) -> Wanted | Response:
    """The session that the query of a request asks for, or the response that rejects it."""
    if len(query) > MAX_QUERY:
        return bad_request("the query is too long")
    fields = dict(reversed(parse_qsl(query.decode("latin-1"), errors="replace")))  # the first value of a key counts
    if fields.get("EIO") != "4":
        return refuse(HTTPStatus.BAD_REQUEST, 5, "Unsupported protocol version: EIO=4 is expected")
    carrier = fields.get("transport", "")
    if carrier not in ("polling", "websocket"):
        return refuse(HTTPStatus.BAD_REQUEST, 0, "Transport unknown: polling or websocket is expected")
    return Wanted(carrier, fields.get("sid"))


def announced_size(headers: Mapping[str, str]) -> int | None:
    """The bytes of a body, as its request announces them."""
    length = headers.get("content-length", "")
    # The first 18 digits are enough to compare, and `int` raises for texts of thousands of digits. `isascii`, because
    # `isdigit` accepts digits that `int` does not.
    return int(length[:18]) if length.isascii() and length.isdigit() else None


def cors(origins: Origins, request: Request) -> list[Header] | None:
    """The headers that let a web page read the response; None if its origin is not allowed.

    Without a setting, only pages of this host are allowed; an empty list allows every page.
    """
    # Browsers send `Origin` with WebSockets as well, but do not apply CORS to them: a page of any origin may open one
    # to a Server on the user's machine. The Server itself has to reject it. Programs send no `Origin`.
    headers = request.headers
    origin = headers.get("origin")
    if origin is None or origins == []:
        return []
    if callable(origins):
        is_allowed = origins(origin, request.environ)
    elif origins == "*":
        is_allowed = True
    elif origins is None:
        is_allowed = origin in _own_origins(headers, request.scheme)
    else:
        is_allowed = origin in ([origins] if isinstance(origins, str) else origins)
    if not is_allowed:
        return None
    # The origin itself, never "*": browsers reject "*" for requests with credentials. `Vary` keeps caches from giving
    # the response to another origin.
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
    # Behind a proxy, the browser knows the Server by the name and scheme of the proxy. A page of another origin cannot
    # forge these headers: on a WebSocket it can set none, and before other requests the browser asks, without them.
    scheme = {"ws": "http", "wss": "https"}.get(scheme, scheme)
    host = headers.get("host", "")
    forwarded_scheme = headers.get("x-forwarded-proto", scheme).split(",")[0].strip()
    forwarded_host = headers.get("x-forwarded-host", host).split(",")[0].strip()
    return {f"{scheme}://{host}", f"{forwarded_scheme}://{forwarded_host}"}
