"""The Agent: uses tools, live context and documents of the Computers in its office.

The clients are loaded when they are first used: Socket.IO takes a while to import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from a2c_smcp.agent.auth import AgentAuthProvider, DefaultAgentAuthProvider
    from a2c_smcp.agent.client import AsyncSMCPAgentClient
    from a2c_smcp.agent.sync_client import SMCPAgentClient
    from a2c_smcp.agent.types import AgentConfig, AgentEventHandler, AsyncAgentEventHandler, Change
    from a2c_smcp.utils.results import CallToolResult

_HOMES = {
    "AgentAuthProvider": "a2c_smcp.agent.auth",
    "AgentConfig": "a2c_smcp.agent.types",
    "AgentEventHandler": "a2c_smcp.agent.types",
    "AsyncAgentEventHandler": "a2c_smcp.agent.types",
    "AsyncSMCPAgentClient": "a2c_smcp.agent.client",
    "CallToolResult": "a2c_smcp.utils.results",
    "Change": "a2c_smcp.agent.types",
    "DefaultAgentAuthProvider": "a2c_smcp.agent.auth",
    "SMCPAgentClient": "a2c_smcp.agent.sync_client",
}

__all__ = [
    "AgentAuthProvider",
    "AgentConfig",
    "AgentEventHandler",
    "AsyncAgentEventHandler",
    "AsyncSMCPAgentClient",
    "CallToolResult",
    "Change",
    "DefaultAgentAuthProvider",
    "SMCPAgentClient",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
