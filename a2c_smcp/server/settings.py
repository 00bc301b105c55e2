"""What an operator may set: flags, then the environment (`A2C_…`), then a TOML file, in that order."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server.auth import DEFAULT_API_KEY_NAME, AuthenticationProvider, CredentialAuthenticationProvider
from a2c_smcp.server.credentials import JWTVerifier, SharedSecret, Verifier
from a2c_smcp.server.key_file import KeyFile

_DEFAULTS = Limits()
LIMITS = {
    "max_message_bytes": "message_bytes",
    "requests_per_second": "requests_per_second",
    "request_burst": "request_burst",
    "max_calls_in_flight": "calls_in_flight",
    "connections_per_ip": "connections_per_ip",
    "max_name_length": "name_length",
    "max_tool_timeout": "tool_timeout",
    "default_timeout": "default_timeout",
}
"""Settings, and the limits that they set."""


class ServerSettings(BaseSettings):
    """The settings of `a2c server`."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(env_prefix="A2C_", extra="forbid")

    host: str = "127.0.0.1"
    """Any address but loopback wants authentication, or `insecure`."""
    port: int = Field(default=8000, ge=0, le=65535)
    socketio_path: str = "/socket.io"
    cors_origins: str | None = None
    """An open Server on loopback lets in the pages of its own machine; any other lets in its own origin."""
    metrics: bool = True
    """On the same port as everything else."""
    metrics_by_office: bool = False
    """Off, because every office adds time series; at most 1,000 offices have their own."""
    forwarded_allow_ips: str = "127.0.0.1"
    grace: float = Field(default=10.0, ge=0)
    """Then they are refused, every member is announced as leaving, and the Server ends."""

    api_key: SecretStr | None = None
    api_key_header: str = DEFAULT_API_KEY_NAME
    keys_file: Path | None = None
    """It is read again when it changes."""
    jwt_key: SecretStr | None = None
    """The key of JSON Web Tokens itself, for where there is no file; `jwt_key_file` beats it."""
    jwt_key_file: Path | None = None
    """The key alone decides on the algorithm. A secret has at least 32 bytes."""
    jwt_audience: str | None = None
    jwt_issuer: str | None = None
    insecure: bool = False
    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None

    max_message_bytes: int = Field(default=_DEFAULTS.message_bytes, ge=1_000)
    """In bytes. A larger one is answered with 413, and above twice that the connection ends."""
    requests_per_second: float = Field(default=_DEFAULTS.requests_per_second, ge=0)
    """One too many is answered with 429."""
    request_burst: int = Field(default=_DEFAULTS.request_burst, ge=1)
    """One too many is answered with 429."""
    max_calls_in_flight: int = Field(default=_DEFAULTS.calls_in_flight, ge=0)
    """One too many is answered with 429."""
    connections_per_ip: int = Field(default=_DEFAULTS.connections_per_ip, ge=0)
    """One too many is refused with 429."""
    max_name_length: int = Field(default=_DEFAULTS.name_length, ge=1)
    """A longer one is refused with 400."""
    max_tool_timeout: int = Field(default=_DEFAULTS.tool_timeout, ge=1)
    """A call that asks for more is refused with 400."""
    default_timeout: int = Field(default=_DEFAULTS.default_timeout, ge=1)
    """Then the answer is 408."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["human", "json"] = "human"

    @classmethod
    def load(cls, flags: dict[str, Any], config: Path | None = None) -> ServerSettings:
        """Read the settings; `flags` holds only what was given.

        Raises:
            pydantic.ValidationError: a value is wrong, or the file has a key nobody knows.
            OSError, tomllib.TOMLDecodeError: the file cannot be read.
        """
        if config is None:
            return cls(**flags)
        config.stat()  # a missing file is an error, not an empty one

        class FromFile(cls):
            model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
                env_prefix="A2C_", extra="forbid", toml_file=config
            )

        return FromFile(**flags)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    def check_tls(self) -> None:
        """Check that TLS can be served as it is set.

        Raises:
            ValueError: only one of the two files is set.
            OSError: one of them cannot be read.
        """
        if (self.ssl_certfile is None) != (self.ssl_keyfile is None):
            raise ValueError("--ssl-certfile and --ssl-keyfile go together")
        for file in (self.ssl_certfile, self.ssl_keyfile):
            if file is not None:
                file.read_bytes()

    @property
    def limits(self) -> Limits:
        """The limits of §11 of the protocol."""
        return Limits(**{limit: getattr(self, name) for name, limit in LIMITS.items()})

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the Server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def auth_provider(self) -> AuthenticationProvider | None:
        """Who may come in; None lets everybody in.

        Raises:
            ValueError, OSError: a key or a file is not usable.
        """
        verifiers: list[Verifier] = []
        if self.api_key is not None:
            verifiers.append(SharedSecret(self.api_key.get_secret_value()))
        if self.keys_file is not None:
            verifiers.append(KeyFile(self.keys_file))
        jwt_key = self.jwt_key.get_secret_value() if self.jwt_key else None
        if self.jwt_key_file is not None:
            jwt_key = self.jwt_key_file.read_text("utf-8").strip()
        if jwt_key is not None:
            verifiers.append(JWTVerifier(jwt_key, audience=self.jwt_audience, issuer=self.jwt_issuer))
        if not verifiers:
            return None
        return CredentialAuthenticationProvider(*verifiers, api_key_name=self.api_key_header)
