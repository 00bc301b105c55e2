"""An MCP server that needs a login, and its authorization server, in one process.

`POST /control` changes how it behaves and returns what it counted; tests use `tests.support.guarded`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import secrets
import time
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlencode

from listening import serve
from mcp.server.mcpserver import MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

server = MCPServer("guarded", log_level="WARNING")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def admin() -> str:
    return "done"


class State:
    """What the authorization server knows, and how it behaves."""

    def __init__(self) -> None:
        self.behaviour: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.access: dict[str, tuple[float, str]] = {}
        self.refresh: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.sessions: set[str] = set()
        self.ended: set[str] = set()

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def is_valid(self, token: str) -> bool:
        return token in self.access and self.access[token][0] > time.time()


state = State()


def base(request: Request) -> str:
    return str(request.base_url).rstrip("/")


async def control(request: Request) -> Response:
    global state
    asked = await request.json()
    if asked.get("reset"):
        state = State()
    state.behaviour |= asked.get("behaviour", {})
    if "refresh" in asked.get("forget", []):
        state.refresh.clear()
    if "access" in asked.get("forget", []):
        state.access.clear()
    if "sessions" in asked.get("forget", []):
        state.ended |= state.sessions
    if "weaken" in asked:
        state.access[asked["weaken"]] = state.access[asked["weaken"]][0], ""
    live = [token for token in state.access if state.is_valid(token)]
    return JSONResponse({"counts": state.counts, "access": live, "refresh": list(state.refresh), "all": all_tokens()})


def all_tokens() -> list[str]:
    return [*state.access, *state.refresh]


async def resource_metadata(request: Request) -> Response:
    path = request.url.path.removeprefix("/.well-known/oauth-protected-resource") or "/mcp"
    resource = state.behaviour.get("resource", base(request) + path)
    return JSONResponse({"resource": resource, "authorization_servers": [base(request)]})


async def metadata(request: Request) -> Response:
    here = base(request)
    document = {
        "issuer": here,
        "authorization_endpoint": f"{here}/authorize",
        "token_endpoint": f"{here}/token",
        "registration_endpoint": f"{here}/register",
        "revocation_endpoint": f"{here}/revoke",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": ["read", "offline_access"],
        "authorization_response_iss_parameter_supported": True,
    }
    return JSONResponse(document | state.behaviour.get("metadata", {}))


async def register(request: Request) -> Response:
    state.count("registrations")
    wanted = await request.json()
    return JSONResponse({**wanted, "client_id": secrets.token_hex(8), "token_endpoint_auth_method": "none"}, 201)


async def authorize(request: Request) -> Response:
    asked = dict(request.query_params)
    state.count("authorizations")
    answer = {"state": asked["state"]}
    if (iss := state.behaviour.get("iss", base(request))) is not None:
        answer["iss"] = iss
    if state.behaviour.get("deny"):
        answer |= {"error": "access_denied", "error_description": "not today"}
    else:
        code = secrets.token_hex(16)
        state.codes[code] = asked
        answer["code"] = code
    return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(answer)}")


async def token(request: Request) -> Response:
    form = {name: str(value) for name, value in (await request.form()).items()}
    state.count(form["grant_type"])
    match state.behaviour.get("token"):
        case "hang":
            await asyncio.sleep(3600)
        case "huge":
            return StreamingResponse(_endless(), media_type="application/json")
        case "redirect":
            return RedirectResponse("https://untrusted.example/token", 307)
        case "broken":
            return Response("try later", 503)
        case "answer":
            return JSONResponse(state.behaviour["answer"])
        case _:
            pass
    match form["grant_type"]:
        case "authorization_code":
            asked = state.codes.pop(form["code"], {})
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if asked.get("code_challenge") != challenge or asked.get("redirect_uri") != form["redirect_uri"]:
                return JSONResponse({"error": "invalid_grant"}, 400)
            return _tokens(asked.get("scope", ""))
        case "refresh_token":
            scope = state.refresh.pop(form["refresh_token"], None)  # each works once
            return JSONResponse({"error": "invalid_grant"}, 400) if scope is None else _tokens(scope)
        case "client_credentials":
            if request.headers.get("authorization") != "Basic " + base64.b64encode(b"machine:s3cret-machine").decode():
                return JSONResponse({"error": "invalid_client"}, 401)
            return _tokens(form.get("scope", ""), with_refresh=False)
        case _:
            return JSONResponse({"error": "unsupported_grant_type"}, 400)


async def _endless() -> AsyncGenerator[bytes]:
    for _ in range(1_000):
        yield b" " * 1_000_000


async def _slow() -> AsyncGenerator[bytes]:
    yield b" " * 1_000_000
    await asyncio.sleep(3600)


def _tokens(scope: str, *, with_refresh: bool = True) -> Response:
    access, refresh = f"access-{secrets.token_hex(12)}", f"refresh-{secrets.token_hex(12)}"
    lifetime = state.behaviour.get("lifetime", 3600)
    state.access[access] = time.time() + lifetime, scope
    answer = {"access_token": access, "token_type": "Bearer", "expires_in": lifetime, "scope": scope}
    if with_refresh:
        state.refresh[refresh] = scope
        answer["refresh_token"] = refresh
    return JSONResponse(answer)


async def revoke(request: Request) -> Response:
    form = await request.form()
    state.count("revocations")
    state.refresh.pop(str(form["token"]), None)
    state.access.clear()
    return Response()


ROUTES = [
    Route("/control", control, methods=["POST"]),
    Route("/.well-known/oauth-protected-resource", resource_metadata),
    Route("/.well-known/oauth-protected-resource/{path:path}", resource_metadata),
    Route("/.well-known/oauth-authorization-server", metadata),
    Route("/register", register, methods=["POST"]),
    Route("/authorize", authorize),
    Route("/token", token, methods=["POST"]),
    Route("/revoke", revoke, methods=["POST"]),
]


class Guard:
    """Rejects requests to the MCP server without a valid token, and calls of `admin` without its scope."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(("/mcp", "/sse", "/messages")):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        found = request.headers.get("authorization", "").removeprefix("Bearer ")
        body = await request.body()
        if found and (elsewhere := state.behaviour.get("elsewhere")):
            await RedirectResponse(elsewhere, 307)(scope, receive, send)
            return
        if (name := state.behaviour.get("basic")) and found == f"Basic {name}":
            await Response("let in", 418)(scope, receive, send)
            return
        metadata_url = f"{base(request)}/.well-known/oauth-protected-resource{scope['path']}"
        if not state.is_valid(found):
            challenge = f'Bearer scope="read", resource_metadata="{metadata_url}"'
            headers = {"WWW-Authenticate": challenge}
            is_endless = bool(state.behaviour.get("endless_rejection"))
            rejection = StreamingResponse(_slow(), 401, headers) if is_endless else Response("no", 401, headers)
            await rejection(scope, receive, send)
            return
        if b'"admin"' in body and "admin" not in state.access[found][1].split():
            challenge = f'Bearer error="insufficient_scope", scope="admin", resource_metadata="{metadata_url}"'
            await Response("no", 403, {"WWW-Authenticate": challenge})(scope, receive, send)
            return
        if session := request.headers.get("mcp-session-id"):
            state.sessions.add(session)
            if b'"tools/list"' in body and len(state.ended) < state.behaviour.get("broken_handshakes", 0):
                state.ended.add(session)
            if session in state.ended:
                state.count("unknown_sessions")
                await Response("no such session", 404)(scope, receive, send)
                return
        is_given = False

        async def again() -> Any:
            nonlocal is_given
            if is_given:
                return await receive()
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, again, send)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("transport", choices=["sse", "streamable"])
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    app = server.sse_app() if options.transport == "sse" else server.streamable_http_app()
    app.router.routes[:0] = ROUTES
    serve(Guard(app), "/sse" if options.transport == "sse" else "/mcp", options.port)


if __name__ == "__main__":
    main()
