"""A host on `mcp` 1.x: it uses what the test asks for, and prints what it got; `scripts/environments.py` makes the
environment it runs in."""

# What is installed for the type checker is 2.x, which has nothing of what is used here.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl


async def main() -> None:
    target: dict[str, Any] = json.loads(sys.argv[1])
    async with AsyncExitStack() as stack:
        if "url" in target:
            streams: Any = streamablehttp_client(target["url"], headers=target["headers"])
        else:
            program, *arguments = target["command"]
            streams = stdio_client(StdioServerParameters(command=program, args=arguments, env=target["env"]))
        read, write, *_ = await stack.enter_async_context(streams)
        session: Any = await stack.enter_async_context(ClientSession(read, write))
        await session.initialize()
        wanted = target["wanted"]
        found: dict[str, Any] = {"tools": [tool.name for tool in (await session.list_tools()).tools]}
        found["text"] = (await session.call_tool(wanted["tool"], {})).content[0].text
        found["resource"] = (await session.read_resource(AnyUrl(wanted["resource"]))).contents[0].text
        found["prompt"] = (await session.get_prompt(wanted["prompt"])).messages[0].content.text
        failed = await session.call_tool(wanted["failing"], {})
        found["failure"] = [failed.isError, failed.content[0].text]
        try:
            await session.get_prompt(wanted["missing"])
        except McpError as error:
            found["error"] = error.error.code
        sys.stdout.write(json.dumps(found))


asyncio.run(main())
