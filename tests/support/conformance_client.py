"""The client that the conformance runner of MCP starts for each of its scenarios: a Computer that hosts one server.

    python -m tests.support.conformance_client URL

It does what an owner and an Agent would do: it logs in when a server waits for that, calls each tool that the server
lists, and accepts each form with its defaults.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.mcp.oauth.store import LoginStore
from a2c_smcp.computer.offer.calls import Continuation
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import LoginNeededError

NAME = "server"
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
"""The document that the scenario `auth/basic-cimd` expects."""
MOST_LOGINS = 3
ARGUMENTS = {"number": 1, "integer": 1, "boolean": True, "string": "text"}


def configured(scenario: str, url: str, context: dict[str, Any]) -> dict[str, Any]:
    """The `oauth` setting that the owner of a server of this scenario would write."""
    match scenario:
        case "auth/basic-cimd":
            return {"client_metadata_url": CLIENT_METADATA}
        case "auth/pre-registration":
            return {"client_id": context["client_id"], "client_secret": context["client_secret"]}
        case "auth/client-credentials-basic":
            client = {"client_id": context["client_id"], "client_secret": context["client_secret"]}
            return {"flow": "client_credentials", **client}
        case "auth/client-credentials-jwt":
            return {"client_id": context["client_id"], "private_key": context["private_key_pem"]}
        case "auth/cross-app-access-complete-flow":
            # The authorization server is configuration in this flow. An administrator knows it; here it is looked up.
            named = httpx2.get(url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")).json()
            return {
                "flow": "enterprise",
                "client_id": context["client_id"],
                "client_secret": context["client_secret"],
                "issuer": named["authorization_servers"][0],
                "identity_token": context["idp_id_token"],
                "identity_token_url": context["idp_token_endpoint"],
                "identity_client_id": context["idp_client_id"],
            }
        case _:
            return {}


async def main(url: str) -> int:
    scenario, context = os.environ["MCP_CONFORMANCE_SCENARIO"], os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")
    oauth = await asyncio.to_thread(configured, scenario, url, json.loads(context))
    fields = {"url": url, "default_tool_meta": {"auto_apply": True}, **({"oauth": oauth} if oauth else {})}
    with tempfile.TemporaryDirectory() as folder:
        computer = Computer("pc", mcp_servers=[server_from(fields, NAME)], login_store=LoginStore(Path(folder)))
        async with computer:
            return await use(computer)


async def use(computer: Computer) -> int:
    """Log in while the server demands it, and call its tools; the exit code."""
    for _ in range(MOST_LOGINS):
        if computer.status[0].state is ServerState.WAITING_FOR_LOGIN:
            sys.stderr.write(f"{computer.status[0].reason}\n")
            await computer.alogin(NAME, visit)
        if computer.status[0].state is not ServerState.READY:
            continue
        codes = [await call(computer, tool) for tool in await computer.aget_available_tools()]
        if LoginNeededError.code not in codes:
            return int(any(codes))
        await computer.alogin(NAME, visit)
    sys.stderr.write(f"{computer.status[0].reason}\n")
    return 1


async def call(computer: Computer, tool: Any) -> int | None:
    """Call a tool with the arguments that it requires; the code of the failure."""
    schema = tool["params_schema"]
    wanted = {name: ARGUMENTS[schema["properties"][name]["type"]] for name in schema.get("required", [])}
    continuation = None
    while True:
        result = await computer.aexecute_tool(tool["name"], tool["name"], wanted, 20, continuation=continuation)
        sys.stderr.write(f"{result.content}\n")
        asked = (result.meta or {}).get("a2c_input_required")
        if asked is None:
            break
        accepted: dict[str, Any] = {key: {"action": "accept", "content": {}} for key in asked["requests"]}
        continuation = Continuation(asked["request_state"], accepted)
    return (result.meta or {}).get("error_code")


async def visit(url: str) -> None:
    """Follow the address of a login, as a browser does."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(url)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
