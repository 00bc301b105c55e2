"""The Computer: hosts MCP servers and offers them to an office.

Each name is imported when it is first used, because importing the `mcp` package is slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2c_smcp.lazy import lazily

if TYPE_CHECKING:
    from a2c_smcp.computer.computer import Computer
    from a2c_smcp.computer.config.files import ConfigError, LoadedConfig, load_config, server_from
    from a2c_smcp.computer.config.model import (
        MCPServerCommandInput,
        MCPServerConfig,
        MCPServerInput,
        MCPServerPickStringInput,
        MCPServerPromptStringInput,
        PickOption,
        SseParameters,
        SseServerConfig,
        StdioParameters,
        StdioServerConfig,
        StreamableHttpParameters,
        StreamableHttpServerConfig,
        ToolMeta,
    )
    from a2c_smcp.computer.config.oauth import OAuthParameters
    from a2c_smcp.computer.mcp.oauth.store import LoginStore
    from a2c_smcp.computer.offer.confirmation import CallToConfirm, call_to_confirm
    from a2c_smcp.computer.socketio.client import SMCPComputerClient
    from a2c_smcp.computer.types import ConfirmCallback, ServerState, ServerStatus, ToolCallRecord

__all__ = [
    "CallToConfirm",
    "Computer",
    "ConfigError",
    "ConfirmCallback",
    "LoadedConfig",
    "LoginStore",
    "MCPServerCommandInput",
    "MCPServerConfig",
    "MCPServerInput",
    "MCPServerPickStringInput",
    "MCPServerPromptStringInput",
    "OAuthParameters",
    "PickOption",
    "SMCPComputerClient",
    "ServerState",
    "ServerStatus",
    "SseParameters",
    "SseServerConfig",
    "StdioParameters",
    "StdioServerConfig",
    "StreamableHttpParameters",
    "StreamableHttpServerConfig",
    "ToolCallRecord",
    "ToolMeta",
    "call_to_confirm",
    "load_config",
    "server_from",
]

__getattr__ = lazily(
    __name__,
    {
        "a2c_smcp.computer.offer.confirmation": ["CallToConfirm", "call_to_confirm"],
        "a2c_smcp.computer.computer": ["Computer"],
        "a2c_smcp.computer.config.files": ["ConfigError", "LoadedConfig", "load_config", "server_from"],
        "a2c_smcp.computer.config.model": [
            "MCPServerCommandInput",
            "MCPServerConfig",
            "MCPServerInput",
            "MCPServerPickStringInput",
            "MCPServerPromptStringInput",
            "PickOption",
            "SseParameters",
            "SseServerConfig",
            "StdioParameters",
            "StdioServerConfig",
            "StreamableHttpParameters",
            "StreamableHttpServerConfig",
            "ToolMeta",
        ],
        "a2c_smcp.computer.config.oauth": ["OAuthParameters"],
        "a2c_smcp.computer.mcp.oauth.store": ["LoginStore"],
        "a2c_smcp.computer.socketio.client": ["SMCPComputerClient"],
        "a2c_smcp.computer.types": ["ConfirmCallback", "ServerState", "ServerStatus", "ToolCallRecord"],
    },
)
