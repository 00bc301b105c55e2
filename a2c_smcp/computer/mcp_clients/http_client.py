"""`a2c_smcp.computer.mcp.transports.streamable_http` under the path that programs import."""

from a2c_smcp.computer.mcp.transports.streamable_http import HttpClient

__all__ = ["HttpClient"]
