"""Logins of MCP hosts: a person with a browser, and a program that asks for access, without a library for OAuth."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from tests.support.waiting import PATIENCE

CALLBACK = "http://127.0.0.1:7777/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


@dataclass
class Page:
    """What a browser shows."""

    status: int
    text: str
    headers: httpx2.Headers

    @property
    def fields(self) -> dict[str, str]:
        """The hidden fields of its form."""
        found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', self.text)
        return {html.unescape(name): html.unescape(value) for name, value in found}

    def item(self, name: str) -> str:
        """The text of an element."""
        found = re.search(rf'id="{name}"[^>]*>([^<]*)<', self.text)
        assert found is not None, self.text
        return html.unescape(found[1])


@dataclass
class Visitor:
    """A person and a program at one Server. `base` is the URL of the Server as hosts know it."""

    http: httpx2.AsyncClient
    url: str
    base: str
    client_id: str = ""
    state: str = field(default_factory=lambda: secrets.token_hex(8))
    cookie: str = ""
    """Kept by hand: a cookie of a page with TLS is not sent without."""

    def office(self, office: str) -> str:
        """The URL of an office."""
        return f"{self.base}/mcp/{office}"

    async def register(self, *uris: str, **metadata: Any) -> httpx2.Response:
        """Register the program."""
        body = {"redirect_uris": list(uris or (CALLBACK,)), "client_name": "Test host", **metadata}
        answer = await self.http.post(f"{self.url}/register", json=body)
        if answer.status_code == 201:
            self.client_id = answer.json()["client_id"]
        return answer

    async def ask(self, office: str = "office", /, **changes: str | None) -> httpx2.Response:
        """Ask for access: the answer to the browser, which is a redirect or a page."""
        asked: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": CALLBACK,
            "state": self.state,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": self.office(office),
            **changes,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        return await self.http.get(f"{self.url}/authorize", params=given)

    async def page(self, office: str = "office", /, **changes: str | None) -> Page:
        """The login page."""
        answer = await self.ask(office, **changes)
        assert answer.status_code == 302, answer.text
        return await self.open(answer.headers["location"])

    async def open(self, place: str, **headers: str) -> Page:
        """Open a page of the Server, wherever it says that it is."""
        assert place.startswith(self.base), place
        answer = await self.http.get(self.url + place.removeprefix(self.base), headers=headers)
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        return Page(answer.status_code, answer.text, answer.headers)

    async def answer(self, page: Page, key: str = "", action: str = "allow", **headers: str) -> httpx2.Response:
        """Send the form of a page."""
        data = {**page.fields, "key": key, "action": action}
        return await self.http.post(f"{self.url}/login", data=data, headers={"cookie": self.cookie, **headers})

    async def code(self, key: str, office: str = "office") -> str:
        """Log in: the code that the program gets."""
        if not self.client_id:
            await self.register()
        answer = await self.answer(await self.page(office), key)
        assert answer.status_code == 303, answer.text
        back = returned(answer)
        assert (back["state"], back["iss"]) == (self.state, self.base)
        return back["code"]

    async def redeem(self, code: str, **changes: str) -> httpx2.Response:
        """Ask for the tokens of a code."""
        data = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": self.client_id,
            "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER,
            **changes,
        }
        return await self.http.post(f"{self.url}/token", data=data)

    async def renew(self, refresh_token: str) -> httpx2.Response:
        """Ask for new tokens."""
        data = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": self.client_id}
        return await self.http.post(f"{self.url}/token", data=data)

    async def revoke(self, token: str) -> httpx2.Response:
        """Give a token back."""
        return await self.http.post(f"{self.url}/revoke", data={"token": token, "client_id": self.client_id})

    async def login(self, key: str, office: str = "office") -> dict[str, Any]:
        """Log in: the tokens."""
        answer = await self.redeem(await self.code(key, office))
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def use(self, token: str | None, office: str = "office", **headers: str) -> httpx2.Response:
        """Ask the office for its tools, as a host with a token does."""
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "host", "version": "1"},
            },
        }
        headers = {"accept": "application/json, text/event-stream", **headers}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return await self.http.post(f"{self.url}/mcp/{office}", json=body, headers=headers)

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        """Get a page of the Server."""
        return await self.http.get(self.url + path, headers=headers)


@asynccontextmanager
async def visiting(url: str, base: str | None = None) -> AsyncGenerator[Visitor]:
    """A person without cookies, and a program that is not registered."""
    async with httpx2.AsyncClient(timeout=PATIENCE) as http:
        yield Visitor(http, url, base or url)


def returned(answer: httpx2.Response) -> dict[str, str]:
    """What the program gets when the browser returns to it."""
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


def challenge(answer: httpx2.Response) -> dict[str, str]:
    """The fields of `WWW-Authenticate`."""
    scheme, _, fields = answer.headers["www-authenticate"].partition(" ")
    assert scheme == "Bearer"
    return dict(re.findall(r'(\w+)="([^"]*)"', fields))


class Tokens:
    """Where a host keeps its tokens."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info
