"""The names that the pages of the Python API describe, in reading order."""

from __future__ import annotations

from a2c_smcp import agent, computer, errors, server
from a2c_smcp.agent.async_binaries import AsyncBinaries
from a2c_smcp.agent.async_resources import AsyncResources
from a2c_smcp.agent.async_search import AsyncDocumentSearch
from a2c_smcp.agent.async_skills import AsyncSkills
from a2c_smcp.agent.base import AgentBase
from a2c_smcp.agent.calling import CallingAgent
from a2c_smcp.agent.keeping import KeepingAgent
from a2c_smcp.agent.toolkit import ToolkitBase
from a2c_smcp.computer.mcp_clients.manager import MCPServerManager
from a2c_smcp.computer.socketio.recognizing import RecognizingClient
from a2c_smcp.computer.socketio.requests import RequestHandlers
from a2c_smcp.utils import ParsedDPEUri, WindowURI, build_dpe_uri, is_dpe_uri, is_window_uri, parse_dpe_uri
from a2c_smcp.utils.results import CallToolResult

from .errors import classes
from .markdown import code, table
from .python import Section, Topic, page_of

BOTH_FORMS = (
    "If a heading names two classes, the first is for asyncio and the second blocks. The signatures are those of the "
    "first; the second has the same without `async`. Other differences are shown for both."
)

AGENT = [
    Section(
        "Clients",
        "a2c_smcp.agent",
        BOTH_FORMS,
        [
            Topic(
                agent.AsyncSMCPAgentClient,
                agent.SMCPAgentClient,
                bases=(
                    AsyncDocumentSearch,
                    AsyncResources,
                    AsyncBinaries,
                    AsyncSkills,
                    AgentBase,
                    KeepingAgent,
                    CallingAgent,
                ),
                inherited=("office_id", "emit", "call"),
                hidden=("role", "forbidden_prefixes", "name", "event_handler"),
            ),
        ],
    ),
    Section(
        "Changes",
        "a2c_smcp.agent",
        "`agent.changes()` yields each change as a `Change`. An event handler has a method for each kind.",
        [Topic(agent.Change), Topic(agent.AsyncAgentEventHandler, agent.AgentEventHandler)],
    ),
    Section(
        "Searches",
        "a2c_smcp.agent",
        "`search_documents` returns a `DocumentSearch`. `iter_search_documents` yields one for each answer.",
        [
            Topic(agent.DocumentSearch),
            Topic(agent.FoundDocument),
            Topic(agent.Passage),
            Topic(agent.DocumentPlace),
            Topic(agent.SearchSource),
        ],
    ),
    Section(
        "Large images and files",
        "a2c_smcp.agent",
        "The client calls `on_download` with a `Download` for each part that arrives.",
        [Topic(agent.Download)],
    ),
    Section(
        "Uploads",
        "a2c_smcp.agent",
        "`upload` calls `on_progress` with an `Upload` for each part that has arrived.",
        [Topic(agent.Upload)],
    ),
    Section(
        "Credentials",
        "a2c_smcp.agent",
        "`in_office` creates a `DefaultAgentAuthProvider`. For tokens that expire, write your own provider.",
        [Topic(agent.DefaultAgentAuthProvider), Topic(agent.AgentAuthProvider), Topic(agent.AgentConfig)],
    ),
    Section(
        "The Server",
        "a2c_smcp.agent",
        "`agent.server_info` is what the Server said about itself at the last join.",
        [Topic(agent.ServerInfo)],
    ),
    Section(
        "Tools for a model",
        "a2c_smcp.agent",
        "`a2c_smcp.agent.adapters.langchain.langchain_tools(toolkit)` and "
        "`a2c_smcp.agent.adapters.openai_agents.openai_agents_tools(toolkit)` pass the tools of a toolkit to these "
        "frameworks.",
        [
            Topic(agent.Toolkit, agent.SyncToolkit, bases=(ToolkitBase,)),
            Topic(agent.Choice),
            Topic(agent.Answer),
            Topic(agent.Answers),
        ],
    ),
]

COMPUTER = [
    Section(
        "A Computer",
        "a2c_smcp.computer",
        "`ConfirmCallback` is the type of a `confirm_callback`: a plain or async function of `(req_id, server, "
        "tool, parameters)` that returns whether the call may run.",
        [
            Topic(computer.Computer, hidden=("catch_up",)),
            Topic(
                computer.SMCPComputerClient,
                bases=(RecognizingClient, RequestHandlers),
                inherited=("office_id",),
                hidden=("role", "emit_update", "on_tool_call_cancel"),
            ),
            Topic(computer.call_to_confirm),
            Topic(computer.CallToConfirm),
        ],
    ),
    Section(
        "Configuration",
        "a2c_smcp.computer",
        "The models of a configuration are `StdioServerConfig`, `StreamableHttpServerConfig` and `SseServerConfig` "
        "(together `MCPServerConfig`) with `StdioParameters`, `StreamableHttpParameters`, `SseParameters` and "
        "`OAuthParameters`, `ToolMeta`, and `MCPServerPromptStringInput`, `MCPServerPickStringInput` (with "
        "`PickOption`) and `MCPServerCommandInput` (together `MCPServerInput`). "
        "[Configuration of a Computer](../configuration.md) describes their fields.",
        [
            Topic(computer.load_config),
            Topic(computer.server_from),
            Topic(computer.LoadedConfig),
            Topic(computer.ConfigError),
            Topic(computer.LoginStore),
        ],
    ),
    Section(
        "State",
        "a2c_smcp.computer",
        "",
        [Topic(computer.ServerStatus), Topic(computer.ServerState), Topic(computer.ToolCallRecord)],
    ),
    Section(
        "MCP servers",
        "a2c_smcp.computer.mcp_clients.manager",
        "`computer.mcp_manager` runs the MCP servers of a Computer. Programs rarely need it.",
        [
            Topic(
                MCPServerManager,
                hidden=("book", "views", "sessions", "session", "be_listed", "script", "next_change", "is_coming"),
            )
        ],
    ),
]

