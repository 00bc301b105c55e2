"""The Server: a Socket.IO hub that relays between the Agent and the Computers of each office.

The names are loaded when they are first used: an application may be served by anything, and the command line reads only
the definitions of the settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2c_smcp.lazy import lazily

# For type checkers and editors. A program imports each name when it uses it, through the table at the end.
if TYPE_CHECKING:
    from a2c_smcp.protocol.grants import Grant
    from a2c_smcp.protocol.limits import Limits
    from a2c_smcp.server.app import SMCPApp, SyncSMCPApp, create_app, create_wsgi_app
    from a2c_smcp.server.auth import (
        AnonymousAuthenticationProvider,
        AnonymousSyncAuthenticationProvider,
        AuthenticationProvider,
        CredentialAuthenticationProvider,
        CredentialSyncAuthenticationProvider,
        DefaultAuthenticationProvider,
        DefaultSyncAuthenticationProvider,
        SyncAuthenticationProvider,
    )
    from a2c_smcp.server.credentials import JWTVerifier, SharedSecret
    from a2c_smcp.server.key_file import KeyFile
    from a2c_smcp.server.namespace import BaseNamespace, SMCPNamespace
    from a2c_smcp.server.openid import ClaimRule, OpenIDVerifier
    from a2c_smcp.server.registry import MemoryRegistry
    from a2c_smcp.server.serving import run
    from a2c_smcp.server.sync_namespace import SyncBaseNamespace, SyncSMCPNamespace
    from a2c_smcp.server.types import OFFICE_ID, SID, AgentSession, BaseSession, ComputerSession, Session
    from a2c_smcp.server.utils import (
        aget_all_sessions_in_office,
        aget_computers_in_office,
        get_all_sessions_in_office,
        get_computers_in_office,
    )

__all__ = [
    "OFFICE_ID",
    "SID",
    "AgentSession",
    "AnonymousAuthenticationProvider",
    "AnonymousSyncAuthenticationProvider",
    "AuthenticationProvider",
    "BaseNamespace",
    "BaseSession",
    "ClaimRule",
    "ComputerSession",
    "CredentialAuthenticationProvider",
    "CredentialSyncAuthenticationProvider",
    "DefaultAuthenticationProvider",
    "DefaultSyncAuthenticationProvider",
    "Grant",
    "JWTVerifier",
    "KeyFile",
    "Limits",
    "MemoryRegistry",
    "OpenIDVerifier",
    "SMCPApp",
    "SMCPNamespace",
    "Session",
    "SharedSecret",
    "SyncAuthenticationProvider",
    "SyncBaseNamespace",
    "SyncSMCPApp",
    "SyncSMCPNamespace",
    "aget_all_sessions_in_office",
    "aget_computers_in_office",
    "create_app",
    "create_wsgi_app",
    "get_all_sessions_in_office",
    "get_computers_in_office",
    "run",
]

__getattr__ = lazily(
    __name__,
    {
        "a2c_smcp.protocol.grants": ["Grant"],
        "a2c_smcp.protocol.limits": ["Limits"],
        "a2c_smcp.server.app": ["SMCPApp", "SyncSMCPApp", "create_app", "create_wsgi_app"],
        "a2c_smcp.server.auth": [
            "AnonymousAuthenticationProvider",
            "AnonymousSyncAuthenticationProvider",
            "AuthenticationProvider",
            "CredentialAuthenticationProvider",
            "CredentialSyncAuthenticationProvider",
            "DefaultAuthenticationProvider",
            "DefaultSyncAuthenticationProvider",
            "SyncAuthenticationProvider",
        ],
        "a2c_smcp.server.credentials": ["JWTVerifier", "SharedSecret"],
        "a2c_smcp.server.key_file": ["KeyFile"],
        "a2c_smcp.server.namespace": ["BaseNamespace", "SMCPNamespace"],
        "a2c_smcp.server.openid": ["ClaimRule", "OpenIDVerifier"],
        "a2c_smcp.server.registry": ["MemoryRegistry"],
        "a2c_smcp.server.sync_namespace": ["SyncBaseNamespace", "SyncSMCPNamespace"],
        "a2c_smcp.server.types": ["OFFICE_ID", "SID", "AgentSession", "BaseSession", "ComputerSession", "Session"],
        "a2c_smcp.server.utils": [
            "aget_all_sessions_in_office",
            "aget_computers_in_office",
            "get_all_sessions_in_office",
            "get_computers_in_office",
        ],
        "a2c_smcp.server.serving": ["run"],
    },
)
