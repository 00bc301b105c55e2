"""`login` and `logout`: how the owner of a Computer logs in to remote MCP servers."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import webbrowser
from dataclasses import replace
from functools import partial
from typing import Any, TextIO
from urllib.parse import parse_qs, urlsplit

from a2c_smcp.cli.computer import views
from a2c_smcp.cli.computer.host import Host
from a2c_smcp.cli.computer.questions import ask_inputs
from a2c_smcp.cli.errors import did_you_mean, fail
from a2c_smcp.cli.views import print_json, show
from a2c_smcp.computer.config.files import ConfigError, LoadedConfig, server_from
from a2c_smcp.computer.mcp.oauth.access import LOGIN_SECONDS
from a2c_smcp.computer.mcp.oauth.store import LoginStore
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import SMCPError
from a2c_smcp.utils.text import printable


def only_server(loaded: LoadedConfig | None, name: str) -> LoadedConfig:
    """The configuration with this server only; a URL need not be configured. Ends the command if there is none."""
    known = {server.name: server for server in loaded.servers} if loaded is not None else {}
    if loaded is not None and name in known:
        return replace(loaded, servers=[known[name]])
    if name.startswith(("http://", "https://")):
        try:
            return LoadedConfig(servers=[server_from({"url": name}, name)])
        except ConfigError as error:
            fail(str(error), 2)
    if loaded is None:
        return fail(f"there is no MCP server {name}: put --config FILE before the command, or name its URL", 2)
    return fail(f"there is no MCP server {name}{did_you_mean(name, known)}", 2)


async def log_in(host: Host, server: str, as_json: bool) -> int:
    """Connect to a server, log in, and connect again."""
    if sys.stdin.isatty() and sys.stderr.isatty():
        await ask_inputs(host.resolver, host.computer.mcp_servers)
    # Without a login, the server reports that it needs one. The person who types this command knows it.
    logging.getLogger("a2c_smcp.computer.hosting").setLevel(logging.ERROR)
    await host.computer.boot_up()
    is_open = host.computer.status[0].state is ServerState.READY and not host.computer.mcp_manager.has_login(server)
    if not is_open:
        try:
            # With --json, a program reads standard output.
            await host.computer.alogin(server, partial(show_url, file=sys.stderr) if as_json else show_url)
        except SMCPError as error:
            print(printable(f"a2c: {error.message}"), file=sys.stderr)
            return 1
    status = host.computer.status[0]
    if as_json:
        print_json(status.to_json())
    if status.state is not ServerState.READY:
        print(printable(f"a2c: logged in, but {server} is {status.state}: {status.reason}"), file=sys.stderr)
        return 1
    if not as_json:
        outcome = f"{server} is ready without a login" if is_open else f"logged in to {server}"
        print(printable(f"{outcome}: {status.tools} tool{'s' if status.tools != 1 else ''}"))
    return 0


async def log_out(host: Host, server: str) -> int:
    """Forget a login. The server is not contacted, only its authorization server."""
    if sys.stdin.isatty() and sys.stderr.isatty():
        await ask_inputs(host.resolver, host.computer.mcp_servers)
    host.computer.mcp_manager.auto_connect = False
    await host.computer.boot_up()
    try:
        was_there = await host.computer.alogout(server)
    except SMCPError as error:
        print(printable(f"a2c: {error.message}"), file=sys.stderr)
        return 1
    print(printable(f"logged out of {server}" if was_there else f"{server} has no login"))
    return 0


async def stored() -> list[dict[str, Any]]:
    """The stored logins, without secrets."""
    return [login.shown() for login in await LoginStore().all()]


def show_stored(as_json: bool) -> None:
    """List the stored logins."""
    found = asyncio.run(stored())
    if as_json:
        print_json(found)
    else:
        show(views.logins(found))


def show_url(url: str, file: TextIO | None = None) -> None:
    """Open the address of a login in the browser, if there is one; print it in any case."""
    show_line = partial(print, file=file, flush=True)
    show_line(f"Log in at this address, within {LOGIN_SECONDS / 60:g} minutes (Ctrl-C ends the login):\n")
    show_line(f"  {printable(url)}\n")
    if _has_browser() and webbrowser.open(url):
        return
    port = urlsplit(parse_qs(urlsplit(url).query)["redirect_uri"][-1]).port
    show_line("This machine has no browser. If you open the address on another one, forward the port first:")
    show_line(f"  ssh -L {port}:127.0.0.1:{port} THIS-MACHINE\n")


def _has_browser() -> bool:
    # Without a display, `webbrowser` would start a browser for text terminals, which takes over this one.
    is_graphical = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return is_graphical or bool(os.environ.get("BROWSER"))
