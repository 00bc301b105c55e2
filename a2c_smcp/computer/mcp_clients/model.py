"""`a2c_smcp.computer.config.model` under the path that programs import."""

from a2c_smcp.computer.config.model import (
    A2C_TOOL_META,
    A2C_VRL_TRANSFORMED,
    BaseServerConfig,
    MCPServerCommandInput,
    MCPServerConfig,
    MCPServerInput,
    MCPServerPickStringInput,
    MCPServerPromptStringInput,
    SseParameters,
    SseServerConfig,
    StdioParameters,
    StdioServerConfig,
    StreamableHttpParameters,
    StreamableHttpServerConfig,
    ToolMeta,
)

__all__ = [
    "A2C_TOOL_META",
    "A2C_VRL_TRANSFORMED",
    "BaseServerConfig",
    "MCPServerCommandInput",
    "MCPServerConfig",
    "MCPServerInput",
    "MCPServerPickStringInput",
    "MCPServerPromptStringInput",
    "SseParameters",
    "SseServerConfig",
    "StdioParameters",
    "StdioServerConfig",
    "StreamableHttpParameters",
    "StreamableHttpServerConfig",
    "ToolMeta",
]