_REGISTRY = ("member", "office", "roster", "offices_with", "commit")
"""Methods that only the Server calls."""
SERVER = [
    Section(
        "Applications",
        "a2c_smcp.server",
        BOTH_FORMS,
        [
            Topic(server.create_app),
            Topic(server.create_wsgi_app),
            Topic(server.SMCPApp, server.SyncSMCPApp, hidden=("__init__",)),
            Topic(server.run),
        ],
    ),
    Section(
        "Namespaces",
        "a2c_smcp.server",
        "Register a namespace on your own `socketio.AsyncServer` or `socketio.Server`, or pass a subclass to "
        "`create_app(namespace_class=…)`. `Session` is a `ComputerSession` or an `AgentSession`, and `BaseSession` has "
        "the fields of both; `OFFICE_ID` and `SID` are `str`.",
        [
            Topic(server.SMCPNamespace, server.SyncSMCPNamespace),
            Topic(server.BaseNamespace, server.SyncBaseNamespace, hidden=("server", "trigger_event", "answer")),
            Topic(server.aget_computers_in_office),
            Topic(server.get_computers_in_office),
            Topic(server.aget_all_sessions_in_office),
            Topic(server.get_all_sessions_in_office),
            Topic(server.ComputerSession),
            Topic(server.AgentSession),
        ],
    ),
    Section(
        "Authentication",
        "a2c_smcp.server",
        "",
        [
            Topic(server.AuthenticationProvider, server.SyncAuthenticationProvider),
            Topic(server.DefaultAuthenticationProvider, server.DefaultSyncAuthenticationProvider),
            Topic(server.CredentialAuthenticationProvider, server.CredentialSyncAuthenticationProvider),
            Topic(server.AnonymousAuthenticationProvider, server.AnonymousSyncAuthenticationProvider),
            Topic(server.Grant, hidden=("require",)),
            Topic(server.SharedSecret),
            Topic(server.KeyFile),
            Topic(server.JWTVerifier),
            Topic(server.OpenIDVerifier),
            Topic(server.ClaimRule),
        ],
    ),
    Section(
        "Limits and state",
        "a2c_smcp.server",
        "",
        [
            Topic(server.Limits),
            Topic(server.MemoryRegistry, hidden=_REGISTRY),
        ],
    ),
]

RESULTS = [
    Section("Results", "a2c_smcp.agent", "", [Topic(CallToolResult)]),
    Section(
        "Errors",
        "a2c_smcp.errors",
        "Every code has a class:\n\n"
        + table(
            ("exception", "code", "meaning"),
            [(code(each.__name__), f"[{each.code}](../errors.md#{each.code})", each.summary) for each in classes()],
        ),
        [Topic(errors.SMCPError), Topic(errors.OfficeRefusedError), Topic(errors.error_for)],
    ),
]

DOCUMENTS = [
    Section(
        "Addresses of documents",
        "a2c_smcp.utils",
        "`dpe://host/document/pages/0`: [the grammar](../../protocol.md#addresses-of-documents) has the rules.",
        [Topic(parse_dpe_uri), Topic(ParsedDPEUri), Topic(build_dpe_uri), Topic(is_dpe_uri)],
    ),
    Section("Addresses of windows", "a2c_smcp.utils", "", [Topic(WindowURI), Topic(is_window_uri)]),
]

PAGES = {
    "agent": page_of(
        "Python: the Agent",
        "This page lists the classes of `a2c_smcp.agent`. [Write an Agent](../../agent.md) shows how to use them.",
        AGENT,
    ),
    "computer": page_of(
        "Python: the Computer",
        "This page lists the classes of `a2c_smcp.computer`. [Run a "
        "Computer](../../computer.md#embed-a-computer-in-your-program) shows how to use them.",
        COMPUTER,
    ),
    "server": page_of(
        "Python: the Server",
        "This page lists the classes of `a2c_smcp.server`. [Run the "
        "Server](../../server.md#embed-the-server-in-your-program) shows how to use them.",
        SERVER,
    ),
    "results": page_of(
        "Python: results and errors",
        "This page describes the results and the exceptions of calls. [Write an "
        "Agent](../../agent.md#when-a-call-raises-and-when-it-returns-the-error) explains when each occurs.",
        RESULTS,
    ),
    "documents": page_of(
        "Python: addresses of documents and windows",
        "This page describes the functions that parse and build addresses. An Agent reads documents with the methods "
        "of [its client](agent.md). [Serve a folder of documents](../../documents.md) and [Write an MCP "
        "server](../../mcp-servers.md) explain how to serve documents.",
        DOCUMENTS,
    ),
}
"""The generator of each page, by its name."""
