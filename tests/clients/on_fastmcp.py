"""A host on FastMCP: it uses what the test asks for, and prints what it got; `scripts/environments.py` makes the
environment it runs in."""

# FastMCP is not installed for the type checker.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.shared.exceptions import MCPError


async def main() -> None:
    target: dict[str, Any] = json.loads(sys.argv[1])
    if "url" in target:
        transport = StreamableHttpTransport(target["url"], headers=target["headers"])
    else:
        program, *arguments = target["command"]
        transport = StdioTransport(program, arguments, env=target["env"])
    async with Client(transport) as client:
        wanted = target["wanted"]
        found: dict[str, Any] = {"tools": [tool.name for tool in await client.list_tools()]}
        found["text"] = (await client.call_tool(wanted["tool"], {})).content[0].text
        found["resource"] = (await client.read_resource(wanted["resource"]))[0].text
        found["prompt"] = (await client.get_prompt(wanted["prompt"])).messages[0].content.text
        failed = await client.call_tool(wanted["failing"], {}, raise_on_error=False)
        found["failure"] = [failed.is_error, failed.content[0].text]
        try:
            await client.get_prompt(wanted["missing"])
        except MCPError as error:
            found["error"] = error.error.code
        sys.stdout.write(json.dumps(found))


asyncio.run(main())
