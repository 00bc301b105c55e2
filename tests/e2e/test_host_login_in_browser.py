"""The login of an MCP host: Chromium, a Server as a process, and the login of the `mcp` library."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from a2c_smcp.server.key_file import hash_key, write_keys
from tests.support.logins import Tokens
from tests.support.process import server_process
from tests.support.stand_ins import web_server
from tests.support.waiting import PATIENCE, eventually

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

pytestmark = pytest.mark.anyio


def enter(browser: WebDriver, key: str, button: str = "allow") -> None:
    browser.find_element("id", "key").send_keys(key)
    browser.find_element("id", button).click()


def allow(browser: WebDriver, address: str) -> None:
    browser.get(address)
    assert browser.find_element("id", "client").text == "Browser test"
    assert browser.find_element("id", "office").text == "acme"
    # The policy of the page allows its style.
    width = browser.execute_script("return getComputedStyle(document.body).maxWidth")  # pyright: ignore[reportUnknownMemberType]
    assert width == "512px"
    enter(browser, "wrong")
    browser.find_element("xpath", "//*[@id = 'problem'][contains(., 'not a valid key')]")
    enter(browser, "other")
    # By its text, because a click does not wait for the next page.
    browser.find_element("xpath", "//*[@id = 'problem'][contains(., 'acme')]")
    enter(browser, "alice")


def deny(browser: WebDriver, address: str) -> None:
    browser.get(address)
    enter(browser, "", "deny")


@pytest.mark.parametrize("decide", [allow, deny])
async def test_person_decides_in_a_browser(
    decide: Callable[[WebDriver, str], None], tmp_path: Path, browser: WebDriver
) -> None:
    entries = {"alice": "acme", "other": "else"}
    write_keys(
        tmp_path / "keys.toml",
        [{"id": name, "hash": hash_key(name), "offices": [office]} for name, office in entries.items()],
    )
    with server_process("--keys-file", str(tmp_path / "keys.toml")) as server, web_server(200) as listener:

        async def show(address: str) -> None:
            await asyncio.to_thread(decide, browser, address)

        async def returned() -> AuthorizationCodeResult:
            await eventually(lambda: browser.current_url.startswith(f"{listener}/callback?"))
            back = dict(parse_qsl(urlsplit(browser.current_url).query))
            if "error" in back:
                raise OAuthFlowError(back["error"])
            return AuthorizationCodeResult(**back)

        url = f"{server.url}/mcp/acme"
        metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(f"{listener}/callback")], client_name="Browser test")
        login = OAuthClientProvider(url, metadata, Tokens(), show, returned)
        async with httpx2.AsyncClient(auth=login, timeout=PATIENCE) as http:
            if decide is deny:
                with pytest.raises(OAuthFlowError, match="access_denied"):
                    await http.post(url)
                return
            async with Client(streamable_http_client(url, http_client=http), cache=None) as client:
                assert "look_at_desktop" in [tool.name for tool in (await client.list_tools()).tools]
