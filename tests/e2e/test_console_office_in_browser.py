"""The pages of an office in Chromium: thousands of tools, and calls with a form, a question and a cancel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.server.key_changes import NewKey, add_key
from tests.support.gateway import Answers
from tests.support.hosting import asking, hosting, raw
from tests.support.mcp_servers import received
from tests.support.peer import Peer
from tests.support.process import ServerProcess
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

pytestmark = pytest.mark.anyio

MANY = 5_000
SCRIPT = "<img src=x onerror=window.pwned=1>"


@dataclass
class Site:
    """A Server with an office, and the key of its operator."""

    server: ServerProcess
    key: str
    log: Path


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Site]:
    folder = tmp_path_factory.mktemp("console")
    file, log = folder / "keys.toml", folder / "raw"
    key = add_key(file, NewKey("ops", ["*"], admin=True))
    site = Site(ServerProcess("--keys-file", str(file)), key, log)
    try:
        async with AsyncExitStack() as stack:
            computer = await stack.enter_async_context(hosting(raw("raw", "--log", str(log)), asking()))
            computer.name = "pc"
            client = SMCPComputerClient.in_office(computer, site.server.url, "office", api_key=key)
            await stack.enter_async_context(client)
            yield site
    finally:
        site.server.close()


def open_page(browser: WebDriver, site: Site, path: str) -> None:
    browser.get(f"{site.server.url}/console/login?next=/console{path}")
    browser.find_element("css selector", "form#login:not([hidden])")
    browser.find_element("id", "key").send_keys(site.key)
    browser.find_element("css selector", "form#login button").click()


def evaluate(browser: WebDriver, script: str) -> Any:
    return cast("Any", browser).execute_script(f"return {script}")


def see(browser: WebDriver, id: str, text: str) -> None:
    browser.find_element("xpath", f"//*[@id = '{id}'][contains(., '{text}')]")


async def test_thousands_of_tools_are_filtered_while_typing(site: Site, browser: WebDriver) -> None:
    computer = Peer()
    tools = [smcp_tool(f"tool_{number}") for number in range(MANY)]
    computer.answer = Answers(*tools)
    assert await computer.connect(site.server.url, headers={"x-api-key": site.key})
    assert (await computer.join("computer", "big", "large"))[0] is True

    def use(browser: WebDriver) -> None:
        open_page(browser, site, "/offices/large/tools")
        see(browser, "count", "5,000 of 5,000")
        # A key costs little because only the rows near the screen exist.
        assert evaluate(browser, "document.querySelectorAll('#tools tbody tr').length") < 500
        browser.find_element("id", "search").send_keys("tool_4321")
        see(browser, "count", "1 of 5,000")
        browser.find_element("id", "search").send_keys("x")
        see(browser, "empty", "No tool matches")

    try:
        await asyncio.to_thread(use, browser)
    finally:
        await computer.disconnect()


async def test_tool_is_called_with_a_form(site: Site, browser: WebDriver) -> None:
    def use(browser: WebDriver) -> None:
        open_page(browser, site, "/offices/office/tools")
        browser.find_element("xpath", "//a[. = 'echo']").click()
        browser.find_element("css selector", "#fields textarea, #fields input").send_keys(SCRIPT)
        browser.find_element("id", "run").click()
        see(browser, "state", "succeeded")
        see(browser, "result", "onerror")
        assert evaluate(browser, "window.pwned") is None
        assert evaluate(browser, "document.querySelector('main img')") is None
        browser.find_element("xpath", "//*[@id = 'history']//button").click()
        assert SCRIPT in evaluate(browser, "document.getElementById('json').value")

    await asyncio.to_thread(use, browser)


async def test_question_is_answered_and_says_who_asks(site: Site, browser: WebDriver) -> None:
    def use(browser: WebDriver) -> None:
        open_page(browser, site, "/offices/office/tools")
        browser.find_element("xpath", "//a[. = 'ask']").click()
        browser.find_element("id", "run").click()
        see(browser, "questions", "asking")
        browser.find_element("css selector", "#questions textarea, #questions input").send_keys("Ann")
        browser.find_element("xpath", "//*[@id = 'questions']//button[. = 'Answer']").click()
        see(browser, "result", "Ann")

    await asyncio.to_thread(use, browser)


async def test_running_call_is_cancelled_where_it_runs(site: Site, browser: WebDriver) -> None:
    def use(browser: WebDriver) -> None:
        open_page(browser, site, "/offices/office/tools")
        browser.find_element("xpath", "//a[. = 'sleep']").click()
        box = browser.find_element("id", "json")
        box.clear()
        box.send_keys('{"seconds": 600}')
        browser.find_element("id", "run").click()
        see(browser, "state", "running")

    def stop(browser: WebDriver) -> None:
        browser.find_element("id", "stop").click()
        see(browser, "state", "cancelled")

    await asyncio.to_thread(use, browser)
    await eventually(lambda: received(site.log, "tools/call"))
    await asyncio.to_thread(stop, browser)
    await eventually(lambda: received(site.log, "notifications/cancelled"))
