"""The pages of an office in Chromium: thousands of tools, and calls with a form, a question and a cancel."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pytest

from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.server.key_changes import NewKey, add_key
from tests.support.consoles import Console
from tests.support.gateway import Answers
from tests.support.hosting import asking, hosting, raw
from tests.support.mcp_servers import received
from tests.support.peer import Peer
from tests.support.process import ServerProcess
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

logger = logging.getLogger(__name__)
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


def open_page(browser: WebDriver, site: Site, path: str) -> Console:
    page = Console(browser, site.server.url, site.key)
    page.log_in(path)
    return page


async def test_thousands_of_tools_are_filtered_while_typing(site: Site, browser: WebDriver) -> None:
    computer = Peer()
    tools = [smcp_tool(f"tool_{number}") for number in range(MANY)]
    computer.answer = Answers(*tools)
    assert await computer.connect(site.server.url, headers={"x-api-key": site.key})
    assert (await computer.join("computer", "big", "large"))[0] is True

    def use() -> None:
        page = open_page(browser, site, "/offices/large/tools")
        page.see("count", "5,000 of 5,000")
        page.measure()
        # A key costs little because only the rows near the screen exist.
        assert page.evaluate("document.querySelectorAll('#tools tbody tr').length") < 500
        page.find("#search").send_keys("tool_4321")
        page.see("count", "1 of 5,000")
        page.find("#search").send_keys("x")
        page.see("empty", "No tool matches")
        # Other tests use the machine as well: the rows are asserted, and the time is logged (`--log-cli-level INFO`).
        logger.info("%.0f ms for a key", median(page.measured()["keys"]))

    try:
        await asyncio.to_thread(use)
    finally:
        await computer.disconnect()


async def test_tool_is_called_with_a_form(site: Site, browser: WebDriver) -> None:
    def use() -> None:
        page = open_page(browser, site, "/offices/office/tools")
        page.press_path("//a[. = 'echo']")
        page.find("#fields textarea, #fields input").send_keys(SCRIPT)
        page.press("#run")
        page.see("state", "succeeded")
        page.see("result", "onerror")
        assert page.evaluate("window.pwned") is None
        assert page.evaluate("document.querySelector('main img')") is None
        page.press("#history button")
        assert SCRIPT in page.evaluate("document.getElementById('json').value")

    await asyncio.to_thread(use)


async def test_question_is_answered_and_says_who_asks(site: Site, browser: WebDriver) -> None:
    def use() -> None:
        page = open_page(browser, site, "/offices/office/tools")
        page.press_path("//a[. = 'ask']")
        page.press("#run")
        page.see("questions", "asking")
        page.find("#questions textarea, #questions input").send_keys("Ann")
        page.press_button("Answer", "//*[@id = 'questions']")
        page.see("result", "Ann")

    await asyncio.to_thread(use)


async def test_running_call_shows_progress_and_is_cancelled_where_it_runs(site: Site, browser: WebDriver) -> None:
    def use() -> Console:
        page = open_page(browser, site, "/offices/office/tools")
        page.press_path("//a[. = 'sleep']")
        page.find("#fields input")
        page.write("#json", '{"seconds": 600}')
        page.press("#run")
        page.see("state", "running")
        page.see("progress", "1 / 2")
        return page

    def stop(page: Console) -> None:
        page.press("#stop")
        page.see("state", "cancelled")

    page = await asyncio.to_thread(use)
    await eventually(lambda: received(site.log, "tools/call"))
    await asyncio.to_thread(stop, page)
    await eventually(lambda: received(site.log, "notifications/cancelled"))
