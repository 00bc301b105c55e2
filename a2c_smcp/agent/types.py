"""The types that a program passes to an Agent, and the event handlers that an Agent calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from a2c_smcp.protocol.blob_download import Download
from a2c_smcp.protocol.document_search import DocumentPlace, DocumentSearch, FoundDocument, Passage, SearchSource
from a2c_smcp.protocol.handshake import ServerInfo
from a2c_smcp.protocol.questions import FormField, LogMessage, Option, Progress, Question, Reply
from a2c_smcp.protocol.upkeep import Change, ChangeKind, Kind
from a2c_smcp.protocol.upload import Upload
from a2c_smcp.smcp import (
    EnterOfficeNotification,
    GetFinderRet,
    LeaveOfficeNotification,
    SMCPTool,
    UpdateMCPConfigNotification,
    UpdateResourceNotification,
    UpdateSkillsNotification,
)

if TYPE_CHECKING:
    from a2c_smcp.agent.client import AsyncSMCPAgentClient
    from a2c_smcp.agent.sync_client import SMCPAgentClient


class AgentConfig(TypedDict):
    """The name of an Agent, and its office."""

    agent: str
    office_id: str


class AgentEventHandler(Protocol):
    """The methods that an event handler of `SMCPAgentClient` may have, any of them.

    The client calls them one after another, in a thread of their own, so they may use the client. It logs exceptions.
    """

    def on_computer_enter_office(self, data: EnterOfficeNotification, client: SMCPAgentClient) -> Any:
        """A Computer joined the office."""

    def on_computer_leave_office(self, data: LeaveOfficeNotification, client: SMCPAgentClient) -> Any:
        """A Computer left the office."""

    def on_computer_update_config(self, data: UpdateMCPConfigNotification, client: SMCPAgentClient) -> Any:
        """The configuration of a Computer changed."""

    def on_tools_received(self, computer: str, tools: list[SMCPTool], client: SMCPAgentClient) -> Any:
        """A Computer joined, or its tools changed: its current tools."""

    def on_desktop_updated(self, computer: str, desktops: list[str], client: SMCPAgentClient) -> Any:
        """The windows of a Computer changed. They are fetched because the handler has this method."""

    def on_finder_updated(self, computer: str, finder: GetFinderRet, client: SMCPAgentClient) -> Any:
        """Documents of a Computer changed: the first 20. They are fetched because the handler has this method."""

    def on_update_resources(self, data: UpdateMCPConfigNotification, client: SMCPAgentClient) -> Any:
        """The list of resources or templates of a Computer changed."""

    def on_update_prompts(self, data: UpdateMCPConfigNotification, client: SMCPAgentClient) -> Any:
        """The list of prompts of a Computer changed."""

    def on_update_skills(self, data: UpdateSkillsNotification, client: SMCPAgentClient) -> Any:
        """The skills of a Computer changed."""

    def on_update_resource(self, data: UpdateResourceNotification, client: SMCPAgentClient) -> Any:
        """A resource that the program watches (`watch_resource`) changed."""

    def on_disconnected(self, client: SMCPAgentClient) -> Any:
        """The connection to the Server broke. The client reconnects."""

    def on_rejoined(self, client: SMCPAgentClient) -> Any:
        """The client is back in its office."""

    def on_question(self, question: Question, client: SMCPAgentClient) -> Any:
        """A tool asks a question, in the thread of its call: returns a `Reply`, a mapping or None."""


class AsyncAgentEventHandler(Protocol):
    """The methods that an event handler may have, any of them; with `AsyncSMCPAgentClient` they may be plain or async.

    The client calls them one after another, so they may use the client. It logs exceptions. `AsyncSMCPAgentClient`
    calls them on its event loop, `SMCPAgentClient` in a thread of their own, where it runs an awaitable to its end.
    """

    async def on_computer_enter_office(self, data: EnterOfficeNotification, client: AsyncSMCPAgentClient) -> Any:
        """A Computer joined the office."""

    async def on_computer_leave_office(self, data: LeaveOfficeNotification, client: AsyncSMCPAgentClient) -> Any:
        """A Computer left the office."""

    async def on_computer_update_config(self, data: UpdateMCPConfigNotification, client: AsyncSMCPAgentClient) -> Any:
        """The configuration of a Computer changed."""

    async def on_tools_received(self, computer: str, tools: list[SMCPTool], client: AsyncSMCPAgentClient) -> Any:
        """A Computer joined, or its tools changed: its current tools."""

    async def on_desktop_updated(self, computer: str, desktops: list[str], client: AsyncSMCPAgentClient) -> Any:
        """The windows of a Computer changed. They are fetched because the handler has this method."""

    async def on_finder_updated(self, computer: str, finder: GetFinderRet, client: AsyncSMCPAgentClient) -> Any:
        """Documents of a Computer changed: the first 20. They are fetched because the handler has this method."""

    async def on_update_resources(self, data: UpdateMCPConfigNotification, client: AsyncSMCPAgentClient) -> Any:
        """The list of resources or templates of a Computer changed."""

    async def on_update_prompts(self, data: UpdateMCPConfigNotification, client: AsyncSMCPAgentClient) -> Any:
        """The list of prompts of a Computer changed."""

    async def on_update_skills(self, data: UpdateSkillsNotification, client: AsyncSMCPAgentClient) -> Any:
        """The skills of a Computer changed."""

    async def on_update_resource(self, data: UpdateResourceNotification, client: AsyncSMCPAgentClient) -> Any:
        """A resource that the program watches (`watch_resource`) changed."""

    async def on_disconnected(self, client: AsyncSMCPAgentClient) -> Any:
        """The connection to the Server broke. The client reconnects."""

    async def on_rejoined(self, client: AsyncSMCPAgentClient) -> Any:
        """The client is back in its office."""

    async def on_question(self, question: Question, client: AsyncSMCPAgentClient) -> Any:
        """A tool asks a question: returns a `Reply`, a mapping or None. Exceptions are raised by the call."""


__all__ = [
    "AgentConfig",
    "AgentEventHandler",
    "AsyncAgentEventHandler",
    "Change",
    "ChangeKind",
    "DocumentPlace",
    "DocumentSearch",
    "Download",
    "FormField",
    "FoundDocument",
    "Kind",
    "LogMessage",
    "Option",
    "Passage",
    "Progress",
    "Question",
    "Reply",
    "SearchSource",
    "ServerInfo",
    "Upload",
]
