"""What both forms of the Agent share: its name, its credentials, and the calls of the event handler.

Nothing here waits, except in flows, which either form runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from a2c_smcp.agent.auth import AgentAuthProvider
from a2c_smcp.agent.calling import OnQuestion
from a2c_smcp.agent.keeping import KeepingAgent
from a2c_smcp.errors import OfficeRefusedError, SMCPError, error_for
from a2c_smcp.protocol.upkeep import Change, Kind
from a2c_smcp.smcp import NOTIFY_PREFIX
from a2c_smcp.types import Role

LEAST_SECONDS = 0.001
"""What is left of the time limit of a request that was hardly sent in time."""
SETTLE_SECONDS = 5.0
"""How long `in_office` waits for the tools of Computers that answer slowly."""

_HANDLERS = {
    "enter": "on_computer_enter_office",
    "leave": "on_computer_leave_office",
    "config": "on_computer_update_config",
    "tools": "on_tools_received",
    "desktop": "on_desktop_updated",
    "finder": "on_finder_updated",
    "resources": "on_update_resources",
    "prompts": "on_update_prompts",
    "skills": "on_update_skills",
    "resource": "on_update_resource",
    "disconnected": "on_disconnected",
    "rejoined": "on_rejoined",
}
_IMPLIED: tuple[tuple[str, Kind], ...] = (("on_desktop_updated", "desktop"), ("on_finder_updated", "finder"))


class AgentBase(KeepingAgent):
    """An Agent, without what waits.

    `keep` names what is fetched whenever it changes, beside the tools: "config", "desktop", "finder". The latter two
    are also kept if the event handler has a method for them.
    """

    role: ClassVar[Role] = "agent"
    _forbidden_prefixes: ClassVar[tuple[str, ...]] = (NOTIFY_PREFIX,)

    def _initialize_agent(
        self,
        auth_provider: AgentAuthProvider,
        event_handler: Any,
        keep: Iterable[Kind],
        on_question: OnQuestion | None,
    ) -> None:
        self.auth_provider = auth_provider
        self.event_handler = event_handler
        self.name = auth_provider.get_agent_id()
        # A handler with a method for windows or documents wants their contents. A program without one may only want to
        # know that they changed, and each fetch costs the Computer reads of its MCP servers.
        implied: list[Kind] = [kind for method, kind in _IMPLIED if hasattr(event_handler, method)]
        self._initialize_calls(on_question)
        self._initialize_upkeep(("tools", *keep, *implied))

    # ---------------------------------------------------------------------------------------------------------- handler

    def _tell_handler(self, change: Change) -> Any:
        """Call the handler's method for this change, if it has one. The result may be awaitable."""
        method = getattr(self.event_handler, _HANDLERS[change.kind], None)
        if method is None:
            return None
        match change.kind:
            case "enter" | "leave" | "resource":
                return method(change.data, self)
            case "config" | "resources" | "prompts" | "skills":
                return method({"computer": change.computer}, self)
            case "disconnected" | "rejoined":
                return method(self)
            case _:
                return method(change.computer, change.data, self)

    # ------------------------------------------------------------------------------------------------------- connecting

    def _connect_options(self, given: dict[str, Any]) -> dict[str, Any]:
        """The office, and the headers and `auth` payload: functions, which the library calls at every reconnection."""
        provided = {
            "office_id": self.auth_provider.get_agent_config().get("office_id"),
            "headers": self.auth_provider.get_connection_headers,
            "auth": self.auth_provider.get_connection_auth,
        }
        return {**provided, **given}

    def _seat_for(self, office_id: str | None, agent_name: str | None) -> tuple[str, str]:
        config = self.auth_provider.get_agent_config()
        return office_id or config["office_id"], agent_name or config["agent"]


def typed(error: OfficeRefusedError) -> SMCPError:
    """The error class for the code with which the Server rejected a join or leave."""
    # Where no valid answer came, the cause is the error itself, such as a timeout with its time.
    if isinstance(error.__cause__, SMCPError):
        return error.__cause__
    return error_for(error.code, error.message)
