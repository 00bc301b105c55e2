"""`a2c_smcp.computer.config.model` under the path that programs import."""

from a2c_smcp.computer.config.model import (
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
from a2c_smcp.utils.result_meta import A2C_VRL_TRANSFORMED
from a2c_smcp.utils.tool_meta import A2C_TOOL_META

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
