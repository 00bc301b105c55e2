"""The Server, reached in the way that a Computer or an Agent on this machine reaches it."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

import aiohttp

from a2c_smcp.cli.doctor.credentials import WRONG_VERSION, check_admission
from a2c_smcp.cli.doctor.engineio_client import PATH, Answer, Line, session
from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.gateway import check_gateway
from a2c_smcp.cli.doctor.options import Address, Options
from a2c_smcp.cli.doctor.reachability import Trust, dial
from a2c_smcp.errors import VersionRefusedError
from a2c_smcp.protocol.terms import Terms, terms_of, version_refusal
from a2c_smcp.utils.text import printable

SLOW = 1.0
"""A request that takes longer, in seconds, is a warning."""
LEEWAY = 10.0
"""Seconds of clock difference that a Server tolerates when it checks a JSON Web Token."""
FAR_APART = 300.0
"""Seconds of clock difference above which tokens fail that are not close to their end."""

_UPGRADE = (
    "configure the proxy for WebSocket: in nginx `proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; "
    'proxy_set_header Connection "upgrade";` (deploy/nginx.conf); long-polling is slower, and needs '
    "`client_max_body_size 20m`"
)
_REFUSING = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED}
_NOBODY_BEHIND = {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}


async def check_server(options: Options, report: Report) -> None:
    """Check one step after another, until one fails."""
    url = options.url or ""
    try:
        place = Address.of(url)
    except ValueError as error:
        report.fail(f"--url: {error}")
        return
    report.group = f"Server {place.origin}"  # not the whole URL: it may contain a password or a token
    _look_at(url, place, options, report)
    report.now("connecting")
    start = f"a2c server --port {place.port}" if place.is_local else ""
    if not await dial(place, report, "connection", start, Trust(options.ca_file, "--ca-file ca.pem")):
        return
    try:
        async with session(options.headers, ca_file=options.ca_file) as http:
            clock, passes = await _speak(url, http, terms_of(options.dialect), report)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        report.fail(
            f"the program at this address does not answer HTTP requests: {str(error) or type(error).__name__}",
            "check that the port belongs to an A2C Server"
            + ("" if place.is_tls else "; if the Server uses TLS, its URL begins with https://"),
        )
        return
    if passes is not None:
        report.now("checking the key")
        is_clock_wrong = clock is not None and abs(clock) > LEEWAY
        if await check_admission(options, report, passes, is_clock_wrong=is_clock_wrong):
            report.now("checking the gateway for MCP hosts")
            await check_gateway(options, report)


def _look_at(url: str, place: Address, options: Options, report: Report) -> None:
    path = urlsplit(url).path.strip("/")
    if path:
        report.warn(
            f"the path /{path} of the URL is not used: clients connect to {PATH} at the root",
            f"remove the path, and configure the proxy to pass {PATH}/ to the Server",
        )
    if options.api_key is not None and not place.is_tls and not place.is_local:
        report.warn("the key is sent unencrypted", "configure TLS on the Server, and use https://")


async def _speak(
    url: str, http: aiohttp.ClientSession, terms: Terms, report: Report
) -> tuple[float | None, list[str] | None]:
    """The difference of the clocks, and the transports that work; None if it is not a Server."""
    line = Line.to(url, http, terms)
    # Long-polling first: a plain HTTP answer has a status and headers that identify a proxy or another program. A
    # WebSocket that fails says little.
    answer = await line.greet()
    demanded = answer.demands
    if demanded is not None and (others := terms.demanded(demanded)) is not None:
        line = Line.to(url, http, others)
        answer = await line.greet()
    if answer.demands is not None:
        named = {"code": VersionRefusedError.code, "server_version": answer.demands}
        report.fail(printable(version_refusal(named, terms, "").message, 300), WRONG_VERSION)
        return answer.clock, None
    if answer.sid is None:
        report.fail(*await _why_no_session(line, answer))
        return answer.clock, None
    seconds = await line.part(answer.sid)
    told = f"Socket.IO answers at {PATH}; a request takes {1000 * seconds:.0f} ms"
    if seconds > SLOW:
        report.warn(told, "every call will be slow: check the network, and the load of the Server")
    else:
        report.ok(told)
    passes = await _try_websocket(line, answer, report)
    _compare_clocks(answer.clock, report)
    if demanded is None:
        return answer.clock, passes
    report.ok(f"the Server demands A2C-SMCP {printable(demanded, 40)}")
    # Only over long-polling does it tell a client which version to use.
    return answer.clock, ["polling", *(each for each in passes if each != "polling")]


async def _try_websocket(line: Line, answer: Answer, report: Report) -> list[str]:
    try:
        await line.speak_websocket()
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        status = f"HTTP {error.status}" if isinstance(error, aiohttp.WSServerHandshakeError) else str(error)
        reason = status or type(error).__name__
        if answer.upgrades:
            report.warn(f"WebSocket does not work ({reason}), only long-polling", _UPGRADE)
        else:
            report.warn(f"the Server does not offer WebSocket ({reason}), only long-polling", "enable it: it is faster")
        return ["polling"]
    report.ok("WebSocket works")
    return ["websocket"]


async def _why_no_session(line: Line, answer: Answer) -> tuple[str, str]:
    """The finding and advice for an answer that opens no session."""
    software = f" ({printable(answer.software, 60)})" if answer.software else ""
    if answer.location is not None and 300 <= answer.status < 400:
        place = urlsplit(answer.location)
        if place.hostname and place.scheme in ("http", "https"):
            return (
                f"the program at this address redirects clients: HTTP {answer.status}",
                f"use --url {printable(f'{place.scheme}://{place.netloc}', 200)}",
            )
        return (
            f"the program at this address redirects clients: HTTP {answer.status}{software}",
            f"configure the proxy to pass {PATH}/ to the Server, without a redirect",
        )
    # An A2C Server answers 200 here and checks keys only in the Socket.IO handshake that follows. A rejection at this
    # point comes from a program in front of it.
    if answer.status in _REFUSING:
        return (
            f"a proxy in front of the Server rejects requests: HTTP {answer.status}{software}",
            f"configure it to let {PATH}/ pass: the Server checks keys itself",
        )
    if answer.status in _NOBODY_BEHIND:
        return (
            f"a proxy answers, but not the Server behind it: HTTP {answer.status}{software}",
            "check that the Server is running, and its address in the configuration of the proxy",
        )
    if await line.is_ours():
        return (
            f"an A2C Server answers, but its Socket.IO is not at {PATH}: HTTP {answer.status}",
            f"start it without --socketio-path, or configure a proxy to map {PATH}/ to its path",
        )
    return (
        f"the program at this address is not an A2C Server: HTTP {answer.status} at {PATH}/{software}",
        f"check the port; a proxy must pass {PATH}/ to the Server",
    )


def _compare_clocks(ahead: float | None, report: Report) -> None:
    if ahead is None:
        report.note("the clocks cannot be compared: the Server sends no Date header")
        return
    told = f"the Server's clock is {_duration(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'} this machine's"
    advice = "synchronize both with NTP (`timedatectl set-ntp true`): JSON Web Tokens and certificates depend on it"
    if abs(ahead) > FAR_APART:
        report.fail(told, advice)
    elif abs(ahead) > LEEWAY:
        report.warn(told, advice)
    else:
        report.ok("the clocks of this machine and of the Server agree")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3600:.1f} h"
