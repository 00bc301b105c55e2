"""The page of a Computer's owner in Chromium: approvals, rules, MCP servers, and what hostile servers may not do."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient
from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.computer.config.files import load_config
from a2c_smcp.console.owner.serving import OwnerServer
from tests.support.consoles import Console
from tests.support.hosting import SERVERS, Watched
from tests.support.running import running
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

pytestmark = pytest.mark.anyio

TOKEN = "t" * 40
RAW = {"command": sys.executable, "args": [str(SERVERS / "raw.py")]}
SCRIPT = "\u202e<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"


@dataclass
class Place:
    """A Computer with its owner's page, and an Agent."""

    url: str
    file: Path
    computer: Watched
    agent: AsyncSMCPAgentClient
    owner: OwnerServer


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
        yield Place(owner.url, file, computer, agent, owner)


def open_page(browser: WebDriver, place: Place, path: str) -> Console:
    page = Console(browser, place.url, TOKEN)
    page.log_in(path)
    return page


async def test_owner_pastes_the_login_link(place: Place, browser: WebDriver) -> None:
    page = Console(browser, place.url, TOKEN)
    link = place.owner.login_url()
    assert link is not None

    def use() -> None:
        page.enter_key(link)
        page.find("nav.menu")

    await asyncio.to_thread(use)


async def test_owner_allows_one_call_sees_what_differs_in_the_next_and_denies_it(
    place: Place, browser: WebDriver
) -> None:
    page = await asyncio.to_thread(open_page, browser, place, "/approvals")
    await eventually(lambda: place.computer.approvals.can_ask)
    first = asyncio.create_task(place.agent.call_tool("pc", "echo", {"text": SCRIPT}, 60))

    def allow() -> None:
        page.path("//section[contains(@class, 'approval')]//pre[contains(., 'onerror')]")
        page.path("//nav//a[contains(., 'Approvals')]/*[. = '1']")
        assert browser.title.startswith("(1) ")
        assert page.evaluate("document.querySelector('main img, main script')") is None
        assert page.evaluate("window.pwned") is None
        page.press_button("Allow this call")
        page.wait("!document.title.startsWith('(')")

    await asyncio.to_thread(allow)
    assert (await first).text == SCRIPT
    second = asyncio.create_task(place.agent.call_tool("pc", "echo", {"text": "other"}, 60))

    def deny() -> None:
        page.path("//section[contains(@class, 'approval')]//ins[contains(., 'other')]")
        page.find(".approval input").send_keys("not today")
        page.press_button("Deny")
        page.path("//*[@id = 'ended']//li[contains(., 'not today')]")

    await asyncio.to_thread(deny)
    result = await second
    assert result.error_code == 4005
    assert "not today" in result.text


async def test_owner_allows_a_tool_for_an_hour_and_another_one_always(place: Place, browser: WebDriver) -> None:
    page = await asyncio.to_thread(open_page, browser, place, "/approvals")
    await eventually(lambda: place.computer.approvals.can_ask)
    first = asyncio.create_task(place.agent.call_tool("pc", "add", {"a": 1, "b": 2}, 60))
    await asyncio.to_thread(page.press_button, "Allow the tool for an hour")
    assert (await first).text == "3"
    before = place.file.read_text("utf-8")
    assert (await place.agent.call_tool("pc", "add", {"a": 2, "b": 2}, 60)).text == "4"
    assert place.file.read_text("utf-8") == before
    second = asyncio.create_task(place.agent.call_tool("pc", "describe", {}, 60))

    def always() -> None:
        page.path(
            "//section[contains(@class, 'approval')]//code[. = 'mcpServers.raw.tool_meta.describe.auto_apply = true']"
        )
        page.press_button("Always allow the tool")
        page.see("notices", "mcp.json")

    await asyncio.to_thread(always)
    assert (await second).text == "described"
    assert load_config(place.file).servers[0].tool_meta["describe"].auto_apply is True
    assert (await place.agent.call_tool("pc", "describe", {}, 60)).text == "described"

    def look() -> None:
        page.open("/tools")
        page.path("//tr[.//code[. = 'add']]//*[contains(., 'by your decision')]")
        page.path("//tr[.//code[. = 'describe']]//button[. = 'run'][@aria-pressed = 'true']")

    await asyncio.to_thread(look)


async def test_call_that_its_agent_withdraws_leaves_the_page(place: Place, browser: WebDriver) -> None:
    page = await asyncio.to_thread(open_page, browser, place, "/approvals")
    await eventually(lambda: place.computer.approvals.can_ask)
    call = asyncio.create_task(place.agent.call_tool("pc", "media", {}, 60))
    await asyncio.to_thread(page.find, ".approval")
    call.cancel()

    def look() -> None:
        page.path("//*[@id = 'ended']//li[contains(., 'media')][contains(., 'withdrawn')]")
        assert page.evaluate("document.querySelector('.approval')") is None
        assert not browser.title.startswith("(")

    await asyncio.to_thread(look)


async def test_rule_is_set_with_one_click_and_the_file_keeps_its_comments(place: Place, browser: WebDriver) -> None:
    def use() -> None:
        page = open_page(browser, place, "/tools")
        page.press_button("run", "//tr[.//code[. = 'echo']]")
        page.path("//tr[.//code[. = 'echo']]//button[. = 'run'][@aria-pressed = 'true']")
        page.see("notices", "mcp.json")

    await asyncio.to_thread(use)
    written = place.file.read_text("utf-8")
    assert "// what this laptop offers" in written
    assert load_config(place.file).servers[0].tool_meta["echo"].auto_apply is True
    await place.computer.until(lambda: place.computer.mcp_manager.book.entries["echo"].meta.auto_apply is True)
    assert (await place.agent.call_tool("pc", "echo", {"text": "at once"})).text == "at once"

    def look() -> None:
        page = Console(browser, place.url, TOKEN)
        page.open("/history")
        page.path("//tr[contains(., 'succeeded')]")

    await asyncio.to_thread(look)


async def test_servers_are_shown_with_what_failed_and_can_be_disabled(place: Place, browser: WebDriver) -> None:
    def use() -> None:
        page = open_page(browser, place, "/")
        page.press_button("Disable", "//tr[contains(., 'broken')]")
        page.path("//tr[contains(., 'broken')]//button[. = 'Enable']")
        page.press_button("raw")
        page.see("facts", "mcp.json")

    await asyncio.to_thread(use)
    assert load_config(place.file).servers[1].disabled is True


async def test_server_is_added_from_what_another_host_has(place: Place, browser: WebDriver) -> None:
    pasted = json.dumps({"mcpServers": {"second": RAW}})

    def use() -> None:
        page = open_page(browser, place, "/add")
        page.write("#json", pasted)
        page.press_button("Add")
        page.see("added", "second")
        page.press_button("Add")
        page.see("problem", "second")

    await asyncio.to_thread(use)
    assert "// what this laptop offers" in place.file.read_text("utf-8")
    assert [server.name for server in load_config(place.file).servers] == ["raw", "broken", "second"]
    assert any(status.name == "second" for status in place.computer.status)
