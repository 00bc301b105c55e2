"""`a2c_smcp.computer.offer.manager` under the path that programs import."""

from a2c_smcp.computer.offer.manager import MCPServerManager

__all__ = ["MCPServerManager"]
