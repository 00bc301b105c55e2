"""Every page of both consoles in Chromium, with the content of a hostile MCP server and of hostile members.

Each page is complete in both languages, light and dark, narrow and wide; it is accessible; and nothing that a peer
wrote is executed, breaks the layout or reaches the browser's log.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from tests.support.console_scene import TOKEN, Scene, scene
from tests.support.consoles import AXE, HUB, LANGUAGES, NARROW, OWNER, THEMES, WIDE, Console, View, need_axe
from tests.support.gateway import Answers
from tests.support.mcp_servers import AUTO, SERVERS, write_config
from tests.support.peer import tool_call
from tests.support.smcp_tools import smcp_tool

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

pytestmark = pytest.mark.anyio

MARKUP = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
NAME = f"\u202e{MARKUP}"
OFFICE = NAME + "o" * (250 - len(NAME))
COMPUTER = NAME + "c" * (250 - len(NAME))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Scene]:
    folder = tmp_path_factory.mktemp("hostile")
    rules = {"danger": {"auto_apply": False}}
    hostile = {"command": sys.executable, "args": [str(SERVERS / "hostile.py")], "default_tool_meta": AUTO}
    servers = {MARKUP: {**hostile, "tool_meta": rules}, "broken": {"command": str(folder / f"{'b' * 200}")}}
    async with AsyncExitStack() as stack:
        config = write_config(folder, servers)
        found = await stack.enter_async_context(scene(folder, config, OFFICE, COMPUTER, MARKUP))
        for tool in ("long", "fail", "fault"):
            await found.computer.call(tool, text=NAME)
        headers = {"x-api-key": found.member}
        await found.hall.fake(Answers(smcp_tool()), NAME, "others", headers=headers)
        agent = await found.hall.people.member("agent", f"{NAME}-agent", "others", headers=headers)

        async def call_tools() -> None:
            number = 0
            while True:
                number += 1
                call = tool_call(NAME, agent=NAME, req_id=f"{NAME}{number}", tool_name=NAME + "t" * 5_000)
                await agent.ask("client:tool_call", call)
                await asyncio.sleep(0.2)

        calling = asyncio.create_task(call_tools())
        stack.callback(calling.cancel)
        await stack.enter_async_context(found.waiting("danger", {MARKUP: NAME, "long": "W" * 100_000}))
        yield found


def check(console: Console, views: Sequence[View]) -> list[str]:
    """What is wrong with pages in any of their forms."""
    found: list[str] = []
    console.log_in()
    console.complaints()
    for language in LANGUAGES:
        console.prefer(language)
        for view in views:
            console.show(view)
            problems = (
                [f"executes: {console.evaluate('window.pwned')}"] if console.evaluate("'pwned' in window") else []
            )
            if console.evaluate("document.querySelector('main img, main script, main style, dialog img') !== null"):
                problems.append("has elements of a peer")
            if console.evaluate(r"/[\u202e\u2066\u0007\u001b]/.test(document.body.innerText)"):
                problems.append("shows characters that reorder or hide text")
            for width in (NARROW, WIDE):
                console.resize(width)
                problems.append(console.overflow())
            for theme in THEMES if language == "en" and AXE.exists() else ():
                console.change_theme(theme)
                problems += console.barriers()
            console.restore()
            found += [f"{language} {view.name}: {each}" for each in (*problems, *console.complaints()) if each]
    return found


async def test_pages_of_a_server_stay_as_they_are(stage: Scene, browser: WebDriver) -> None:
    console = Console(browser, stage.url, stage.key, OFFICE)
    assert await asyncio.to_thread(check, console, HUB) == []
    need_axe()


async def test_pages_of_an_owner_stay_as_they_are(stage: Scene, browser: WebDriver) -> None:
    console = Console(browser, stage.owner_url, TOKEN)
    assert await asyncio.to_thread(check, console, OWNER) == []
    need_axe()


async def test_results_of_a_hostile_tool_are_shown_as_data(stage: Scene, browser: WebDriver) -> None:
    console = Console(browser, stage.url, stage.key, OFFICE)

    def use() -> None:
        console.log_in(f"/offices/{console.office}/try")
        console.resize(NARROW)
        for tool in ("long", "media", "fail", "fault", "work"):
            console.find("#call:not([hidden])")
            console.choose("#tool", tool)
            console.wait(f"location.search.endsWith('tool={tool}') && !document.getElementById('call').hidden")
            console.press("#run")
            if tool == "work":
                console.see("progress", "1 / 3")
                console.see("progress", "onerror")
                assert console.overflow() == ""
                console.press("#stop")
                console.see("state", "cancelled")
            console.find("#stop[hidden]")
            assert console.evaluate("'pwned' in window") is False, tool
            assert console.evaluate("document.querySelector('main script, main style') === null"), tool
            assert console.overflow() == "", tool
        assert console.complaints() == []

    await asyncio.to_thread(use)
