"""The port that a Server on this machine would take: whether it is free, or who has it."""

from __future__ import annotations

import errno

import aiohttp

from a2c_smcp.cli.doctor.engineio_client import PAGE, session
from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.options import Options
from a2c_smcp.utils.system.sockets import bind
from a2c_smcp.utils.text import printable

HOST = "127.0.0.1"
"""Where `a2c server` listens unless it is told otherwise."""
PATIENCE = 3.0
"""Seconds for whoever is on the same machine."""


async def check_port(options: Options, report: Report) -> None:
    """Try to take it; if that fails, ask who answers there."""
    port = options.port
    try:
        bind(HOST, port).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            await _ask_who_has_it(port, options.is_port_given, report)
        elif error.errno == errno.EACCES:
            report.fail(
                f"port {port} may not be taken by this user",
                "take one above 1023 (`a2c server --port 8000`), with a proxy in front for 80 and 443",
            )
        else:
            report.fail(f"port {port} cannot be taken: {error.strerror or error}", "`a2c server --port 8000`")
        return
    report.ok(f"port {port} is free for a Server on this machine")


async def _ask_who_has_it(port: int, is_wanted: bool, report: Report) -> None:
    owner = await _owner(port)
    if owner is None:
        report.ok(f"an A2C Server answers at port {port} of this machine")
        return
    taken = f"port {port} of this machine is taken by {owner}"
    advice = f"`a2c server --port {port + 1}`, or end that program (`ss -ltnp 'sport = :{port}'` names it)"
    if is_wanted:
        report.fail(taken, advice)
    else:
        report.warn(taken, f"to run a Server here: {advice}")


async def _owner(port: int) -> str | None:
    """Who answers there, in words; None if it is an A2C Server."""
    async with session(seconds=PATIENCE) as http:
        for scheme in ("http", "https"):
            try:
                async with http.get(f"{scheme}://{HOST}:{port}/", allow_redirects=False, ssl=False) as response:
                    if (await response.content.read(100)).startswith(PAGE):
                        return None
                    software = printable(response.headers.get("Server", ""), 60)
                    return f"another web server{f' ({software})' if software else ''}"
            except (aiohttp.ClientError, TimeoutError, ValueError):
                continue
    return "another program, which does not speak HTTP"
