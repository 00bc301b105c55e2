"""What a program gives to an Agent, and what it hears from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from a2c_smcp.protocol.upkeep import Change, ChangeKind, Kind
from a2c_smcp.smcp import (
    EnterOfficeNotification,
    GetFinderRet,
    LeaveOfficeNotification,
    SMCPTool,
    UpdateMCPConfigNotification,
)

if TYPE_CHECKING:
    from a2c_smcp.agent.client import AsyncSMCPAgentClient
    from a2c_smcp.agent.sync_client import SMCPAgentClient


class AgentConfig(TypedDict):
    """Who an Agent is, and where."""

    agent: str
    office_id: str


class AgentEventHandler(Protocol):
    """What a program hears from a blocking Agent; it may lack any of these.

    They are called one after another, in a thread of their own: a handler may use the client, and one that raises harms
    nobody.
    """

    def on_computer_enter_office(self, data: EnterOfficeNotification, client: SMCPAgentClient) -> Any:
        """A Computer came."""

    def on_computer_leave_office(self, data: LeaveOfficeNotification, client: SMCPAgentClient) -> Any:
        """A Computer went."""

    def on_computer_update_config(self, data: UpdateMCPConfigNotification, client: SMCPAgentClient) -> Any:
        """A Computer's configuration changed."""

    def on_tools_received(self, computer: str, tools: list[SMCPTool], client: SMCPAgentClient) -> Any:
        """The tools of a Computer that came, or whose tools changed."""

    def on_desktop_updated(self, computer: str, desktops: list[str], client: SMCPAgentClient) -> Any:
        """The windows of a Computer; with this handler, they are fetched whenever they change."""

    def on_finder_updated(self, computer: str, finder: GetFinderRet, client: SMCPAgentClient) -> Any:
        """The first documents of a Computer; with this handler, they are fetched whenever any changes."""

    def on_disconnected(self, client: SMCPAgentClient) -> Any:
        """The connection to the Server broke. The client tries to come back by itself."""

    def on_rejoined(self, client: SMCPAgentClient) -> Any:
        """The client is back in its office."""


class AsyncAgentEventHandler(Protocol):
    """What a program hears from an asynchronous Agent; it may lack any of these, and any may be a plain function.

    They are called one after another: a handler may use the client, and one that raises harms nobody.
    """

    async def on_computer_enter_office(self, data: EnterOfficeNotification, client: AsyncSMCPAgentClient) -> Any:
        """A Computer came."""

    async def on_computer_leave_office(self, data: LeaveOfficeNotification, client: AsyncSMCPAgentClient) -> Any:
        """A Computer went."""

    async def on_computer_update_config(self, data: UpdateMCPConfigNotification, client: AsyncSMCPAgentClient) -> Any:
        """A Computer's configuration changed."""

    async def on_tools_received(self, computer: str, tools: list[SMCPTool], client: AsyncSMCPAgentClient) -> Any:
        """The tools of a Computer that came, or whose tools changed."""

    async def on_desktop_updated(self, computer: str, desktops: list[str], client: AsyncSMCPAgentClient) -> Any:
        """The windows of a Computer; with this handler, they are fetched whenever they change."""

    async def on_finder_updated(self, computer: str, finder: GetFinderRet, client: AsyncSMCPAgentClient) -> Any:
        """The first documents of a Computer; with this handler, they are fetched whenever any changes."""

    async def on_disconnected(self, client: AsyncSMCPAgentClient) -> Any:
        """The connection to the Server broke. The client tries to come back by itself."""

    async def on_rejoined(self, client: AsyncSMCPAgentClient) -> Any:
        """The client is back in its office."""


__all__ = ["AgentConfig", "AgentEventHandler", "AsyncAgentEventHandler", "Change", "ChangeKind", "Kind"]
