"""How an Agent shows the Server who it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from a2c_smcp.agent.types import AgentConfig


class AgentAuthProvider(ABC):
    """Says who the Agent is, and what it shows at connecting. It is asked again at every reconnection."""

    @abstractmethod
    def get_agent_id(self) -> str:
        """The Agent's name, until it joins under another."""

    @abstractmethod
    def get_connection_auth(self) -> dict[str, Any] | None:
        """The Socket.IO `auth` data."""

    @abstractmethod
    def get_connection_headers(self) -> dict[str, str]:
        """HTTP headers."""

    @abstractmethod
    def get_agent_config(self) -> AgentConfig:
        """Name and office."""


class DefaultAgentAuthProvider(AgentAuthProvider):
    """A fixed name and office, and a key or token."""

    def __init__(
        self,
        agent_id: str,
        office_id: str,
        api_key: str | None = None,
        api_key_header: str = "x-api-key",
        extra_headers: Mapping[str, str] | None = None,
        auth_data: Mapping[str, Any] | None = None,
    ) -> None:
        self._config = AgentConfig(agent=agent_id, office_id=office_id)
        key = {api_key_header: api_key} if api_key else {}
        self._headers: dict[str, str] = {**key, **(extra_headers or {})}
        self._auth: dict[str, Any] = {**key, **(auth_data or {})}  # a proxy may keep the header for itself

    def get_agent_id(self) -> str:
        """The Agent's name."""
        return self._config["agent"]

    def get_connection_auth(self) -> dict[str, Any] | None:
        """The key, and what was given."""
        return dict(self._auth) or None

    def get_connection_headers(self) -> dict[str, str]:
        """The key, and what was given."""
        return dict(self._headers)

    def get_agent_config(self) -> AgentConfig:
        """Name and office."""
        return AgentConfig(**self._config)
