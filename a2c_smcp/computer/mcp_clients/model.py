"""`a2c_smcp.computer.config.model` under the path that programs import."""

from a2c_smcp.computer.config.model import (
    A2C_TOOL_META,
    A2C_VRL_TRANSFORMED,
    MCPServerCommandInput,
    MCPServerConfig,
    MCPServerInput,
    MCPServerPickStringInput,
    MCPServerPromptStringInput,
    SseServerConfig,
    StdioServerConfig,
    StreamableHttpServerConfig,
    ToolMeta,
)

__all__ = [
    "A2C_TOOL_META",
    "A2C_VRL_TRANSFORMED",
    "MCPServerCommandInput",
    "MCPServerConfig",
    "MCPServerInput",
    "MCPServerPickStringInput",
    "MCPServerPromptStringInput",
    "SseServerConfig",
    "StdioServerConfig",
    "StreamableHttpServerConfig",
    "ToolMeta",
]
