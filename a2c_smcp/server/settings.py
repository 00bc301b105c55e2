"""The settings of a Server, from flags, the environment (`A2C_…`) and a TOML file, in this order of precedence."""

from __future__ import annotations

import ipaddress
import tomllib
from pathlib import Path
from typing import Any, ClassVar, cast

from pydantic import SecretStr, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from a2c_smcp.protocol.dialects.versions import AllowedVersions
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server.auth import AuthenticationProvider, CredentialAuthenticationProvider
from a2c_smcp.server.cluster.address import RedisAddress
from a2c_smcp.server.credentials import AsyncVerifier, JWTVerifier, SharedSecret, Verifier
from a2c_smcp.server.key_file import KeyFile
from a2c_smcp.server.openid import ClaimRule, OpenIDVerifier
from a2c_smcp.server.public_url import read_public_url
from a2c_smcp.server.setting_definitions import SettingDefinitions, limits
from a2c_smcp.utils import jsonc

LIMITS = limits()
"""Settings, and the limits that they set."""


class ServerSettings(SettingDefinitions, BaseSettings):
    """The settings of `a2c server`."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(env_prefix="A2C_", extra="forbid")

    api_key: SecretStr | None = None
    admin_key: SecretStr | None = None
    jwt_key: SecretStr | None = None
    redis: SecretStr | None = None

    @classmethod
    def load(cls, flags: dict[str, Any], config: Path | None = None) -> ServerSettings:
        """Read the settings; `flags` holds only what was given.

        Raises:
            pydantic.ValidationError: a value is invalid, or the file has an unknown key.
            OSError, tomllib.TOMLDecodeError: the file cannot be read.
        """
        if config is None:
            return cls(**flags)
        config.stat()  # a missing file is an error, not an empty one

        # pydantic-settings reads the path of the file from the class, not from the instance.
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

    @field_validator("versions")
    @classmethod
    def _check_versions(cls, versions: str | None) -> str | None:
        if versions is not None:
            AllowedVersions.parse(versions)
        return versions

    def check_tls(self) -> None:
        """Check the settings of TLS.

        Raises:
            ValueError: only one of the two files is set.
            OSError: one of them cannot be read.
        """
        if (self.ssl_certfile is None) != (self.ssl_keyfile is None):
            raise ValueError("--ssl-certfile and --ssl-keyfile go together")
        for file in (self.ssl_certfile, self.ssl_keyfile):
            if file is not None:
                file.read_bytes()

    def check_cluster(self) -> None:
        """Check the settings of a cluster.

        Raises:
            ValueError: the URL is not one of a Redis, or there are several workers without Redis.
        """
        if self.redis is not None:
            RedisAddress.parse(self.redis.get_secret_value())
        elif self.workers > 1:
            raise ValueError(f"--workers {self.workers} requires --redis: workers share their offices through it")

    def profiles(self) -> dict[str, Any]:
        """The profiles of MCP hosts by name, not checked.

        Raises:
            ValueError: their file is not TOML or JSON.
            OSError: it cannot be read.
        """
        if not isinstance(self.mcp_profiles, Path):
            return dict(self.mcp_profiles or {})
        file = self.mcp_profiles
        text = file.read_text("utf-8")
        try:
            read: Any = jsonc.parse(text)[0] if file.suffix == ".json" else tomllib.loads(text)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        if not isinstance(read, dict):
            raise ValueError(f"{file}: an object is expected, with a profile for each name")
        return cast("dict[str, Any]", read)

    def claim_rules(self) -> list[ClaimRule]:
        """What tokens of the OpenID provider allow.

        Raises:
            ValueError: an entry is not valid.
            OSError: their file cannot be read.
        """
        entries: Any = self.oidc_grants or []
        place = "oidc_grants"
        if isinstance(self.oidc_grants, Path):
            place = f"{self.oidc_grants}: oidc_grants"
            try:
                entries = tomllib.loads(self.oidc_grants.read_text("utf-8")).get("oidc_grants", [])
            except ValueError as error:
                raise ValueError(f"{self.oidc_grants}: {error}") from None
        if not isinstance(entries, list):
            raise ValueError(f"{place}: [[oidc_grants]] tables are expected")
        rules: list[ClaimRule] = []
        for number, entry in enumerate(cast("list[object]", entries), 1):
            try:
                if not isinstance(entry, dict):
                    raise ValueError("a table is expected")
                rules.append(ClaimRule.of(cast("dict[str, Any]", entry)))
            except ValueError as error:
                raise ValueError(f"{place}[{number}]: {error}") from None
        return rules

    def check_logins(self) -> None:
        """Check the settings of logins.

        Raises:
            ValueError: they do not go together, or a value is not valid.
            OSError: a file cannot be read.
        """
        if self.public_url is not None:
            read_public_url(self.public_url)
        others = [name for name in ("oidc_audience", "oidc_scopes", "oidc_grants") if getattr(self, name) is not None]
        if self.oidc_issuer is None:
            if others:
                raise ValueError(f"--{others[0].replace('_', '-')} requires --oidc-issuer")
        elif self.oidc_audience is None and self.public_url is None:
            raise ValueError("--oidc-issuer requires --oidc-audience or --public-url: for whom its tokens must be")
        self.claim_rules()

    @property
    def limits(self) -> Limits:
        """The limits of §11 of the protocol."""
        return Limits(**{limit: getattr(self, name) for name, limit in LIMITS.items()})

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the Server."""
        # Other names are not resolved: what they resolve to can change, and the safe answer is that they are not local.
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def auth_provider(self) -> AuthenticationProvider | None:
        """The provider that checks credentials; None accepts every client.

        Raises:
            ValueError, OSError: a key or a file cannot be used.
        """
        verifiers: list[Verifier | AsyncVerifier] = []
        if self.api_key is not None:
            verifiers.append(SharedSecret(self.api_key.get_secret_value()))
        if self.admin_key is not None:
            verifiers.append(SharedSecret(self.admin_key.get_secret_value(), Grant(subject="admin-key", admin=True)))
        if self.keys_file is not None:
            verifiers.append(KeyFile(self.keys_file))
        jwt_key = self.jwt_key.get_secret_value() if self.jwt_key else None
        if self.jwt_key_file is not None:
            # Stripped: editors end a file with a line break, which would become part of an HS256 secret.
            jwt_key = self.jwt_key_file.read_text("utf-8").strip()
        if jwt_key is not None:
            verifiers.append(JWTVerifier(jwt_key, audience=self.jwt_audience, issuer=self.jwt_issuer))
        if self.oidc_issuer is not None:
            audience = self.oidc_audience or read_public_url(self.public_url or "")
            scopes = (self.oidc_scopes or "").split()
            verifiers.append(OpenIDVerifier(self.oidc_issuer, audience, rules=self.claim_rules(), scopes=scopes))
        if not verifiers:
            return None
        return CredentialAuthenticationProvider(*verifiers, api_key_name=self.api_key_header)
