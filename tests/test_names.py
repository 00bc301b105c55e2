"""Names that programs written for the protocol's documents, or for the published package, import."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest
from pydantic import TypeAdapter

from a2c_smcp import errors, smcp
from a2c_smcp.agent import AgentAuthProvider, AsyncSMCPAgentClient, SMCPAgentClient
from a2c_smcp.computer import Computer
from a2c_smcp.server import AuthenticationProvider

PATHS = {
    "a2c_smcp.smcp": "SMCP_NAMESPACE GET_FINDER_EVENT UPDATE_FINDER_EVENT UPDATE_FINDER_NOTIFICATION",
    "a2c_smcp.server.auth": "AuthenticationProvider DefaultAuthenticationProvider",
    "a2c_smcp.server.base": "BaseNamespace SyncBaseNamespace",
    "a2c_smcp.server.namespace": "BaseNamespace SMCPNamespace",
    "a2c_smcp.server.sync_namespace": "SyncSMCPNamespace",
    "a2c_smcp.server.types": "OFFICE_ID SID Session ComputerSession AgentSession",
    "a2c_smcp.server.utils": "aget_computers_in_office get_computers_in_office aget_all_sessions_in_office",
    "a2c_smcp.agent.auth": "AgentAuthProvider DefaultAgentAuthProvider",
    "a2c_smcp.agent.base": "AgentBase",
    "a2c_smcp.agent.client": "AsyncSMCPAgentClient",
    "a2c_smcp.agent.sync_client": "SMCPAgentClient",
    "a2c_smcp.agent.types": "AgentEventHandler AsyncAgentEventHandler",
    "a2c_smcp.computer.computer": "Computer",
    "a2c_smcp.computer.base": "BaseComputer",
    "a2c_smcp.computer.types": "ToolCallRecord",
    "a2c_smcp.computer.socketio.client": "SMCPComputerClient",
    "a2c_smcp.computer.mcp_clients.model": "A2C_TOOL_META A2C_VRL_TRANSFORMED ToolMeta StdioServerConfig "
    "SseServerConfig StreamableHttpServerConfig MCPServerConfig MCPServerPromptStringInput MCPServerPickStringInput "
    "MCPServerCommandInput MCPServerInput",
    "a2c_smcp.computer.mcp_clients.manager": "MCPServerManager",
    "a2c_smcp.computer.mcp_clients.base_client": "MCPClient",
    "a2c_smcp.computer.mcp_clients.stdio_client": "StdioClient",
    "a2c_smcp.computer.mcp_clients.sse_client": "SseClient",
    "a2c_smcp.computer.mcp_clients.http_client": "HttpClient",
    "a2c_smcp.computer.desktop.organize": "organize_desktop",
    "a2c_smcp.computer.finder.organize": "organize_finder",
    "a2c_smcp.computer.finder.aggregator": "FinderAggregator",
    "a2c_smcp.computer.inputs.resolver": "InputResolver",
    "a2c_smcp.computer.utils.dpe_uri": "ParsedDPEUri parse_dpe_uri build_dpe_uri",
    "a2c_smcp.utils.window_uri": "WindowURI",
    "a2c_smcp.utils.dpe_uri": "ParsedDPEUri parse_dpe_uri build_dpe_uri",
}


@pytest.mark.parametrize("module", PATHS)
def test_the_documents_names_are_where_they_say(module: str) -> None:
    found = importlib.import_module(module)
    for name in PATHS[module].split():
        assert getattr(found, name) is not None


def test_a_name_that_two_modules_offer_is_the_same_thing() -> None:
    from a2c_smcp.computer import base as computer_base
    from a2c_smcp.server import BaseNamespace, SyncBaseNamespace, base

    assert base.BaseNamespace is BaseNamespace
    assert base.SyncBaseNamespace is SyncBaseNamespace
    assert issubclass(Computer, computer_base.BaseComputer)
    with pytest.raises(AttributeError):
        base.Nonsense  # noqa: B018  # pyright: ignore


def test_clients_derive_from_the_bases_that_the_documents_name() -> None:
    from a2c_smcp.agent.base import AgentBase
    from a2c_smcp.computer.mcp_clients.base_client import MCPClient
    from a2c_smcp.computer.mcp_clients.http_client import HttpClient
    from a2c_smcp.computer.mcp_clients.sse_client import SseClient
    from a2c_smcp.computer.mcp_clients.stdio_client import StdioClient

    assert all(issubclass(client, AgentBase) for client in (AsyncSMCPAgentClient, SMCPAgentClient))
    assert all(issubclass(client, MCPClient) for client in (HttpClient, SseClient, StdioClient))


@pytest.mark.parametrize(
    ("shape", "required", "optional"),
    [
        (smcp.DPEPageSummary, "page_index title element_count uri", "doc_ref"),
        (smcp.DPEElementDetail, "element_id category content", "summary doc_ref page_index uri metadata"),
        (
            smcp.DPEDocumentSummary,
            "doc_ref uri file_uri file_type title page_count server",
            "keywords summary last_modified",
        ),
        (smcp.GetFinderReq, "agent req_id computer", "keywords file_type offset limit"),
        (smcp.GetFinderRet, "documents total_count req_id", "unindexed_count"),
        (smcp.UpdateComputerConfigReq, "computer", ""),
    ],
)
def test_a_shape_has_the_fields_of_the_documents(shape: Any, required: str, optional: str) -> None:
    schema = TypeAdapter(shape).json_schema()
    assert set(schema["required"]) == set(required.split())
    assert set(schema["properties"]) == set(required.split() + optional.split())


def test_an_error_without_details_has_none_on_the_wire() -> None:
    assert errors.to_payload(errors.NotFoundError("no")) == {"error": {"code": 404, "message": "no"}}
    assert errors.to_payload(errors.NotFoundError("no", details={})) == {"error": {"code": 404, "message": "no"}}


@pytest.mark.parametrize("provider", [AgentAuthProvider, AuthenticationProvider])
def test_a_provider_is_abstract(provider: type) -> None:
    assert inspect.isabstract(provider)
    with pytest.raises(TypeError):
        provider()
