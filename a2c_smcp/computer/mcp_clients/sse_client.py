"""`a2c_smcp.computer.mcp.transports.sse` under the path that programs import."""

from a2c_smcp.computer.mcp.transports.sse import SseClient

__all__ = ["SseClient"]
