"""The credentials of an Agent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from a2c_smcp.agent.types import AgentConfig
from a2c_smcp.protocol.credentials import HEADER, auth_with, headers_with


class AgentAuthProvider(ABC):
    """Provides the name, the office and the credentials of an Agent. The client asks again at every reconnection."""

    @abstractmethod
    def get_agent_id(self) -> str:
        """The Agent's name; `join_office` may be given another."""

    @abstractmethod
    def get_connection_auth(self) -> dict[str, Any] | None:
        """The `auth` payload of Socket.IO, or None."""

    @abstractmethod
    def get_connection_headers(self) -> dict[str, str]:
        """The HTTP headers of the connection."""

    @abstractmethod
    def get_agent_config(self) -> AgentConfig:
        """The name and the office that `join_office` uses by default."""


class DefaultAgentAuthProvider(AgentAuthProvider):
    """A fixed name and office, and an API key or token, which is sent under every name that a Server may expect, in
    headers and in the `auth` payload. `api_key_header` is one more name."""

    def __init__(
        self,
        agent_id: str,
        office_id: str,
        api_key: str | None = None,
        api_key_header: str = HEADER,
        extra_headers: Mapping[str, str] | None = None,
        auth_data: Mapping[str, Any] | None = None,
    ) -> None:
        self._config = AgentConfig(agent=agent_id, office_id=office_id)
        self._headers: dict[str, str] = {**headers_with(api_key, api_key_header), **(extra_headers or {})}
        self._auth: dict[str, Any] = {**auth_with(api_key, api_key_header), **(auth_data or {})}

    def get_agent_id(self) -> str:
        """The Agent's name."""
        return self._config["agent"]

    def get_connection_auth(self) -> dict[str, Any] | None:
        """The key and `auth_data`."""
        return dict(self._auth) or None

    def get_connection_headers(self) -> dict[str, str]:
        """The key and `extra_headers`."""
        return dict(self._headers)  # a copy: the library adds to the headers of a connection, and removes cookies

    def get_agent_config(self) -> AgentConfig:
        """The name and the office that `join_office` uses by default."""
        return AgentConfig(**self._config)
