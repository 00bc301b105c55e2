"""The decisions of the authorization server, in the form in which the handlers of `mcp` ask for them."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from urllib.parse import urlencode

import jwt
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from a2c_smcp.server.authorization.access import SCOPE
from a2c_smcp.server.authorization.clients import Client, Clients, client_without_metadata
from a2c_smcp.server.authorization.login import Login, hashed
from a2c_smcp.server.authorization.logins import Logins, Request, Tokens
from a2c_smcp.server.public_url import PublicURL

REQUEST_SECONDS = 600
"""Time for a person to enter a key."""
MOST_STATE = 1_000
# The form of a SHA-256 in base64url.
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class Code(AuthorizationCode):
    """A code, with its login."""

    login: Login


class Refresh(RefreshToken):
    """A refresh token, with its login."""

    login: Login


@dataclass(frozen=True, slots=True)
class Provider(OAuthAuthorizationServerProvider[Code, Refresh, AccessToken]):
    """Serves one request. `base` is the URL of the Server; `client` asks a person to log in, at `authorize` only."""

    base: str
    places: PublicURL
    logins: Logins
    clients: Clients
    secret: str
    client: Client | None = None

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """The client of a request. Codes and tokens are bound to the id, whatever it is."""
        return self.client if self.client is not None else client_without_metadata(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Give a client its id."""
        self.clients.register(client_info)

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """The page on which a person decides.

        Raises:
            AuthorizeError: the request is not valid.
        """
        if _CHALLENGE.fullmatch(params.code_challenge) is None:
            raise AuthorizeError("invalid_request", "code_challenge: a SHA-256 in base64url is expected")
        if len(params.state or "") > MOST_STATE:
            raise AuthorizeError("invalid_request", "state is too long")
        office = self.places.office_in(self.base, params.resource or "")
        if office is None:
            example = self.places.office(self.base, "OFFICE")
            raise AuthorizeError("invalid_target", f"resource: the URL of an office is expected, such as {example}")
        asked = {
            "use": "request",
            "exp": int(time.time()) + REQUEST_SECONDS,
            "client": hashed(client.client_id),
            "name": client.client_name or "",
            "uri": str(params.redirect_uri),
            "explicit": params.redirect_uri_provided_explicitly,
            "state": params.state,
            "challenge": params.code_challenge,
            "office": office,
        }
        return f"{self.base}/login?" + urlencode({"request": jwt.encode(asked, self.secret, "HS256")})

    # ----------------------------------------------------------------------------------------------------------- tokens

    async def load_authorization_code(self, client: OAuthClientInformationFull, authorization_code: str) -> Code | None:
        """The login of a code."""
        login = await self.logins.find_code(hashed(client.client_id), authorization_code)
        if login is None:
            return None
        return Code(
            code=authorization_code,
            scopes=[SCOPE],
            expires_at=login.ends,
            client_id=client.client_id,
            code_challenge=login.challenge,
            redirect_uri=AnyUrl(login.redirect_uri),
            redirect_uri_provided_explicitly=login.has_redirect_uri,
            resource=login.resource,
            login=login,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: Code
    ) -> OAuthToken:
        """The first tokens of a login.

        Raises:
            TokenError: the code is not valid any more.
        """
        return _answer(await self.logins.redeem(authorization_code.login))

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> Refresh | None:
        """The login of a refresh token."""
        login = await self.logins.find_refresh(hashed(client.client_id), refresh_token)
        if login is None:
            return None
        return Refresh(
            token=refresh_token, client_id=client.client_id, scopes=[SCOPE], resource=login.resource, login=login
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: Refresh, scopes: list[str]
    ) -> OAuthToken:
        """New tokens in place of the old.

        Raises:
            TokenError: the login has ended.
        """
        return _answer(await self.logins.renew(refresh_token.login))


def read_request(text: str, secret: str, places: PublicURL, base: str) -> tuple[Request, str | None] | None:
    """The request and its state that `authorize` put into a URL; None if it is not valid, or too old."""
    try:
        found = jwt.decode(text, secret, algorithms=["HS256"], options={"require": ["exp"]})
    except jwt.PyJWTError:
        return None
    if found.get("use") != "request":
        return None
    request = Request(
        client=found["client"],
        client_name=found["name"],
        redirect_uri=found["uri"],
        has_redirect_uri=found["explicit"],
        challenge=found["challenge"],
        resource=places.office(base, found["office"]),
        office=found["office"],
    )
    return request, found["state"]


def _answer(tokens: Tokens | None) -> OAuthToken:
    if tokens is None:
        raise TokenError("invalid_grant", "the login has ended: log in again")
    return OAuthToken(access_token=tokens.access, expires_in=tokens.seconds, scope=SCOPE, refresh_token=tokens.refresh)
