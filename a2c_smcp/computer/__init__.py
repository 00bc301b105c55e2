"""The Computer: hosts MCP servers and offers them to an office."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from a2c_smcp.computer.computer import Computer
    from a2c_smcp.computer.socketio.client import SMCPComputerClient

__all__ = ["Computer", "SMCPComputerClient"]


def __getattr__(name: str) -> Any:
    """Import on first use: the `mcp` package takes its time."""
    if name == "Computer":
        from a2c_smcp.computer.computer import Computer

        return Computer
    if name == "SMCPComputerClient":
        from a2c_smcp.computer.socketio.client import SMCPComputerClient

        return SMCPComputerClient
    raise AttributeError(name)
