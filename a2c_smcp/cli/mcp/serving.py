"""Runs the gateway for the host that started `a2c mcp`."""

from __future__ import annotations

import asyncio
import sys

import typer

from a2c_smcp.cli.errors import fail
from a2c_smcp.cli.mcp.options import Target
from a2c_smcp.cli.running import on_stop_signal
from a2c_smcp.errors import ForbiddenError, NotAuthenticatedError, SMCPError
from a2c_smcp.gateway import stdio
from a2c_smcp.utils.text import printable

NOT_IN = 3
"""The exit code of `a2c agent`, too, for a Server that cannot be used."""


async def serve(target: Target) -> int:
    """Serve until the host closes standard input, or a signal arrives; returns the exit code."""
    to = stdio.Destination(
        url=target.url or "",
        office=target.office or "",
        profile=target.profile,
        query=target.query,
        api_key=target.api_key,
        api_key_header=target.api_key_header or "",
        ca_file=target.ca_file,
    )
    stopped = asyncio.Event()
    with on_stop_signal(stopped.set):
        if sys.stdin.isatty():
            typer.echo("waiting for an MCP host on standard input; `a2c mcp install` configures a host", err=True)
        try:
            await stdio.serve(to, stopped)
        except SMCPError as error:
            fail(printable(_in_words(error, to)), NOT_IN)
    return 0


def _in_words(error: SMCPError, to: stdio.Destination) -> str:
    if isinstance(error, NotAuthenticatedError):
        key = "the key (A2C_API_KEY) is not accepted" if to.api_key else "a key is required: set A2C_API_KEY"
        return f"{to.url}: {key}"
    if isinstance(error, ForbiddenError):
        return f"{to.url}: {error.message}"
    return error.message
