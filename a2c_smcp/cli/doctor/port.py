"""The port for a Server on this machine: whether it is free, or which program uses it."""

from __future__ import annotations

import errno

import aiohttp

from a2c_smcp.cli.doctor.engineio_client import PAGE, session
from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.options import Options
from a2c_smcp.utils.system.sockets import bind
from a2c_smcp.utils.text import printable

HOST = "127.0.0.1"
"""The default address of `a2c server`."""
PATIENCE = 3.0
"""Seconds for an answer of the program that uses the port; it runs on this machine."""


async def check_port(options: Options, report: Report) -> None:
    """Listen on the port; if it is in use, find out what answers there."""
    port = options.port
    # Listening is the only reliable test: a connection attempt says nothing about a port that is bound but not served,
    # or that this user may not use.
    try:
        bind(HOST, port).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            await _ask_who_has_it(port, options.is_port_given, report)
        elif error.errno == errno.EACCES:
            report.fail(
                f"this user may not listen on port {port}",
                "use a port above 1023 (`a2c server --port 8000`), with a proxy in front for 80 and 443",
            )
        else:
            report.fail(
                f"cannot listen on port {port}: {error.strerror or error}", "use another port: `a2c server --port 8000`"
            )
        return
    report.ok(f"port {port} is free for a Server on this machine")


async def _ask_who_has_it(port: int, is_wanted: bool, report: Report) -> None:
    owner = await _owner(port)
    if owner is None:
        report.ok(f"an A2C Server is listening on port {port} of this machine")
        return
    taken = f"port {port} of this machine is in use by {owner}"
    advice = f"use another port (`a2c server --port {port + 1}`), or stop it (`ss -ltnp 'sport = :{port}'` names it)"
    # The default port matters only to those who run a Server here. With --port or A2C_PORT, that is certain.
    if is_wanted:
        report.fail(taken, advice)
    else:
        report.warn(taken, f"to run a Server here: {advice}")


async def _owner(port: int) -> str | None:
    """A description of the program that uses the port; None if it is an A2C Server."""
    # Certificates are not verified: this only identifies a program on this machine, and sends no key.
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
    return "another program, which does not answer HTTP"
