"""The flows of a login: the providers of `mcp.client.auth`, restored from a stored login, and driven step by step.

A provider is a generator that yields requests. Usually an HTTP client drives it in the middle of a request to the MCP
server. Here it is driven alone: `Endpoints` sends its requests, within limits, and a person may take minutes at the
browser without holding up a call.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
)
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl, BaseModel, ValidationError

from a2c_smcp.computer.config.oauth import CLIENT_CREDENTIALS, ENTERPRISE, PRIVATE_KEY_JWT, OAuthParameters
from a2c_smcp.computer.mcp.oauth.challenge import Challenge
from a2c_smcp.computer.mcp.oauth.endpoints import Endpoints, check_endpoint
from a2c_smcp.computer.mcp.oauth.providers import (
    CodeProvider,
    KeyProvider,
    Restored,
    SecretProvider,
    Shelf,
    signer,
    without_issuer,
)
from a2c_smcp.computer.mcp.oauth.store import Login

if TYPE_CHECKING:
    from a2c_smcp.computer.mcp.oauth.loopback import Listener

NAME = "A2C Computer"
"""The name under which a Computer registers, and which authorization servers show to a person."""

ShowUrl = Callable[[str], Awaitable[None]]
"""Shows the address of a login to a person."""


class Flow:
    """One login, or one renewal, of an MCP server. `show_url` and `listener` are those of a person who logs in."""

    def __init__(
        self,
        login: Login,
        settings: OAuthParameters,
        endpoints: Endpoints,
        *,
        listener: Listener | None = None,
        show_url: ShowUrl | None = None,
    ) -> None:
        self._login = login
        self._settings = settings
        self._endpoints = endpoints
        self._listener = listener
        self._show_url = show_url
        self._shelf = Shelf(login)
        # The library omits the parameter `resource` for versions before 2025-06-18. The version of the connection is
        # not known here; newer servers require the parameter, and older ones ignore it.
        version = {MCP_PROTOCOL_VERSION_HEADER: LATEST_PROTOCOL_VERSION}
        self._request = httpx2.Request("POST", login.url, headers=version)

    async def log_in(self, challenge: Challenge) -> Login:
        """Log in, and return the new login.

        Raises:
            Untrusted: an address in the login must not be used.
            Unreachable: the authorization server does not answer.
            LoginDenied: the authorization server, or the person, rejected the login.
            OAuthFlowError: the login failed for another reason.
        """
        # Everything is discovered anew, and a client that registers itself does so again: the authorization server may
        # have changed or forgotten it, and the browser returns to another port. The rights of the old token are kept if
        # further ones are demanded.
        self._shelf.client_info = None
        if challenge.status == 401:
            self._shelf.tokens = None
        provider = self._provider(Login(url=self._login.url))
        answer = challenge.response(self._request, self._settings.scope)
        with _own_errors():
            async with aclosing(provider.async_auth_flow(self._request)) as flow:
                await self._advance(flow, await anext(flow))
                await self._advance(flow, await flow.asend(answer))
        return self._result(provider).model_copy(update={"demanded_scope": None})

    async def refresh(self) -> Login | None:
        """Exchange the refresh token; None if the authorization server rejects it.

        Raises:
            Untrusted: an address in the login must not be used.
            Unreachable: the authorization server does not answer.
        """
        provider = self._provider(self._login.model_copy(update={"expires_at": 1.0}))
        with _own_errors():
            async with aclosing(provider.async_auth_flow(self._request)) as flow:
                await self._advance(flow, await anext(flow))
        return self._result(provider) if self._shelf.tokens is not self._login.tokens else None

    async def revoke(self) -> None:
        """Revoke the tokens, if the authorization server supports that.

        Raises:
            Untrusted: an address in the login must not be used.
            Unreachable: the authorization server does not answer.
            OAuthFlowError: the authorization server rejects the request.
        """
        provider = self._provider(self._login)
        request = await provider.revocation() if isinstance(provider, Restored) else None
        if request is not None and (await self._endpoints.send(request)).status_code >= 300:
            raise OAuthFlowError(f"it answered HTTP {self._endpoints.status}")

    async def _advance(self, flow: AsyncGenerator[httpx2.Request, httpx2.Response], outgoing: httpx2.Request) -> None:
        """Send the requests of a provider until it wants to send the one to the MCP server."""
        while outgoing is not self._request:
            outgoing = await flow.asend(await self._endpoints.send(outgoing))

    def _result(self, provider: httpx2.Auth) -> Login:
        tokens = self._shelf.tokens
        if tokens is None:
            raise OAuthFlowError("the authorization server gave no token")
        found: dict[str, Any] = {"client_info": self._shelf.client_info}
        if isinstance(provider, Restored):
            context = provider.context
            found |= {
                "metadata": context.oauth_metadata,
                "resource": context.protected_resource_metadata,
                "authorization_server": context.auth_server_url,
                "requested_scope": context.client_metadata.scope or self._login.requested_scope,
            }
            if not isinstance(provider, CodeProvider) or provider.configured is not None:
                found["client_info"] = None  # the configuration has it
        now = time.time()
        expires_at = now + tokens.expires_in if tokens.expires_in is not None else None
        return self._login.model_copy(update={"tokens": tokens, "obtained_at": now, "expires_at": expires_at, **found})

    # ------------------------------------------------------------------------------------------------ one for each flow

    def _provider(self, login: Login) -> Restored | IdentityAssertionOAuthProvider:
        """The provider of the configured flow, which goes on from a login."""
        settings, flow = self._settings, self._settings.chosen_flow
        provider: Restored
        if flow == CLIENT_CREDENTIALS:
            with without_issuer(settings):
                provider = SecretProvider(
                    self._login.url,
                    self._shelf,
                    settings.client_id or "",
                    settings.client_secret or "",
                    scope=settings.scope,
                    issuer=settings.issuer,
                )
        elif flow == PRIVATE_KEY_JWT:
            with without_issuer(settings):
                provider = KeyProvider(
                    self._login.url,
                    self._shelf,
                    settings.client_id or "",
                    signer(settings),
                    scope=settings.scope,
                    issuer=settings.issuer,
                )
        elif flow == ENTERPRISE:
            return IdentityAssertionOAuthProvider(
                self._login.url,
                self._shelf,
                settings.client_id or "",
                settings.client_secret or "",
                settings.issuer or "",
                self._assertion,
                scope=settings.scope,
                token_endpoint_auth_method="client_secret_basic",  # which every authorization server must support
            )
        else:
            provider = self._code()
        provider.login = login
        return provider

    def _code(self) -> CodeProvider:
        settings = self._settings
        redirect = self._listener.url if self._listener is not None else "http://127.0.0.1/callback"
        provider = CodeProvider(
            self._login.url,
            OAuthClientMetadata(redirect_uris=[AnyUrl(redirect)], client_name=NAME),
            self._shelf,
            self._show,
            self._wait,
            settings.client_metadata_url,
        )
        provider.issuer = settings.issuer
        if settings.client_id is not None:
            provider.configured = OAuthClientInformationFull(
                client_id=settings.client_id,
                client_secret=settings.client_secret,
                redirect_uris=[AnyUrl(redirect)],
                issuer=settings.issuer,
                token_endpoint_auth_method=None if settings.client_secret else "none",
            )
        return provider

    async def _show(self, url: str) -> None:
        # The endpoint may have a query of its own (RFC 6749, section 3.1), and the library adds a second one to it.
        endpoint, _, query = url.rpartition("?")
        url = f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"
        check_endpoint(url, self._login.url)
        if self._listener is None or self._show_url is None:
            raise OAuthFlowError("a person must log in")
        self._listener.expect(url)
        await self._show_url(url)

    async def _wait(self) -> AuthorizationCodeResult:
        assert self._listener is not None
        return await self._listener.wait()

    async def _assertion(self, audience: str, resource: str) -> str:
        """The ID-JAG for an authorization server: as configured, or in exchange for the ID token."""
        settings = self._settings
        assert settings.identity_token is not None
        if settings.identity_token_url is None:
            return settings.identity_token
        exchange = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "subject_token": settings.identity_token,
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "audience": audience,
            "resource": resource,
            "client_id": settings.identity_client_id or settings.client_id or "",
            **({"scope": settings.scope} if settings.scope else {}),
        }
        # The owner configured this address, so it counts as trusted as the MCP server itself.
        async with Endpoints(settings.identity_token_url) as provider:
            response = await provider.send(httpx2.Request("POST", settings.identity_token_url, data=exchange))
        try:
            issued = _IssuedToken.model_validate_json(response.content)
        except ValidationError:
            issued = None
        if response.status_code != 200 or issued is None:
            raise OAuthFlowError(f"the identity provider answered HTTP {response.status_code} to the token exchange")
        return issued.access_token


class _IssuedToken(BaseModel):
    access_token: str


_is_own: ContextVar[bool] = ContextVar("is_own", default=False)


class _Reported(logging.Filter):
    """Drops the errors of flows that run here: they reach the owner as one line, without secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (_is_own.get() and record.levelno >= logging.WARNING)


logging.getLogger("mcp.client.auth.oauth2").addFilter(_Reported())


@contextmanager
def _own_errors() -> Generator[None]:
    token = _is_own.set(True)
    try:
        yield
    finally:
        _is_own.reset(token)
