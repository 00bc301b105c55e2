"""The Server, as a Computer or an Agent on this machine would reach it."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

import aiohttp

from a2c_smcp.cli.doctor.credentials import check_admission
from a2c_smcp.cli.doctor.engineio_client import PATH, Answer, Line, session
from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.options import Address, Options
from a2c_smcp.cli.doctor.reachability import Trust, dial
from a2c_smcp.utils.text import printable

SLOW = 1.0
"""Seconds for one request above which every call is felt to be slow."""
LEEWAY = 10.0
"""Seconds by which a Server lets clocks differ when it reads a JSON Web Token."""
FAR_APART = 300.0
"""Seconds above which a difference breaks more than tokens that are about to expire."""

_UPGRADE = (
    "have the proxy pass WebSocket: in nginx `proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; "
    'proxy_set_header Connection "upgrade";` (deploy/nginx.conf); long-polling is slower, and wants '
    "`client_max_body_size 20m`"
)
_REFUSING = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED}
_NOBODY_BEHIND = {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}


async def check_server(options: Options, report: Report) -> None:
    """Step by step, until one fails."""
    url = options.url or ""
    try:
        place = Address.of(url)
    except ValueError as error:
        report.fail(f"--url: {error}")
        return
    report.group = f"Server {place.origin}"
    _look_at(url, place, options, report)
    report.now("connecting")
    start = f"a2c server --port {place.port}" if place.is_local else ""
    if not await dial(place, report, "connection", start, Trust(options.ca_file, "--ca-file ca.pem")):
        return
    try:
        async with session(options.headers, ca_file=options.ca_file) as http:
            clock, passes = await _speak(Line.to(url, http), report)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        report.fail(
            f"what listens there does not answer HTTP requests: {str(error) or type(error).__name__}",
            "is the port that of an A2C Server?"
            + ("" if place.is_tls else " If it has TLS, its address begins with https://"),
        )
        return
    if passes is not None:
        report.now("showing the key")
        await check_admission(options, report, passes, is_clock_wrong=clock is not None and abs(clock) > LEEWAY)


def _look_at(url: str, place: Address, options: Options, report: Report) -> None:
    path = urlsplit(url).path.strip("/")
    if path:
        report.warn(
            f"the path /{path} of the address is not used: clients look for {PATH} at its root",
            f"leave the path out, and have the proxy pass {PATH}/ to the Server",
        )
    if options.api_key is not None and not place.is_tls and not place.is_local:
        report.warn("the key travels in clear", "give the Server a certificate, and use https://")


async def _speak(line: Line, report: Report) -> tuple[float | None, list[str] | None]:
    """The difference of the clocks, and the transports that pass; None if it is no Server."""
    answer = await line.greet()
    if answer.sid is None:
        report.fail(*await _why_no_session(line, answer))
        return answer.clock, None
    seconds = await line.part(answer.sid)
    told = f"Socket.IO answers at {PATH}; a request takes {1000 * seconds:.0f} ms"
    if seconds > SLOW:
        report.warn(told, "every call will be slow: is the Server far away, or busy?")
    else:
        report.ok(told)
    passes = await _try_websocket(line, answer, report)
    _compare_clocks(answer.clock, report)
    return answer.clock, passes


async def _try_websocket(line: Line, answer: Answer, report: Report) -> list[str]:
    try:
        await line.speak_websocket()
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        status = f"HTTP {error.status}" if isinstance(error, aiohttp.WSServerHandshakeError) else str(error)
        reason = status or type(error).__name__
        if answer.upgrades:
            report.warn(f"WebSocket does not pass ({reason}), only long-polling", _UPGRADE)
        else:
            report.warn(f"it offers no WebSocket ({reason}), only long-polling", "have it offered: it is faster")
        return ["polling"]
    report.ok("WebSocket passes")
    return ["websocket"]


async def _why_no_session(line: Line, answer: Answer) -> tuple[str, str]:
    """What somebody is who does not open a session, and what to do."""
    software = f" ({printable(answer.software, 60)})" if answer.software else ""
    if answer.location is not None and 300 <= answer.status < 400:
        place = urlsplit(answer.location)
        if place.hostname and place.scheme in ("http", "https"):
            return (
                f"it sends clients elsewhere: HTTP {answer.status}",
                f"use --url {printable(f'{place.scheme}://{place.netloc}', 200)}",
            )
        return (
            f"it sends clients elsewhere: HTTP {answer.status}{software}",
            f"{PATH}/ must be passed to the Server as it is",
        )
    if answer.status in _REFUSING:
        return (
            f"something before the Server refuses requests: HTTP {answer.status}{software}",
            f"have it let {PATH}/ pass: the Server checks keys itself",
        )
    if answer.status in _NOBODY_BEHIND:
        return (
            f"a proxy answers, but not the Server behind it: HTTP {answer.status}{software}",
            "is the Server running, and is its address in the proxy's configuration right?",
        )
    if await line.is_ours():
        return (
            f"an A2C Server answers, but its Socket.IO is not at {PATH}: HTTP {answer.status}",
            f"start it without --socketio-path, or have a proxy lead {PATH}/ there",
        )
    return (
        f"what answers there is no A2C Server: HTTP {answer.status} at {PATH}/{software}",
        f"is the port right? behind a proxy, {PATH}/ must be passed to the Server",
    )


def _compare_clocks(ahead: float | None, report: Report) -> None:
    if ahead is None:
        report.note("the Server does not say what time it is")
        return
    told = f"the Server's clock is {_duration(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'} this machine's"
    advice = "set both by NTP (`timedatectl set-ntp true`): JSON Web Tokens and certificates depend on it"
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
