"""How a Computer logs in to a remote MCP server: the `oauth` setting of a server."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from a2c_smcp.utils.url import OF_MCP_SERVERS, check_url

CODE, CLIENT_CREDENTIALS, PRIVATE_KEY_JWT, ENTERPRISE = "code", "client_credentials", "private_key_jwt", "enterprise"
FLOWS = (CODE, CLIENT_CREDENTIALS, PRIVATE_KEY_JWT, ENTERPRISE)
_NEEDED: dict[str, tuple[str, ...]] = {
    CODE: (),
    CLIENT_CREDENTIALS: ("client_id", "client_secret"),
    PRIVATE_KEY_JWT: ("client_id", "private_key"),
    ENTERPRISE: ("client_id", "client_secret", "issuer", "identity_token"),
}
"""The fields that each flow cannot do without."""


def is_loopback(host: str) -> bool:
    """Whether a host name or address always means this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _check_flow(value: str) -> str:
    if value not in FLOWS and not value.startswith("${"):
        raise ValueError(f"must be one of {', '.join(FLOWS)}")
    return value


def _check_address(value: str) -> str:
    if "${" not in value:
        check_url(value, OF_MCP_SERVERS)
    return value


def _check_document(value: str) -> str:
    if "${" not in value and (not value.startswith("https://") or urlsplit(value).path in ("", "/")):
        raise ValueError("must be an https:// URL with a path")
    return value


def _check_redirect(value: str) -> str:
    if "${" not in value:
        parts = check_url(value, ("http",))
        if not is_loopback(parts.hostname or "") or parts.query or parts.fragment:
            raise ValueError("must be an address of this machine, such as http://127.0.0.1:8765/callback")
    return value


_Text = Annotated[str, Field(min_length=1)]
_Secret = Annotated[_Text | None, Field(repr=False)]
_Address = Annotated[_Text, AfterValidator(_check_address)]


class OAuthParameters(BaseModel):
    """How the Computer logs in to a server. Without it, the Computer registers itself and a person logs in."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    flow: Annotated[str, AfterValidator(_check_flow)] | None = None
    """`code`: a person logs in with a browser. `client_credentials`, `private_key_jwt` and `enterprise` need no person.
    If it is left out, `private_key` means `private_key_jwt`, `identity_token` means `enterprise`, otherwise `code`."""
    client_id: _Text | None = None
    """The client that is registered for this Computer; if left out, the Computer registers itself."""
    client_secret: _Secret = None
    """The secret of this client; better an input than plain text."""
    client_metadata_url: Annotated[_Text, AfterValidator(_check_document)] | None = None
    """An `https://` address of a client ID metadata document, for servers that support such documents."""
    private_key: _Secret = None
    """A private key in PEM format that signs the requests of `private_key_jwt`: RSA, EC or Ed25519."""
    scopes: list[str] | _Text | None = None
    """The rights to request, as a list or separated by spaces; if left out, those that the server names."""
    issuer: _Address | None = None
    """The authorization server that must be used; required for `enterprise`."""
    redirect_url: Annotated[_Text, AfterValidator(_check_redirect)] | None = None
    """Where the browser returns to, if the client is registered for one address only; by default, a free port."""
    identity_token: _Secret = None
    """For `enterprise`: the ID token of the company's identity provider, or the ID-JAG if `identity_token_url` is left
    out."""
    identity_token_url: _Address | None = None
    """For `enterprise`: where the identity provider exchanges the ID token for an ID-JAG."""
    identity_client_id: _Text | None = None
    """For `enterprise`: the client at the identity provider; if left out, `client_id`."""

    @property
    def chosen_flow(self) -> Literal["code", "client_credentials", "private_key_jwt", "enterprise"]:
        """The flow, as written or inferred."""
        if self.flow in FLOWS:
            return self.flow
        return PRIVATE_KEY_JWT if self.private_key else ENTERPRISE if self.identity_token else CODE

    @property
    def scope(self) -> str | None:
        """The configured rights, separated by spaces."""
        scopes = self.scopes.split() if isinstance(self.scopes, str) else self.scopes
        return " ".join(scopes) if scopes else None

    @property
    def client(self) -> str:
        """What identifies the client of this configuration; empty if it registers itself."""
        return self.client_id or self.client_metadata_url or ""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.flow is not None and self.flow not in FLOWS:  # a placeholder
            return self
        flow = self.chosen_flow
        lacking = [field for field in _NEEDED[flow] if getattr(self, field) is None]
        if lacking:
            raise ValueError(f"the flow {flow} needs {', '.join(lacking)}")
        if self.client_secret and not self.client_id:
            raise ValueError("client_secret belongs to a client_id, which is missing")
        return self

    @model_serializer(mode="wrap")
    def _written(self, inner: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only what is configured: an Agent reads this, and fields that do not apply would be noise."""
        return {name: value for name, value in inner(self).items() if value is not None}


class RemoteParameters(BaseModel):
    """The base of the parameters of servers over HTTP: those of a server without `oauth` have no such key."""

    @model_serializer(mode="wrap")
    def _without_empty_oauth(self, inner: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # `oauth` is younger than the protocol's shapes. A peer that checks them strictly must not see it everywhere.
        return {name: value for name, value in inner(self).items() if name != "oauth" or value is not None}
