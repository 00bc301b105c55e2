"""The options of the doctor, and the addresses that it checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from a2c_smcp.computer.config.secrets import Secrets, replace_secrets
from a2c_smcp.protocol.credentials import auth_with, headers_with
from a2c_smcp.server.setting_definitions import SettingDefinitions
from a2c_smcp.utils.url import check_url

if TYPE_CHECKING:
    from a2c_smcp.agent.client import AsyncSMCPAgentClient
    from a2c_smcp.computer.socketio.client import SMCPComputerClient


@dataclass(frozen=True)
class Options:
    """The options of `a2c doctor`, and the secrets that its report must not show."""

    port: int
    is_port_given: bool
    url: str | None
    api_key: str | None
    api_key_header: str
    ca_file: Path | None
    office: str | None
    name: str | None
    config: Path | None
    keyring: bool
    require_subscribe: bool
    start: bool
    start_timeout: float
    dialect: str = "auto"
    redis: str | None = None
    redis_prefix: str = SettingDefinitions.redis_prefix
    secrets: Secrets = field(default_factory=Secrets)

    def __post_init__(self) -> None:
        if self.api_key is not None:
            self.secrets.add(self.api_key)
        if self.url is not None:
            keep_secret(self.url, self.secrets)
        if self.redis is not None:
            keep_secret(self.redis, self.secrets)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that carry the key."""
        return headers_with(self.api_key, self.api_key_header)

    async def reach(self, client: AsyncSMCPAgentClient | SMCPComputerClient, transports: list[str]) -> None:
        """Connect a client to the Server, over one of these transports, without joining an office."""
        await client.reach(
            self.url or "",
            office_id=self.office,
            headers=self.headers,
            auth=auth_with(self.api_key, self.api_key_header) or None,
            transports=transports,
        )


def keep_secret(url: str, secrets: Secrets) -> None:
    """Add the password and the tokens in a URL to the secrets."""
    # `replace_secrets` knows where a URL can carry secrets: user info, and query parameters with telling names.

    def remember(_: str, value: str) -> str:
        secrets.add(value)
        return value

    replace_secrets({"url": url}, remember)


@dataclass(frozen=True)
class Address:
    """The host, port and scheme of a URL."""

    host: str
    port: int
    is_tls: bool

    @classmethod
    def of(cls, url: str) -> Address:
        """The address of a URL.

        Raises:
            ValueError: the URL is invalid.
        """
        parts = check_url(url)
        is_tls = parts.scheme in ("https", "wss")
        return cls(parts.hostname or "", parts.port or (443 if is_tls else 80), is_tls)

    @property
    def origin(self) -> str:
        """The URL without path, query and user info, which may contain secrets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_tls else 'http'}://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether the address is loopback."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")
