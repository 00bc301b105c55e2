"""`a2c_smcp.computer.mcp.transports.stdio` under the path that programs import."""

from a2c_smcp.computer.mcp.transports.stdio import StdioClient

__all__ = ["StdioClient"]
