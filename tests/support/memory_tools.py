"""A Computer's tools without processes: a manager whose servers exist in memory, and that notes what is called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mcp_types import Tool

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.mcp.conversation import OnProgress
from a2c_smcp.computer.mcp.questions import Asker
from a2c_smcp.computer.offer.manager import MCPServerManager
from a2c_smcp.computer.offer.tools import DescribedTools, ServerTools, ToolBook, describe_tools, write_book
from a2c_smcp.utils.results import CallToolResult


@dataclass
class MemoryServer:
    """One MCP server: its program, its tools with their descriptions, and what its owner says about them."""

    command: str = "first"
    tools: dict[str, str] = field(default_factory=lambda: {"read": "v1", "write": "v1"})
    auto_apply: set[str] = field(default_factory=set[str])
    forbidden: set[str] = field(default_factory=set[str])


class Executed(NamedTuple):
    """A call that reached the server, and whether its tool needed no approval then."""

    command: str
    tool: str
    description: str
    arguments: dict[str, Any]
    is_free: bool


class MemoryManager(MCPServerManager):
    """The manager. `change` takes over what was changed in `server`."""

    def __init__(self) -> None:
        super().__init__()
        self.server = MemoryServer()
        self.executed: list[Executed] = []
        self._config: MCPServerConfig
        self._tools: DescribedTools
        self.change()

    def change(self) -> None:
        here = self.server
        metas = {name: {"auto_apply": True} for name in sorted(here.auto_apply)}
        data = {"command": here.command, "tool_meta": metas, "forbidden_tools": sorted(here.forbidden)}
        self._config = server_from(data, "memory")
        tools = [
            Tool(name=name, description=text, input_schema={"type": "object"}) for name, text in here.tools.items()
        ]
        self._tools = describe_tools(self._config, tools)
        self._book = write_book([ServerTools(self._config, self._tools)])
        self.changed("memory")

    def config(self, name: str) -> MCPServerConfig | None:
        return self._config if name == "memory" else None

    def described(self) -> list[tuple[MCPServerConfig, DescribedTools]]:
        return [(self._config, self._tools)]

    @property
    def book(self) -> ToolBook:
        return self._book

    def may_return(self, name: str) -> bool:
        return name == "memory"

    async def acall_tool(
        self,
        server: str,
        tool: str,
        params: dict[str, Any],
        timeout: float | None = None,  # noqa: ASYNC109
        label: str = "call",
        on_progress: OnProgress | None = None,
        asker: Asker | None = None,
    ) -> CallToolResult:
        here = self.server
        assert tool not in here.forbidden
        self.executed.append(Executed(here.command, tool, here.tools[tool], dict(params), tool in here.auto_apply))
        return CallToolResult(content=[])
