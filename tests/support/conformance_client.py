"""The client of the conformance runner of MCP: for each of its scenarios, a Computer that hosts one server.

It does what an owner and an Agent would do: it logs in when a server waits for that, calls each tool that the server
lists, and accepts each form with its defaults.

The runner starts a program for each scenario. The program is a messenger, which starts in 20 ms. The Computers are in
the process of the test: it takes more than a second to import what a Computer needs.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
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
MESSENGER = """
import json, os, socket, sys
context = os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")
task = {"scenario": os.environ["MCP_CONFORMANCE_SCENARIO"], "context": json.loads(context), "url": sys.argv[2]}
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection, connection.makefile("rw") as lines:
    print(json.dumps(task), file=lines, flush=True)
    outcome = json.loads(lines.readline())
sys.stderr.write(outcome["said"])
sys.exit(outcome["code"])
"""


@asynccontextmanager
async def client(folder: Path) -> AsyncGenerator[tuple[str, dict[str, int]]]:
    """The command of a client, and the exit codes that it had, by the scenario."""
    codes: dict[str, int] = {}

    async def perform(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = json.loads(await reader.readline())
        said: list[str] = []
        try:
            code = await play(**task, said=said)
        except Exception:
            said.append(traceback.format_exc())
            code = 1
        codes[task["scenario"]] = code
        writer.write(json.dumps({"code": code, "said": "".join(said)}).encode() + b"\n")
        writer.close()

    (folder / "messenger.py").write_text(MESSENGER, "utf-8")
    async with await asyncio.start_server(perform, "127.0.0.1", 0, limit=1_000_000) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"{sys.executable} -I -S {folder / 'messenger.py'} {port}", codes


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


async def play(scenario: str, url: str, context: dict[str, Any], said: list[str]) -> int:
    """Be the client of a scenario; the exit code. What happens is added to `said`."""
    oauth = await asyncio.to_thread(configured, scenario, url, context)
    fields = {"url": url, "default_tool_meta": {"auto_apply": True}, **({"oauth": oauth} if oauth else {})}
    with tempfile.TemporaryDirectory() as folder:
        computer = Computer("pc", mcp_servers=[server_from(fields, NAME)], login_store=LoginStore(Path(folder)))
        async with computer:
            return await use(computer, said)


async def use(computer: Computer, said: list[str]) -> int:
    """Log in while the server demands it, and call its tools; the exit code."""
    for _ in range(MOST_LOGINS):
        if computer.status[0].state is ServerState.WAITING_FOR_LOGIN:
            said.append(f"{computer.status[0].reason}\n")
            await computer.alogin(NAME, visit)
        if computer.status[0].state is not ServerState.READY:
            continue
        codes = [await call(computer, tool, said) for tool in await computer.aget_available_tools()]
        if LoginNeededError.code not in codes:
            return int(any(codes))
        await computer.alogin(NAME, visit)
    said.append(f"{computer.status[0].reason}\n")
    return 1


async def call(computer: Computer, tool: Any, said: list[str]) -> int | None:
    """Call a tool with the arguments that it requires; the code of the failure."""
    schema = tool["params_schema"]
    wanted = {name: ARGUMENTS[schema["properties"][name]["type"]] for name in schema.get("required", [])}
    continuation = None
    while True:
        result = await computer.aexecute_tool(tool["name"], tool["name"], wanted, 20, continuation=continuation)
        said.append(f"{result.content}\n")
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
