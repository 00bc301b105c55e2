"""An MCP server that needs a login, with the authorization server of the `mcp` package, and pages for a person: one to
log in, and one to agree.

`POST /control` ends tokens and returns what was requested; tests use `tests.support.account`.
"""

from __future__ import annotations

import argparse
import html
import secrets
import time
from typing import Any

from listening import serve
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

USER, PASSWORD, SCOPE, LIFETIME = "ada", "analytical", "read", 3600

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><body><h1>{title}</h1>
<form method="post">{body}</form></body></html>"""
LOGIN = """<p id="problem">{problem}</p><label>User <input name="user"></label>
<label>Password <input name="password" type="password"></label><button id="continue">Continue</button>"""
CONSENT = """<p><b id="client">{client}</b> asks for these rights: <span id="rights">{rights}</span></p>
<button name="answer" value="allow" id="allow">Allow</button>
<button name="answer" value="deny" id="deny">Deny</button>"""


class Provider:
    """What the authorization server knows."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.waiting: dict[str, tuple[OAuthClientInformationFull, AuthorizationParams]] = {}
        self.sessions: dict[str, str] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.counts: dict[str, int] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self._count("logins")
        key = secrets.token_urlsafe(16)
        self.waiting[key] = client, params
        return f"{self.issuer}/login?request={key}"

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._tokens(authorization_code)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: RefreshToken, scopes: list[str]) -> OAuthToken:
        self._count("renewals")
        del self.refresh[refresh_token.token]
        return self._tokens(refresh_token)

    async def exchange_identity_assertion(self, client: Any, params: Any) -> OAuthToken:
        raise NotImplementedError

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self._count("revocations")
        self.access.clear()
        self.refresh.clear()

    def answer(self, key: str, *, is_allowed: bool) -> str:
        """Where the browser goes after the answer of the person."""
        client, params = self.waiting.pop(key)
        fields = {"state": params.state, "iss": f"{self.issuer}/"}  # as in the metadata
        if not is_allowed:
            return construct_redirect_uri(str(params.redirect_uri), **fields, error="access_denied")
        code = secrets.token_urlsafe(24)
        assert client.client_id is not None
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            scopes=params.scopes or [SCOPE],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=USER,
        )
        return construct_redirect_uri(str(params.redirect_uri), **fields, code=code)

    def _tokens(self, grant: AuthorizationCode | RefreshToken) -> OAuthToken:
        kept: dict[str, Any] = {
            "client_id": grant.client_id, "scopes": grant.scopes, "resource": grant.resource, "subject": grant.subject
        }  # fmt: skip
        access, refresh = f"access-{secrets.token_hex(12)}", f"refresh-{secrets.token_hex(12)}"
        self.access[access] = AccessToken(token=access, expires_at=int(time.time()) + LIFETIME, **kept)
        self.refresh[refresh] = RefreshToken(token=refresh, **kept)
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=LIFETIME, scope=" ".join(grant.scopes)
        )  # fmt: skip

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


def make(port: int) -> MCPServer[Any]:
    issuer = f"http://127.0.0.1:{port}"
    provider = Provider(issuer)
    server = MCPServer(
        "account",
        log_level="WARNING",
        auth_server_provider=provider,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(issuer),
            resource_server_url=AnyHttpUrl(f"{issuer}/mcp"),
            validate_token_resource=True,
            required_scopes=[SCOPE],
            client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=[SCOPE]),
            revocation_options=RevocationOptions(enabled=True),
        ),
    )

    @server.tool()
    def greet() -> str:
        return f"hello {USER}"

    @server.custom_route("/login", methods=["GET", "POST"])
    async def log_in(request: Request) -> Response:
        problem = ""
        if request.method == "POST":
            form = await request.form()
            if (form.get("user"), form.get("password")) == (USER, PASSWORD):
                session = secrets.token_urlsafe(16)
                provider.sessions[session] = USER
                answer = RedirectResponse(f"/consent?{request.url.query}", 303)
                answer.set_cookie("session", session, httponly=True, samesite="lax")
                return answer
            problem = "The password is wrong."
        return HTMLResponse(PAGE.format(title="Log in", body=LOGIN.format(problem=problem)))

    @server.custom_route("/consent", methods=["GET", "POST"])
    async def consent(request: Request) -> Response:
        key = request.query_params.get("request", "")
        if request.cookies.get("session") not in provider.sessions or key not in provider.waiting:
            return RedirectResponse(f"/login?{request.url.query}", 303)
        if request.method == "POST":
            is_allowed = (await request.form()).get("answer") == "allow"
            return RedirectResponse(provider.answer(key, is_allowed=is_allowed), 303)
        client, params = provider.waiting[key]
        rights = html.escape(" ".join(params.scopes or [SCOPE]))
        body = CONSENT.format(client=html.escape(client.client_name or "?"), rights=rights)
        return HTMLResponse(PAGE.format(title="Allow access?", body=body))

    @server.custom_route("/control", methods=["POST"])
    async def control(request: Request) -> Response:
        for name in (await request.json()).get("forget", []):
            getattr(provider, name).clear()
        return JSONResponse(
            {"counts": provider.counts, "access": list(provider.access), "refresh": list(provider.refresh)}
        )

    return server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    options = parser.parse_args()
    serve(make(options.port).streamable_http_app(), "/mcp", options.port)


if __name__ == "__main__":
    main()
