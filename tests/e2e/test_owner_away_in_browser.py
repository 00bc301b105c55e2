"""The page of a Computer's owner in Chromium, for an owner who looks elsewhere, and one who has secrets to enter."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from a2c_smcp.computer.config.files import load_config
from a2c_smcp.computer.offer.approval_request import Decision, Verdict
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.console.owner.serving import OwnerServer
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


def open_page(browser: WebDriver, place: Place, path: str) -> None:
    browser.get(f"{place.url}/console/login?next=/console{path}")
    browser.find_element("css selector", "form#login:not([hidden])")
    browser.find_element("id", "key").send_keys(TOKEN)
    browser.find_element("css selector", "form#login button").click()
    browser.find_element("css selector", "nav.menu")


def evaluate(browser: WebDriver, script: str) -> Any:
    return cast("Any", browser).execute_script(f"return {script}")


async def test_calls_wait_also_while_the_page_is_in_a_hidden_tab(place: Place, browser: WebDriver) -> None:
    def hide(browser: WebDriver) -> None:
        open_page(browser, place, "/tools")
        browser.find_element("xpath", "//tr[.//code[. = 'echo']]")  # which the page loads when its stream has begun
        evaluate(browser, "Object.defineProperty(document, 'hidden', {value: true})")
        evaluate(browser, "document.dispatchEvent(new Event('visibilitychange'))")

    await asyncio.to_thread(hide, browser)
    work = place.computer.aexecute_tool("r1", "echo", {"text": "hidden"}, 60, caller=Caller("office", "ann"))
    call = asyncio.create_task(work)
    await eventually(lambda: place.computer.approvals.waiting)
    await eventually(lambda: browser.title.startswith("(1) "))
    (request,) = place.computer.approvals.waiting
    place.computer.approvals.decide(request.id, Verdict(Decision.DENY, "test"))
    assert code_of(await call) == 4005


async def test_value_of_an_input_is_entered_on_the_page_and_not_shown_again(place: Place, browser: WebDriver) -> None:
    def use(browser: WebDriver) -> None:
        open_page(browser, place, "/add")
        browser.find_element("id", "name").send_keys("needy")
        browser.find_element("id", "command").send_keys(f"{sys.executable} '{SERVERS / 'raw.py'}'")
        browser.find_element("id", "env").send_keys("TOKEN=${input:api-token}")
        browser.find_element("xpath", "//button[. = 'Add the server']").click()
        browser.find_element("xpath", "//*[@id = 'added'][contains(., 'api-token')]")
        browser.find_element("css selector", "#inputs input[type=password]").send_keys("hunter2-hunter2")
        browser.find_element("xpath", "//*[@id = 'inputs']//button[. = 'Save']").click()
        browser.find_element("xpath", "//*[@id = 'inputs'][contains(., 'It has a value')]")
        browser.find_element("xpath", "//*[@id = 'notices'][contains(., 'A2C_SMCP_API_TOKEN')]")
        assert "hunter2" not in browser.page_source
        values = evaluate(browser, "[...document.querySelectorAll('input, textarea')].map((field) => field.value)")
        assert not any("hunter2" in value for value in values)

    await asyncio.to_thread(use, browser)
    states = {status.name: status.state.value for status in place.computer.status}
    assert states["needy"] == "ready"
    assert "hunter2" not in place.file.read_text("utf-8")
