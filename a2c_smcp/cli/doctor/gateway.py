"""The gateway of a Server for MCP hosts: whether it can be reached, and whether the key is for hosts."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, cast

import aiohttp

from a2c_smcp.cli.doctor.engineio_client import session
from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.options import Address, Options
from a2c_smcp.utils.text import printable
from a2c_smcp.utils.url import gateway_url

_PASS = "configure the proxy to pass /mcp/ to the Server, without buffering (deploy/nginx.conf)"


async def check_gateway(options: Options, report: Report) -> None:
    """Ask for the office, or for none, and look at the answer. Nothing changes: only a request in MCP's form takes the
    Agent's seat."""
    url = gateway_url(Address.of(options.url or "").origin, options.office or "")
    try:
        async with (
            session({**options.headers, "accept": "application/json"}, ca_file=options.ca_file) as http,
            http.get(url, allow_redirects=False) as response,
        ):
            status, body = response.status, await response.content.read(10_000)
    except (aiohttp.ClientError, TimeoutError) as error:
        report.warn(f"MCP hosts cannot use {url}: {str(error) or type(error).__name__}", _PASS)
        return
    reason = _reason(body)
    served = f"MCP hosts can use an office at {url if options.office else f'{url}OFFICE'}"
    # A gateway answers that the request is not in MCP's form. Without an office, it answers that one has to be named.
    if status == HTTPStatus.NOT_ACCEPTABLE or (status == HTTPStatus.NOT_FOUND and reason is not None):
        report.ok(served)
    elif status == HTTPStatus.NOT_FOUND:
        report.note("the Server does not serve MCP hosts (--no-mcp)", "`a2c mcp` takes the Agent's seat itself")
    elif status == HTTPStatus.FORBIDDEN and reason is not None:
        hosts = "start the Server with --mcp-allowed-hosts" if reason.startswith("Host ") else None
        report.note(f"MCP hosts cannot use {url}: {printable(reason, 300)}", hosts)
    else:
        why = f": {printable(reason, 300)}" if reason else ""
        report.warn(f"MCP hosts cannot use {url}: HTTP {status}{why}", _PASS)


def _reason(body: bytes) -> str | None:
    """The message of an error of the gateway; None if another program answered."""
    try:
        read: Any = json.loads(body)
    except ValueError:
        return None
    error: Any = cast("dict[str, Any]", read).get("error") if isinstance(read, dict) else None
    message: Any = cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else None
