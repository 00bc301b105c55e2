"""The pages of logins: metadata of offices and of the authorization server, its endpoints, and the login page.

The Server loads this module with the first request for one of them.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.metadata import MetadataHandler, ProtectedResourceMetadataHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.provider import construct_redirect_uri
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from starlette.formparsers import MultiPartException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from a2c_smcp.errors import NotAuthenticatedError, NotConnectedError, SMCPError
from a2c_smcp.server.authorization.access import SCOPE, OfficeAccess
from a2c_smcp.server.authorization.clients import GRANT_TYPES, ClientRejected, Clients
from a2c_smcp.server.authorization.login import hashed
from a2c_smcp.server.authorization.logins import KeyRejected
from a2c_smcp.server.authorization.pages import error_page, login_page, texts_for
from a2c_smcp.server.authorization.provider import Provider, read_request
from a2c_smcp.server.public_url import is_loopback

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Handler: TypeAlias = Callable[[Request, str], Awaitable[Response]]

MOST_BODY = 64_000
SECONDS = 60.0
"""Time for a request, with its body."""
NO_STORE = {"Cache-Control": "no-store"}
METADATA_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


class ServerHost(Protocol):
    """What the Server offers."""

    access: OfficeAccess | None

    async def reject_guess(self, scope: Scope, error: SMCPError, /) -> None:
        """Log a rejected key, and wait before it is answered."""
        ...


def mount(host: ServerHost) -> AuthorizationApp:
    """The pages of a Server.

    Raises:
        ValueError: it has no offices for MCP hosts.
    """
    if host.access is None:
        raise ValueError("logins need offices for MCP hosts: set mcp_path")
    return AuthorizationApp(host, host.access)


class AuthorizationApp:
    """An ASGI application for the pages of logins. Its paths start at the root of the Server."""

    def __init__(self, host: ServerHost, access: OfficeAccess) -> None:
        self._host = host
        self._access = access
        self._clients = Clients()
        # By the setting alone: the Host of a request would let anybody make this Server send requests to its machine.
        self._is_local = is_loopback(urlsplit(access.places.fixed or "").hostname or "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        base = self._access.places.base(scope, scope.get("root_path", ""))
        found = self._route(scope, base)
        if base is None or found is None:
            problem = "unknown page" if base is not None else "logins need a public URL: set --public-url"
            await PlainTextResponse(f"{problem}\n", 404)(scope, receive, send)
            return
        methods, handler, is_shared = found

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["method"] not in methods:
                response: Response = PlainTextResponse("method not allowed\n", 405, {"Allow": ", ".join(methods)})
            else:
                try:
                    response = await handler(Request(scope, receive), base)
                except NotConnectedError as error:
                    fields = {"error": "temporarily_unavailable", "error_description": error.message}
                    response = JSONResponse(fields, 503, {**NO_STORE, "Retry-After": "1"})
                except MultiPartException as error:  # the handlers of `mcp` leave it to a framework
                    fields = {"error": "invalid_request", "error_description": error.message}
                    response = JSONResponse(fields, 400, NO_STORE)
                except ClientDisconnect:
                    return  # nobody is there to read an answer
            await response(scope, receive, send)

        app: ASGIApp = RequestBodyLimitMiddleware(answer, MOST_BODY)
        if is_shared:
            # For hosts that run in a browser. These pages use no cookies.
            app = CORSMiddleware(app, ["*"], methods, ["*"])
        try:
            async with asyncio.timeout(SECONDS):
                await app(scope, receive, send)
        except TimeoutError:
            await PlainTextResponse("the request took too long\n", 408)(scope, receive, send)

    def _route(self, scope: Scope, base: str | None) -> tuple[tuple[str, ...], Handler, bool] | None:
        """The methods and the handler of a page, and whether web pages of other origins may use it."""
        path: str = scope["path"]
        if self._access.places.path_of_metadata(_sent_path(scope)) is not None:
            return ("GET",), self._describe_office, True
        if self._access.logins is None or base is None:
            return None
        # Clients look for the metadata of a Server below a path in several places.
        prefix = urlsplit(base).path
        if path in METADATA_PATHS or (prefix and path in {f"{place}{prefix}" for place in METADATA_PATHS}):
            return ("GET",), self._describe_server, True
        return {
            "/authorize": (("GET", "POST"), self._authorize, False),
            "/login": (("GET", "POST"), self._log_in, False),
            "/token": (("POST",), self._give_tokens, True),
            "/register": (("POST",), self._register, True),
            "/revoke": (("POST",), self._revoke, True),
        }.get(path)

    # --------------------------------------------------------------------------------------------------------- metadata

    async def _describe_office(self, request: Request, base: str) -> Response:
        place = self._access.places.path_of_metadata(_sent_path(request.scope))
        provider = self._access.provider
        if place is None or not self._access.has_logins:
            return PlainTextResponse("this Server has no logins for MCP hosts: use a key\n", 404)
        metadata = ProtectedResourceMetadata.model_validate(
            {
                "resource": self._access.places.place(base, place),
                "authorization_servers": [provider.issuer if provider is not None else base],
                "scopes_supported": list(self._access.scopes) or None,
                "resource_name": f"A2C office {unquote(place.partition('/')[0])}",
            }
        )
        return await ProtectedResourceMetadataHandler(metadata).handle(request)

    async def _describe_server(self, request: Request, base: str) -> Response:
        metadata = OAuthMetadata.model_validate(
            {
                "issuer": base,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
                "registration_endpoint": f"{base}/register",
                "revocation_endpoint": f"{base}/revoke",
                "scopes_supported": [SCOPE],
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": GRANT_TYPES,
                "token_endpoint_auth_methods_supported": ["none"],
                "revocation_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
                "client_id_metadata_document_supported": True,
                "authorization_response_iss_parameter_supported": True,
                "ui_locales_supported": ["en", "zh"],
            }
        )
        return await MetadataHandler(metadata).handle(request)

    # ------------------------------------------------------------------------------------------------------- for people

    async def _authorize(self, request: Request, base: str) -> Response:
        texts = texts_for(request.headers.get("accept-language", ""))
        fields = await _fields(request)
        provider = await self._provider(base)
        try:
            client = await provider.clients.find(fields.get("client_id", ""), is_local=self._is_local)
        except ClientRejected as problem:
            return error_page(texts, str(problem))
        provider = Provider(base, provider.places, provider.logins, provider.clients, provider.secret, client)
        response = await AuthorizationHandler(provider).handle(request)
        place = response.headers.get("location")
        if place is None:  # nothing may be sent to the redirect URI
            found: dict[str, Any] = json.loads(bytes(response.body))
            return error_page(texts, str(found.get("error_description") or found.get("error")))
        if not place.startswith(f"{base}/login?"):
            response.headers["location"] = construct_redirect_uri(place, iss=base)
        return response

    async def _log_in(self, request: Request, base: str) -> Response:
        texts = texts_for(request.headers.get("accept-language", ""))
        fields = await _fields(request)
        provider = await self._provider(base)
        asked = read_request(fields.get("request", ""), provider.secret, provider.places, base)
        if asked is None:
            return error_page(texts, texts.expired)
        wanted, state = asked
        is_secure = base.startswith("https:")
        cookie_name = "__Host-a2c_login" if is_secure else "a2c_login"
        cookie = request.cookies.get(cookie_name, "")
        if request.method == "GET":
            token = cookie if len(cookie) == 43 else secrets.token_urlsafe(32)
            response: Response = login_page(texts, wanted, {"request": fields["request"], "csrf": token})
            response.set_cookie(cookie_name, token, path="/", secure=is_secure, httponly=True, samesite="strict")
            return response
        # Only the page above has the value of the cookie. A form of another site has neither.
        given = fields.get("csrf", "").encode("utf-8", "replace")
        if not cookie or not hmac.compare_digest(given, cookie.encode()) or not _is_own(request, base):
            return error_page(texts, texts.foreign, 403)
        if fields.get("action") != "allow":
            return _return(wanted.redirect_uri, state, base, error="access_denied")
        try:
            code = await provider.logins.begin(wanted, fields.get("key", "").strip())
        except KeyRejected as problem:
            await self._host.reject_guess(
                request.scope, NotAuthenticatedError(f"login of an MCP host: {str(problem) or 'invalid key'}")
            )
            text = str(problem) or texts.wrong
            if problem.office is not None:
                text = texts.not_office.format(office=problem.office)
            return login_page(texts, wanted, {"request": fields["request"], "csrf": cookie}, text)
        return _return(wanted.redirect_uri, state, base, code=code)

    # ------------------------------------------------------------------------------------------------------ for clients

    async def _register(self, request: Request, base: str) -> Response:
        options = ClientRegistrationOptions(enabled=True)
        return await RegistrationHandler(await self._provider(base), options).handle(request)

    async def _give_tokens(self, request: Request, base: str) -> Response:
        provider = await self._provider(base)
        return await TokenHandler(provider, ClientAuthenticator(provider)).handle(request)

    async def _revoke(self, request: Request, base: str) -> Response:
        # Not the handler of `mcp`, which requires a secret of every client.
        fields = await _fields(request)
        if not fields.get("client_id") or not fields.get("token"):
            return JSONResponse({"error": "invalid_request"}, 400, NO_STORE)
        await (await self._provider(base)).logins.revoke(hashed(fields["client_id"]), fields["token"])
        return Response(headers=NO_STORE)

    async def _provider(self, base: str) -> Provider:
        logins = self._access.logins
        if logins is None:
            raise NotConnectedError("this Server has no logins")
        return Provider(base, self._access.places, logins, self._clients, await logins.store.secret())

    async def aclose(self) -> None:
        """Do nothing: the Server closes the logins."""


def _sent_path(scope: Scope) -> str:
    """The path of a request as the host sent it: the URL of an office must be exactly the one that the host knows."""
    raw = scope.get("raw_path")
    path: str = raw.decode("latin-1") if isinstance(raw, bytes) else scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


async def _fields(request: Request) -> dict[str, str]:
    """The fields of a form or a query."""
    text = (await request.body()).decode("utf-8", "replace") if request.method == "POST" else request.url.query
    try:
        return dict(reversed(parse_qsl(text, keep_blank_values=True, max_num_fields=50)))
    except ValueError:  # more fields
        return {}


def _is_own(request: Request, base: str) -> bool:
    """Whether a form was sent by a page of this Server."""
    origin, own = request.headers.get("origin"), urlsplit(base)
    return origin is None or origin == f"{own.scheme}://{own.netloc}"


def _return(uri: str, state: str | None, base: str, **fields: str) -> Response:
    """Send the browser back to the client."""
    place = construct_redirect_uri(uri, **fields, state=state, iss=base)
    return RedirectResponse(place, 303, {**NO_STORE, "Referrer-Policy": "no-referrer"})
