"""`a2c_smcp.computer.hosting.owner` under the path that programs import."""

from a2c_smcp.computer.hosting.owner import MCPClient

__all__ = ["MCPClient"]
