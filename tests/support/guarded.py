"""The MCP servers of `tests/servers` that need a login, and a person who logs in."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Generator
from typing import Any

import httpx2

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.mcp.oauth.store import FILE, LoginStore
from a2c_smcp.computer.types import ServerState
from tests.support.mcp_servers import AUTO, SERVERS, HttpServer
from tests.support.process import free_port
from tests.support.waiting import PATIENCE

WAITING = ServerState.WAITING_FOR_LOGIN


class Guarded(HttpServer):
    """An MCP server with its authorization server."""

    def __init__(self, script: str, *arguments: str) -> None:
        super().__init__([sys.executable, str(SERVERS / script), *arguments])
        self.base = self.url.rsplit("/", 1)[0]

    def control(self, **asked: Any) -> dict[str, Any]:
        """Change how it behaves; what it counted so far."""
        answer = httpx2.post(f"{self.base}/control", json=asked, timeout=PATIENCE)
        return answer.raise_for_status().json()

    def behave(self, **behaviour: Any) -> None:
        """Change how it behaves."""
        self.control(behaviour=behaviour)

    def count(self, what: str) -> int:
        """How often something was requested."""
        return self.control()["counts"].get(what, 0)

    def config(self, name: str = "guarded", **oauth: Any) -> MCPServerConfig:
        """Its configuration."""
        return server_from({"url": self.url, "default_tool_meta": AUTO, **({"oauth": oauth} if oauth else {})}, name)


@contextlib.contextmanager
def guarded(transport: str = "streamable") -> Generator[Guarded]:
    """Run the server whose authorization server can be made to misbehave."""
    with contextlib.closing(Guarded("guarded.py", transport)) as server:
        yield server


@contextlib.contextmanager
def account() -> Generator[Guarded]:
    """Run the server with the authorization server of the `mcp` package, where a person types a password."""
    with contextlib.closing(Guarded("account.py", str(free_port()))) as server:
        yield server


USER, PASSWORD = "ada", "analytical"
"""The person who has an account."""


def record(store: LoginStore) -> dict[str, Any]:
    """The one login in a store, as it is on disk."""
    return json.loads(next(store.folder.glob(f"*/{FILE}")).read_bytes())["login"]


def outdate(store: LoginStore, seconds_left: float = 0) -> None:
    """Let the token of the one stored login expire in so many seconds, after an hour."""
    file = next(store.folder.glob(f"*/{FILE}"))
    kept = json.loads(file.read_bytes())
    expires_at = time.time() + seconds_left
    kept["login"] |= {"obtained_at": expires_at - 3600, "expires_at": expires_at}
    file.write_text(json.dumps(kept), "utf-8")


BROWSER = f"{sys.executable} -m tests.support.guarded %s"
"""A command that does the same, as the environment variable of this name."""


def visit(url: str) -> None:
    """Do what a browser does with the address of a login, for a person who agrees to everything."""
    # The browser's own request to the loopback address ends the login.
    httpx2.get(url, follow_redirects=True, timeout=PATIENCE)


def log_in_and_agree(url: str) -> None:
    """Do what that person does at the pages of the server."""
    with httpx2.Client(follow_redirects=True, timeout=PATIENCE) as browser:
        consent = browser.post(browser.get(url).url, data={"user": USER, "password": PASSWORD})
        browser.post(consent.url, data={"answer": "allow"}).raise_for_status()


if __name__ == "__main__":
    visit(sys.argv[1])
