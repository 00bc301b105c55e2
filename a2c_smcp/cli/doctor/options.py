"""What the doctor is asked to look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from a2c_smcp.computer.config.secrets import Secrets, replace_secrets
from a2c_smcp.utils.url import check_url

if TYPE_CHECKING:
    from a2c_smcp.agent.client import AsyncSMCPAgentClient
    from a2c_smcp.computer.socketio.client import SMCPComputerClient


@dataclass(frozen=True)
class Options:
    """The options of `a2c doctor`, and the secrets that nothing it says may hold."""

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
    secrets: Secrets = field(default_factory=Secrets)

    def __post_init__(self) -> None:
        if self.api_key is not None:
            self.secrets.add(self.api_key)
        if self.url is not None:
            keep_secret(self.url, self.secrets)

    @property
    def headers(self) -> dict[str, str]:
        """What a client sends with its first request."""
        return {self.api_key_header: self.api_key} if self.api_key is not None else {}

    async def reach(self, client: AsyncSMCPAgentClient | SMCPComputerClient, transports: list[str]) -> None:
        """Connect a client to the Server, over one of these transports, without joining an office."""
        await client.reach(self.url or "", headers=self.headers, auth=self.headers or None, transports=transports)


def keep_secret(url: str, secrets: Secrets) -> None:
    """Let nothing be seen of a password or token in an address."""

    def remember(_: str, value: str) -> str:
        secrets.add(value)
        return value

    replace_secrets({"url": url}, remember)


@dataclass(frozen=True)
class Address:
    """Where somebody listens."""

    host: str
    port: int
    is_tls: bool

    @classmethod
    def of(cls, url: str) -> Address:
        """Where an address leads to.

        Raises:
            ValueError: that is no address.
        """
        parts = check_url(url)
        is_tls = parts.scheme in ("https", "wss")
        return cls(parts.hostname or "", parts.port or (443 if is_tls else 80), is_tls)

    @property
    def origin(self) -> str:
        """The address without anything that could be a secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_tls else 'http'}://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether it is this machine."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")
