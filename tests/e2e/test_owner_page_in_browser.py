"""The page of a Computer's owner in Chromium: approvals, rules, MCP servers, and what hostile servers may not do."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient
from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.computer.config.files import load_config
from a2c_smcp.console.owner.serving import OwnerServer
from tests.support.hosting import SERVERS, Watched
from tests.support.running import running
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

pytestmark = pytest.mark.anyio

TOKEN = "t" * 40
RAW = {"command": sys.executable, "args": [str(SERVERS / "raw.py")]}
SCRIPT = "\u202e<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
PAGES = ("/", "/approvals", "/tools", "/history", "/windows", "/documents", "/add")


@dataclass
class Place:
    """A Computer with its owner's page, and an Agent."""

    url: str
    file: Path
    computer: Watched
    agent: AsyncSMCPAgentClient


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Place]:
    folder = tmp_path_factory.mktemp("owner")
    file = folder / "mcp.json"
    servers = json.dumps({"raw": RAW, "broken": {"command": str(folder)}})
    file.write_text(f'{{\n  // what this laptop offers\n  "mcpServers": {servers}\n}}\n', "utf-8")
    loaded = load_config(file)
    async with AsyncExitStack() as stack:
        server = stack.enter_context(running("async"))
        computer = await stack.enter_async_context(Watched(*loaded.servers))
        await stack.enter_async_context(SMCPComputerClient.in_office(computer, server.url, "office"))
        owner = OwnerServer(computer, "office", port=0, token=TOKEN)
        await owner.open()
        stack.push_async_callback(owner.aclose)
        agent = await stack.enter_async_context(AsyncSMCPAgentClient.in_office(server.url, "office", SCRIPT))
        assert owner.url is not None
        yield Place(owner.url, file, computer, agent)


def open_page(browser: WebDriver, place: Place, path: str) -> None:
    browser.get(f"{place.url}/console/login?next=/console{path}")
    browser.find_element("css selector", "form#login:not([hidden])")
    browser.find_element("id", "key").send_keys(TOKEN)
    browser.find_element("css selector", "form#login button").click()
    browser.find_element("css selector", "nav.menu")


def press(browser: WebDriver, title: str, within: str = "//main") -> None:
    path = f"{within}//button[. = '{title}']"
    browser.find_element("xpath", path)
    # In one step: a row that is made again meanwhile would leave the driver with a button of before.
    cast("Any", browser).execute_script(
        "document.evaluate(arguments[0], document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue.click()",
        path,
    )


def evaluate(browser: WebDriver, script: str) -> Any:
    return cast("Any", browser).execute_script(f"return {script}")


async def test_owner_allows_one_call_sees_what_differs_in_the_next_and_denies_it(
    place: Place, browser: WebDriver
) -> None:
    await asyncio.to_thread(open_page, browser, place, "/approvals")
    await eventually(lambda: place.computer.approvals.can_ask)
    first = asyncio.create_task(place.agent.call_tool("pc", "echo", {"text": SCRIPT}, 60))

    def allow(browser: WebDriver) -> None:
        browser.find_element("xpath", "//section[contains(@class, 'approval')]//pre[contains(., 'onerror')]")
        assert browser.title.startswith("(1) ")
        assert evaluate(browser, "document.querySelector('main img, main script')") is None
        assert evaluate(browser, "window.pwned") is None
        press(browser, "Allow this call")

    await asyncio.to_thread(allow, browser)
    assert (await first).text == SCRIPT
    second = asyncio.create_task(place.agent.call_tool("pc", "echo", {"text": "other"}, 60))

    def deny(browser: WebDriver) -> None:
        browser.find_element("xpath", "//section[contains(@class, 'approval')]//ins[contains(., 'other')]")
        browser.find_element("css selector", ".approval input").send_keys("not today")
        press(browser, "Deny")
        browser.find_element("xpath", "//*[@id = 'ended']//li[contains(., 'not today')]")

    await asyncio.to_thread(deny, browser)
    result = await second
    assert result.error_code == 4005
    assert "not today" in result.text


async def test_rule_is_set_with_one_click_and_the_file_keeps_its_comments(place: Place, browser: WebDriver) -> None:
    def use(browser: WebDriver) -> None:
        open_page(browser, place, "/tools")
        press(browser, "run", "//tr[.//code[. = 'echo']]")
        browser.find_element("xpath", "//tr[.//code[. = 'echo']]//button[. = 'run'][@aria-pressed = 'true']")
        browser.find_element("xpath", "//*[@id = 'notices'][contains(., 'mcp.json')]")

    await asyncio.to_thread(use, browser)
    written = place.file.read_text("utf-8")
    assert "// what this laptop offers" in written
    assert load_config(place.file).servers[0].tool_meta["echo"].auto_apply is True
    await place.computer.until(lambda: place.computer.mcp_manager.book.entries["echo"].meta.auto_apply is True)
    assert (await place.agent.call_tool("pc", "echo", {"text": "at once"})).text == "at once"

    def look(browser: WebDriver) -> None:
        browser.get(f"{place.url}/console/history")
        browser.find_element("xpath", "//tr[contains(., 'succeeded')]")

    await asyncio.to_thread(look, browser)


async def test_servers_are_shown_with_what_failed_and_can_be_disabled(place: Place, browser: WebDriver) -> None:
    def use(browser: WebDriver) -> None:
        open_page(browser, place, "/")
        press(browser, "Disable", "//tr[contains(., 'broken')]")
        browser.find_element("xpath", "//tr[contains(., 'broken')]//button[. = 'Enable']")
        press(browser, "raw")
        browser.find_element("xpath", "//*[@id = 'facts'][contains(., 'mcp.json')]")

    await asyncio.to_thread(use, browser)
    assert load_config(place.file).servers[1].disabled is True


async def test_server_is_added_from_what_another_host_has(place: Place, browser: WebDriver) -> None:
    pasted = json.dumps({"mcpServers": {"second": RAW}})

    def use(browser: WebDriver) -> None:
        open_page(browser, place, "/add")
        cast("Any", browser).execute_script("document.getElementById('json').value = arguments[0]", pasted)
        press(browser, "Add")
        browser.find_element("xpath", "//*[@id = 'added'][contains(., 'second')]")
        press(browser, "Add")
        browser.find_element("xpath", "//*[@id = 'problem'][contains(., 'second')]")

    await asyncio.to_thread(use, browser)
    assert "// what this laptop offers" in place.file.read_text("utf-8")
    assert [server.name for server in load_config(place.file).servers] == ["raw", "broken", "second"]
    assert any(status.name == "second" for status in place.computer.status)


async def test_no_page_is_wider_than_the_screen_or_complains(place: Place, browser: WebDriver) -> None:
    def use(browser: WebDriver) -> None:
        open_page(browser, place, "/")
        driver = cast("Any", browser)
        driver.get_log("browser")
        try:
            for width in (380, 1400):
                metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
                for page in PAGES:
                    browser.get(f"{place.url}/console{page}")
                    browser.find_element("tag name", "h1")
                    assert evaluate(browser, "document.documentElement.scrollWidth") <= width, page
        finally:
            driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        assert [line for line in driver.get_log("browser") if line["level"] == "SEVERE"] == []

    await asyncio.to_thread(use, browser)
