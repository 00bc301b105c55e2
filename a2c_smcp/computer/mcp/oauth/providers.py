"""The providers of `mcp.client.auth`, which perform the flows of OAuth, with what they lack: a memory across restarts,
a configured issuer, and a choice of how a client authenticates."""

from __future__ import annotations

import re
import warnings
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx2
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from a2c_smcp.computer.config.oauth import OAuthParameters
from a2c_smcp.computer.mcp.oauth.store import Login

_TOKEN = re.compile(r"[\x21-\x7e]+")
"""The characters of a token (RFC 6749, appendix A.12), without the space, which would end it in a header."""


class Shelf:
    """Gives a provider what is stored, and takes what it obtains."""

    def __init__(self, login: Login) -> None:
        self.tokens = login.tokens
        self.client_info = login.client_info

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens of the login."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Take new tokens.

        Raises:
            OAuthFlowError: the token cannot be used.
        """
        if not _TOKEN.fullmatch(tokens.access_token):
            raise OAuthFlowError("the authorization server gave a token that a request cannot carry")
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client that registered itself."""
        return self.client_info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Take a client that has just registered itself."""
        self.client_info = client_info


class Restored(OAuthClientProvider):
    """A provider that goes on from a stored login: the library remembers neither addresses nor the expiry."""

    login: Login
    issuer: str | None = None

    async def _initialize(self) -> None:
        await super()._initialize()
        context = self.context
        context.oauth_metadata = self.login.metadata
        context.protected_resource_metadata = self.login.resource
        context.auth_server_url = self.login.authorization_server
        context.token_expiry_time = self.login.expires_at

    async def revocation(self) -> httpx2.Request | None:
        """The request that revokes the tokens (RFC 7009); None if the authorization server does not support that."""
        await self._initialize()
        context = self.context
        endpoint = context.oauth_metadata.revocation_endpoint if context.oauth_metadata is not None else None
        if endpoint is None or context.current_tokens is None or context.client_info is None:
            return None
        self._choose_method()
        token = context.current_tokens.refresh_token or context.current_tokens.access_token
        data = {"token": token, "client_id": context.client_info.client_id}
        data, headers = context.prepare_token_auth(data)
        return httpx2.Request("POST", str(endpoint), data=data, headers=headers)

    def _choose_method(self) -> None:
        """Decide how a client authenticates that has a secret, and no method assigned to it."""
        metadata, client = self.context.oauth_metadata, self.context.client_info
        if client is not None and client.client_secret and client.token_endpoint_auth_method is None:
            supported = metadata.token_endpoint_auth_methods_supported if metadata is not None else None
            is_post = supported is not None and "client_secret_basic" not in supported
            client.token_endpoint_auth_method = "client_secret_post" if is_post else "client_secret_basic"

    def _select_authorization_server(self, advertised: list[str]) -> str:
        if self.issuer is None:
            return super()._select_authorization_server(advertised)
        for server in advertised:
            if issuers_match(server, self.issuer):
                return server
        raise OAuthFlowError(f"the MCP server does not use the authorization server {self.issuer}, which is configured")

    def _expected_issuer(self) -> str:
        expected = super()._expected_issuer()
        if self.context.auth_server_url is not None:
            return expected
        metadata = self.context.oauth_metadata
        return str(metadata.issuer) if metadata is not None else _AnyOfOrigin(expected)


class _AnyOfOrigin(str):
    """An issuer that equals every issuer of its origin.

    MCP 2025-03-26 reads the metadata from the root of the MCP server, also if the issuer has a path there. The library
    demands that the two are equal. Whoever controls the origin controls all its paths, so the origin is enough.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and urlsplit(other)[:2] == urlsplit(str(self))[:2]

    def __hash__(self) -> int:
        return hash(urlsplit(str(self))[:2])


class CodeProvider(Restored):
    """Authorization code with PKCE, for a registered client or one that registers itself."""

    configured: OAuthClientInformationFull | None = None

    async def _initialize(self) -> None:
        await super()._initialize()
        if self.configured is not None:
            self.context.client_info = self.configured

    async def _perform_authorization(self) -> httpx2.Request:
        metadata = self.context.oauth_metadata
        if self.issuer is not None and (metadata is None or not issuers_match(str(metadata.issuer), self.issuer)):
            raise OAuthFlowError(f"no metadata of the authorization server {self.issuer}, which is configured")
        if metadata is not None:
            self._check_pkce(metadata.code_challenge_methods_supported)
        self._choose_method()
        return await super()._perform_authorization()

    def _check_pkce(self, methods: list[str] | None) -> None:
        # MCP 2025-11-25: a client refuses an authorization server that does not announce PKCE. Some support it and do
        # not say so; the owner who names the authorization server accepts that.
        if methods is None and self.issuer is None:
            raise OAuthFlowError(
                "the authorization server does not announce PKCE, which MCP requires; "
                'to accept that, name it as "issuer" in the "oauth" setting of the server'
            )
        if methods is not None and "S256" not in methods:
            raise OAuthFlowError("the authorization server does not support PKCE with S256")

    async def _refresh_token(self) -> httpx2.Request:
        self._choose_method()
        return await super()._refresh_token()


class SecretProvider(Restored, ClientCredentialsOAuthProvider):
    """Client credentials with a secret."""


class KeyProvider(Restored, PrivateKeyJWTOAuthProvider):
    """Client credentials with a signed assertion."""


def signer(settings: OAuthParameters) -> Callable[[str], Awaitable[str]]:
    """What signs assertions with the configured key."""
    assert settings.private_key is not None
    assert settings.client_id is not None
    # A key that came through an environment variable often has `\n` for its line ends.
    pem = settings.private_key.replace("\\n", "\n")
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError):
        raise OAuthFlowError("private_key is no private key in PEM format without a password") from None
    match key:
        case rsa.RSAPrivateKey():
            algorithm = "RS256"
        case ec.EllipticCurvePrivateKey():
            algorithm = {256: "ES256", 384: "ES384", 521: "ES512"}.get(key.curve.key_size, "ES256")
        case ed25519.Ed25519PrivateKey():
            algorithm = "EdDSA"
        case _:
            raise OAuthFlowError("private_key must be an RSA, EC or Ed25519 key")
    parameters = SignedJWTParameters(
        issuer=settings.client_id, subject=settings.client_id, signing_key=pem, signing_algorithm=algorithm
    )
    return parameters.create_assertion_provider()


@contextmanager
def without_issuer(settings: OAuthParameters) -> Generator[None]:
    """Allow a provider without an issuer, if none is configured."""
    # The library warns of a missing issuer, because the MCP server then decides who gets the client's credentials.
    # `docs/login.md` says so to the owner, who decides.
    with warnings.catch_warnings():
        if settings.issuer is None:
            warnings.simplefilter("ignore")
        yield
