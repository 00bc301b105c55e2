"""Commands that start the MCP servers, do one thing, and stop them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from a2c_smcp.cli.computer import views
from a2c_smcp.cli.computer.host import Host
from a2c_smcp.cli.computer.progress import boot_with_progress
from a2c_smcp.cli.computer.questions import ask_inputs
from a2c_smcp.cli.views import print_json, result, show
from a2c_smcp.computer.types import ServerState
from a2c_smcp.utils.results import to_wire

ReadArguments = Callable[[dict[str, Any] | None], dict[str, Any]]
"""Reads the parameters of a call, given the schema of the tool."""


async def status(host: Host, as_json: bool) -> int:
    """Show the status of every server."""
    await _boot(host)
    await host.computer.mcp_manager.be_listed()
    statuses = host.computer.status
    if as_json:
        print_json([status.to_json() for status in statuses])
    else:
        show(views.servers(statuses), *views.details(statuses))
    return _code(host)


async def tools(host: Host, as_json: bool) -> int:
    """List the tools that an Agent would see."""
    await _boot(host)
    found = await host.computer.aget_available_tools()
    if as_json:
        print_json(found)
    else:
        show(views.tools(host.computer.mcp_manager.book))
    return _code(host)


async def call(host: Host, tool: str, read: ReadArguments, seconds: int, as_json: bool) -> int:
    """Call a tool. The owner makes the call, so it needs no confirmation."""
    await _boot(host)
    entry = host.computer.mcp_manager.book.entries.get(tool)
    try:
        parameters = read(entry.tool["params_schema"] if entry is not None else None)
    except ValueError as error:
        print(f"a2c: {error}", file=sys.stderr)
        return 2
    host.computer.approvals.allow_all = True
    found = await host.computer.aexecute_tool("one-shot", tool, parameters, seconds)
    if as_json:
        print_json(to_wire(found))
    else:
        show(*result(found))
    return 1 if found.is_error else 0


def _code(host: Host) -> int:
    """The exit code: 1 if a server that is not disabled is not ready."""
    return int(any(status.state not in (ServerState.READY, ServerState.DISABLED) for status in host.computer.status))


async def _boot(host: Host) -> None:
    # Standard output may be a pipe, as in `a2c computer tools --json | jq`: prompts need only the other two.
    if sys.stdin.isatty() and sys.stderr.isatty():
        await ask_inputs(host.resolver, host.computer.mcp_servers)
    await boot_with_progress(host)
