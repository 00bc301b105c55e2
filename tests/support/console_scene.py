"""A Server with its console, a Computer with its owner's page, and an MCP host that calls the Computer's tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.client import Client

from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.computer.config.files import load_config
from a2c_smcp.computer.offer.approval_request import Decision, Verdict
from a2c_smcp.console.owner.serving import OwnerServer
from a2c_smcp.server.auth import CredentialAuthenticationProvider
from a2c_smcp.server.key_changes import NewKey, add_key
from a2c_smcp.server.key_file import KeyFile
from tests.support.gateway import Hall, hall
from tests.support.hosting import Watched
from tests.support.waiting import eventually

TOKEN = "t" * 40


@dataclass
class Scene:
    """What the pages show."""

    hall: Hall
    office: str
    key: str
    """Of the operator."""
    member: str
    """Of every Agent and Computer."""
    computer: Watched
    owner: OwnerServer
    host: Client

    @property
    def url(self) -> str:
        """Where the Server's console is."""
        return self.hall.server.url

    @property
    def owner_url(self) -> str:
        """Where the page of the owner is."""
        assert self.owner.url is not None
        return self.owner.url

    async def call(self, tool: str, arguments: dict[str, Any] | None = None) -> Any:
        """Call a tool as the MCP host."""
        names: list[str] = []
        cursor: str | None = None
        while cursor is not None or not names:
            listed = await self.host.list_tools(cursor=cursor)
            names += [each.name for each in listed.tools]
            cursor = listed.next_cursor
        (name,) = [name for name in names if name == tool or name.endswith(tool)]
        return await self.host.call_tool(name, arguments or {})

    @asynccontextmanager
    async def waiting(self, tool: str, arguments: dict[str, Any]) -> AsyncGenerator[None]:
        """A call that waits for the owner, who denies it in the end."""
        approvals = self.computer.approvals
        approvals.waits = True
        call = asyncio.create_task(self.call(tool, arguments))
        try:
            await eventually(lambda: approvals.waiting or call.done())
            assert not call.done(), call.result()
            yield
        finally:
            for request in approvals.waiting:
                approvals.decide(request.id, Verdict(Decision.DENY, by="the end"))
            await call


@asynccontextmanager
async def scene(folder: Path, config: Path, office: str, name: str, user: str = "alice") -> AsyncGenerator[Scene]:
    """Set the scene, with the MCP servers of a configuration file."""
    file = folder / "keys.toml"
    key = add_key(file, NewKey("operator", ["*"], admin=True))
    member = add_key(file, NewKey("team", ["*"]))
    person = add_key(file, NewKey(user, ["*"], roles=["agent"]))
    provider = CredentialAuthenticationProvider(KeyFile(file))
    async with AsyncExitStack() as stack:
        found = await stack.enter_async_context(hall(provider))
        computer = await stack.enter_async_context(Watched(*load_config(config).servers))
        computer.name = name
        client = SMCPComputerClient.in_office(computer, found.server.url, office, api_key=member)
        await stack.enter_async_context(client)
        owner = OwnerServer(computer, office, port=0, token=TOKEN)
        await owner.open()
        stack.push_async_callback(owner.aclose)
        host = await stack.enter_async_context(found.host("legacy", found.url(office), key=person))
        yield Scene(found, office, key, member, computer, owner, host)
