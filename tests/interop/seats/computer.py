"""The Computer's seat: any number of Computers, each with a client for one Server at a time."""

from __future__ import annotations

from typing import Any

from driver import Driver, start

from a2c_smcp.computer import Computer
from a2c_smcp.computer.mcp_clients.model import MCPServerPickStringInput, StdioServerConfig
from a2c_smcp.computer.socketio.client import SMCPComputerClient


class Computers(Driver):
    """Makes Computers: `NAME` is the client, and `NAME.computer` the Computer itself."""

    async def make(
        self, name: str, servers: list[dict[str, Any]], pick: dict[str, Any], options: dict[str, Any]
    ) -> None:
        """A Computer whose MCP servers run, not connected yet; `pick` is an input to choose from texts."""
        make: Any = StdioServerConfig  # hashable in every release
        configured = {make(**server) for server in servers}
        computer = Computer(name, inputs={_pick(pick)}, mcp_servers=configured)
        # Otherwise releases before 0.2 ask for it at the terminal.
        computer.set_input_value(pick["id"], pick["default"])
        await computer.boot_up()
        self.objects[name] = SMCPComputerClient(computer=computer, **options)
        self.objects[f"{name}.computer"] = computer

    async def enter(self, name: str, url: str, office_id: str, api_key: str) -> None:
        """Connect and join with a key, the way programs for our SDK do."""
        entered = SMCPComputerClient.in_office(self.objects[f"{name}.computer"], url, office_id, api_key=api_key)
        self.objects[name] = await entered.__aenter__()
        self.objects[f"{name}.entered"] = entered  # it disconnects when it is collected

    async def close(self, name: str) -> None:
        """End a Computer whose client is disconnected, with everything it runs."""
        del self.objects[name]
        self.objects.pop(f"{name}.entered", None)
        await self.objects.pop(f"{name}.computer").shutdown()


def _pick(pick: dict[str, Any]) -> Any:
    fields: dict[str, Any] = {"type": "pickString", **pick}
    try:
        return MCPServerPickStringInput(**fields)
    except ValueError:  # from 0.3.3 an option has a label
        fields["options"] = [{"label": option.title(), "value": option} for option in pick["options"]]
        return MCPServerPickStringInput(**fields)


if __name__ == "__main__":
    start(Computers())
