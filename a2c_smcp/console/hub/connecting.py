"""The lines with which MCP hosts, Agents and Computers connect to this Server."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from starlette.requests import Request

from a2c_smcp.console.web.requests import Asked
from a2c_smcp.gateway.host_entries import HOSTS, Address, Command
from a2c_smcp.server.public_url import read_public_url

KEY = "YOUR_KEY"
OFFICE = "my-office"


@dataclass(frozen=True, slots=True)
class Snippet:
    """Something to copy. `about` and `title` are English, and the keys of their translations."""

    id: str
    title: str
    about: str
    text: str
    file: str = ""


def server_url(request: Request, public_url: str | None) -> str:
    """The URL of the Server: that which is set, or where the browser found it."""
    if public_url is not None:
        return read_public_url(public_url)
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return f"{request.scope.get('scheme', 'http')}://{request.headers.get('host', 'localhost')}{root}"


def snippets(url: str, office: str, *, has_keys: bool, has_gateway: bool) -> dict[str, list[Snippet]]:
    """What to copy, by whom it is for."""
    key = f"export A2C_API_KEY={KEY}\n" if has_keys else ""
    status = f"{key}a2c server status --url {shlex.quote(url)}"
    where = f"--url {shlex.quote(url)} --office {shlex.quote(office)}"
    return {
        "MCP hosts": list(_hosts(url, office, where, key, has_keys=has_keys, has_gateway=has_gateway)),
        "Agent": [
            Snippet("agent-cli", "Command", "Lists the tools of the office.", f"{key}a2c agent tools {where}"),
            Snippet(
                "agent-python", "Python", "Lists the tools of the office.", _python(url, office, has_keys=has_keys)
            ),
        ],
        "Computer": [
            Snippet(
                "computer-cli",
                "Command",
                "Offers the MCP servers of a configuration file to the office.",
                f"{key}a2c computer {where} --name my-computer --config mcp.json",
            ),
            Snippet(
                "computer-documents",
                "Documents",
                "Offers the documents of a folder: an entry for the configuration file.",
                _written({"mcpServers": {"documents": {"command": "a2c", "args": ["documents", "/path/to/folder"]}}}),
            ),
        ],
        "Operator": [
            Snippet("status", "Command", "Shows the Server.", status),
            Snippet(
                "curl",
                "curl",
                "Uses the API. Its description is at /api/v1/openapi.json.",
                f'curl -H "Authorization: Bearer {KEY}" {shlex.quote(url + "/api/v1/status")}'
                if has_keys
                else f"curl {shlex.quote(url + '/api/v1/status')}",
            ),
        ],
    }


def _hosts(url: str, office: str, where: str, key: str, *, has_keys: bool, has_gateway: bool) -> list[Snippet]:
    env = {"A2C_API_KEY": KEY} if has_keys else {}
    headers = {"Authorization": f"Bearer {KEY}"} if has_keys else {}
    command = Command("a2c", ("mcp", "--url", url, "--office", office), env)
    address = Address(f"{url}/mcp/{quote(office, safe='')}", headers)
    found: list[Snippet] = []
    for name, host in HOSTS.items():
        entry = host.entry(address if host.takes_urls and has_gateway else command)
        found.append(
            Snippet(
                f"host-{name}",
                host.title,
                "Run this on the machine of the host, or add the entry to its configuration.",
                f"{key}a2c mcp install {name} {where}\n\n{_entry(host.section, entry, is_toml=name == 'codex')}",
            )
        )
    if has_gateway:
        found.append(Snippet("host-other", "Other hosts", "Hosts that take a URL need only this.", address.url))
    return found


def _entry(section: str, entry: Mapping[str, Any], *, is_toml: bool) -> str:
    if not is_toml:
        return _written({section: {"a2c": entry}})
    lines = [f"[{section}.a2c]"]
    for name, value in entry.items():
        if isinstance(value, dict):
            items = cast("dict[str, str]", value).items()
            fields = ", ".join(f"{json.dumps(key)} = {json.dumps(each)}" for key, each in items)
            lines.append(f"{name} = {{ {fields} }}")
        else:
            lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join(lines)


def _python(url: str, office: str, *, has_keys: bool) -> str:
    key = f', api_key="{KEY}"' if has_keys else ""
    return f"""import asyncio

from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider


async def main():
    agent = AsyncSMCPAgentClient(DefaultAgentAuthProvider("my-agent", {json.dumps(office)}{key}))
    await agent.connect_to_server({json.dumps(url)})
    await agent.join_office()
    await agent.wait_for()
    for computer, tools in agent.tools.items():
        print(computer, [tool["name"] for tool in tools])
    await agent.disconnect()


asyncio.run(main())"""


def _written(data: object) -> str:
    return json.dumps(data, indent=2)


def office_of(asked: Asked, known: list[str]) -> str:
    """The office that the page is for: that which was chosen, the first that there is, or an example."""
    chosen = asked.request.query_params.get("office", "")
    return chosen[:256] or (known[0] if known else OFFICE)
