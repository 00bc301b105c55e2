"""A browser for ASGI applications in the same process: it keeps cookies and sends requests, without a connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import unquote

App = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass
class Answer:
    """A response."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> int:
        """The code of the error; 0 if there is none."""
        return self.json()["error"]["code"] if self.status >= 400 else 0


class Visitor:
    """Somebody at a browser, or a program if `is_browser` is off."""

    def __init__(
        self, app: App, host: str = "hub.test", *, is_browser: bool = True, address: str = "203.0.113.7"
    ) -> None:
        self.app = app
        self.host = host
        self.address = address
        self.cookies: dict[str, str] = {}
        self.csrf = ""
        self.is_browser = is_browser
        self.root_path = ""

    async def send(self, method: str, path: str, data: Any = None, **headers: str) -> Answer:
        """Send a request. Names of headers have `_` for `-`."""
        answer = Answer()
        finished = asyncio.Event()

        async def write(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._note(answer, message)
            else:
                answer.body += message.get("body", b"")
                if not message.get("more_body"):
                    finished.set()

        body = data if isinstance(data, bytes) else json.dumps(data).encode() if data is not None else b""
        sent = [{"type": "http.request", "body": body}]

        async def read() -> Any:
            if sent:
                return sent.pop()
            await finished.wait()
            return {"type": "http.disconnect"}

        await self.app(self._scope(method, path, data is not None, headers), read, write)
        return answer

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.send("GET", path, **headers)

    async def post(self, path: str, data: Any = None, **headers: str) -> Answer:
        return await self.send("POST", path, data, **headers)

    async def log_in(self, **login: str) -> Answer:
        """Log in, and keep the CSRF token."""
        answer = await self.post("/api/v1/session", login)
        if answer.status == 200:
            self.csrf = answer.json()["csrf"]
        return answer

    @asynccontextmanager
    async def events(self, path: str, **headers: str) -> AsyncGenerator[asyncio.Queue[dict[str, str]]]:
        """The events of a stream; `{}` when it ends."""
        found: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        leaving = asyncio.Event()
        text = ""

        async def write(message: Any) -> None:
            nonlocal text
            if message["type"] == "http.response.start":
                if message["status"] != 200:
                    found.put_nowait({"event": "rejected", "data": str(message["status"])})
                return
            text += message.get("body", b"").decode()
            *whole, text = text.split("\n\n")
            for each in whole:
                fields = dict(line.split(": ", 1) for line in each.split("\n") if line and not line.startswith(":"))
                if "event" in fields:
                    found.put_nowait(fields)
            if not message.get("more_body"):
                found.put_nowait({})

        async def read() -> Any:
            await leaving.wait()
            return {"type": "http.disconnect"}

        serving = asyncio.ensure_future(self.app(self._scope("GET", path, False, headers), read, write))
        try:
            yield found
        finally:
            leaving.set()
            await serving

    def _scope(self, method: str, path: str, has_body: bool, headers: dict[str, str]) -> dict[str, Any]:
        path, _, query = path.partition("?")
        fields = {"host": self.host}
        if self.cookies:
            fields["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if has_body:
            fields["content-type"] = "application/json"
        if self.is_browser:
            fields["sec-fetch-site"] = "same-origin"
            if method != "GET":
                fields |= {"origin": f"http://{self.host}", "x-csrf-token": self.csrf}
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        return {
            "type": "http",
            "method": method,
            "path": self.root_path + unquote(path),
            "raw_path": (self.root_path + path).encode(),
            "root_path": self.root_path,
            "query_string": query.encode(),
            "scheme": "http",
            "client": (self.address, 40000),
            "server": ("hub.test", 80),
            "headers": [(name.encode(), value.encode()) for name, value in fields.items() if value],
        }

    def _note(self, answer: Answer, message: Any) -> None:
        answer.status = message["status"]
        for name, value in message["headers"]:
            answer.headers[name.decode()] = value.decode()
            if name == b"set-cookie":
                for key, morsel in SimpleCookie(value.decode()).items():
                    self.cookies[key] = morsel.value
                    if morsel["max-age"] == "0":
                        del self.cookies[key]
