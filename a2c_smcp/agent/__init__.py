"""The Agent: it uses the tools, windows and documents of the Computers in its office.

The clients are imported on first use, because Socket.IO takes long to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2c_smcp.lazy import lazily

if TYPE_CHECKING:
    from a2c_smcp.agent.answers import Answer, Answers
    from a2c_smcp.agent.auth import AgentAuthProvider, DefaultAgentAuthProvider
    from a2c_smcp.agent.choice import Choice
    from a2c_smcp.agent.client import AsyncSMCPAgentClient
    from a2c_smcp.agent.sync_client import SMCPAgentClient
    from a2c_smcp.agent.toolkit import SyncToolkit, Toolkit
    from a2c_smcp.agent.types import (
        AgentConfig,
        AgentEventHandler,
        AsyncAgentEventHandler,
        Change,
        DocumentPlace,
        DocumentSearch,
        Download,
        FoundDocument,
        LogMessage,
        Passage,
        Progress,
        Question,
        Reply,
        SearchSource,
        ServerInfo,
        Upload,
    )
    from a2c_smcp.utils.results import CallToolResult

__all__ = [
    "AgentAuthProvider",
    "AgentConfig",
    "AgentEventHandler",
    "Answer",
    "Answers",
    "AsyncAgentEventHandler",
    "AsyncSMCPAgentClient",
    "CallToolResult",
    "Change",
    "Choice",
    "DefaultAgentAuthProvider",
    "DocumentPlace",
    "DocumentSearch",
    "Download",
    "FoundDocument",
    "LogMessage",
    "Passage",
    "Progress",
    "Question",
    "Reply",
    "SMCPAgentClient",
    "SearchSource",
    "ServerInfo",
    "SyncToolkit",
    "Toolkit",
    "Upload",
]

__getattr__ = lazily(
    __name__,
    {
        "a2c_smcp.agent.auth": ["AgentAuthProvider", "DefaultAgentAuthProvider"],
        "a2c_smcp.agent.choice": ["Choice"],
        "a2c_smcp.agent.client": ["AsyncSMCPAgentClient"],
        "a2c_smcp.agent.answers": ["Answer", "Answers"],
        "a2c_smcp.agent.sync_client": ["SMCPAgentClient"],
        "a2c_smcp.agent.toolkit": ["SyncToolkit", "Toolkit"],
        "a2c_smcp.agent.types": [
            "AgentConfig",
            "AgentEventHandler",
            "AsyncAgentEventHandler",
            "Change",
            "DocumentPlace",
            "DocumentSearch",
            "Download",
            "FoundDocument",
            "LogMessage",
            "Passage",
            "Progress",
            "Question",
            "Reply",
            "SearchSource",
            "ServerInfo",
            "Upload",
        ],
        "a2c_smcp.utils.results": ["CallToolResult"],
    },
)
