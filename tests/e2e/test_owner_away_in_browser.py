"""The page of a Computer's owner in Chromium, for an owner who looks elsewhere, and one who has secrets to enter."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from a2c_smcp.computer.config.files import load_config
from a2c_smcp.computer.offer.approval_request import Decision, Verdict
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.console.owner.serving import OwnerServer
from tests.support.consoles import Console
from tests.support.hosting import SERVERS, Watched, code_of
from tests.support.mcp_servers import raw, stdio, write_config
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

pytestmark = pytest.mark.anyio

TOKEN = "t" * 40


@dataclass
class Place:
    """A Computer with its owner's page."""

    url: str
    file: Path
    computer: Watched


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Place]:
    file = write_config(tmp_path_factory.mktemp("owner"), {"raw": stdio(raw(), default_tool_meta=None)})
    async with AsyncExitStack() as stack:
        computer = await stack.enter_async_context(Watched(*load_config(file).servers))
        owner = OwnerServer(computer, "office", port=0, token=TOKEN)
        await owner.open()
        stack.push_async_callback(owner.aclose)
        assert owner.url is not None
        yield Place(owner.url, file, computer)


def open_page(browser: WebDriver, place: Place, path: str) -> Console:
    page = Console(browser, place.url, TOKEN)
    page.log_in(path)
    return page


async def test_calls_wait_also_while_the_page_is_in_a_hidden_tab(place: Place, browser: WebDriver) -> None:
    def hide() -> None:
        page = open_page(browser, place, "/tools")
        page.path("//tr[.//code[. = 'echo']]")  # which the page loads when its stream has begun
        page.evaluate("Object.defineProperty(document, 'hidden', {value: true})")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    await asyncio.to_thread(hide)
    work = place.computer.aexecute_tool("r1", "echo", {"text": "hidden"}, 60, caller=Caller("office", "ann"))
    call = asyncio.create_task(work)
    await eventually(lambda: place.computer.approvals.waiting)
    await eventually(lambda: browser.title.startswith("(1) "))
    (request,) = place.computer.approvals.waiting
    place.computer.approvals.decide(request.id, Verdict(Decision.DENY, "test"))
    assert code_of(await call) == 4005


async def test_value_of_an_input_is_entered_on_the_page_and_not_shown_again(place: Place, browser: WebDriver) -> None:
    def use() -> None:
        page = open_page(browser, place, "/add")
        page.find("#name").send_keys("needy")
        page.find("#command").send_keys(f"{sys.executable} '{SERVERS / 'raw.py'}'")
        page.find("#env").send_keys("TOKEN=${input:api-token}")
        page.press_button("Add the server")
        page.see("added", "api-token")
        page.find("#inputs input[type=password]").send_keys("hunter2-hunter2")
        page.press_button("Save", "//*[@id = 'inputs']")
        page.see("inputs", "It has a value")
        page.see("notices", "A2C_SMCP_API_TOKEN")
        assert "hunter2" not in browser.page_source
        values = page.evaluate("[...document.querySelectorAll('input, textarea')].map((field) => field.value)")
        assert not any("hunter2" in value for value in values)

    await asyncio.to_thread(use)
    states = {status.name: status.state.value for status in place.computer.status}
    assert states["needy"] == "ready"
    assert "hunter2" not in place.file.read_text("utf-8")
