"""The Server's console in Chromium: login, languages, themes, empty pages, many calls, hostile members, a restart."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from a2c_smcp.server.key_changes import NewKey, add_key
from benchmarks.relay import Caller, payload
from benchmarks.servers import running as unlimited
from tests.support.consoles import AXE, NARROW, THEMES, Console, need_axe
from tests.support.gateway import Answers
from tests.support.peer import Peer
from tests.support.process import ServerProcess
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

pytestmark = pytest.mark.anyio

SCRIPT = "\u202e<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
OFFICE_PAGES = ("", "/tools", "/try", "/desktop", "/documents")
TOOL: Any = {"name": SCRIPT, "description": SCRIPT * 10_000, "params_schema": {}, "return_schema": None}


@dataclass
class Site:
    """A Server, and the keys for it."""

    server: ServerProcess
    folder: Path
    admin: str
    member: str

    def restart(self) -> None:
        self.server.close()
        port = self.server.url.rsplit(":", 1)[1]
        self.server = ServerProcess("--port", port, "--keys-file", str(self.folder / "keys.toml"))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Site]:
    folder = tmp_path_factory.mktemp("console")
    file = folder / "keys.toml"
    keys = [add_key(file, NewKey(name, ["*"], admin=name == "ops")) for name in ("ops", "member")]
    site = Site(ServerProcess("--keys-file", str(file)), folder, *keys)
    try:
        yield site
    finally:
        site.server.close()


def console(browser: WebDriver, site: Site) -> Console:
    return Console(browser, site.server.url, site.admin)


async def test_person_logs_in_and_uses_every_page(site: Site, browser: WebDriver) -> None:
    def use() -> None:
        page = console(browser, site)
        browser.get(f"{site.server.url}/console/keys")
        assert "/console/login?next=/console/keys" in browser.current_url
        page.enter_key(site.member)
        page.see("problem", "administration")
        page.complaints()
        page.log_in()
        page.path("//h1[. = 'Overview']")
        for name in ("Calls", "Keys", "Connect", "Overview"):
            page.press_path(f"//nav//a[. = '{name}']")
            page.path(f"//h1[. = '{name}']")
        # The policy allows the style and the modules of the console.
        assert page.evaluate("getComputedStyle(document.querySelector('.top')).display") == "flex"
        page.path("//*[@id = 'calls'][. = '0']")
        page.choose("#language", "zh")
        page.path("//h1[. = '概览']")
        assert page.evaluate("document.documentElement.lang") == "zh-Hans"
        page.choose("#theme", "dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
        assert page.complaints() == []
        page.press("#logout")
        page.path("//h1[. = '登录']")
        browser.get(f"{site.server.url}/console/")
        assert "/console/login" in browser.current_url

    await asyncio.to_thread(use)


async def test_empty_pages_fit_the_screen_and_are_accessible(site: Site, browser: WebDriver) -> None:
    def use() -> None:
        page = console(browser, site)
        page.log_in()
        page.resize(NARROW)
        for path in ("/", "/calls", "/keys", "/connect", *(f"/offices/nobody{each}" for each in OFFICE_PAGES)):
            page.open(path)
            assert page.overflow() == "", path
            for theme in THEMES if AXE.exists() else ():
                page.change_theme(theme)
                assert page.barriers() == [], f"{theme} {path}"

    await asyncio.to_thread(use)
    need_axe()


async def test_calls_page_shows_a_part_of_a_thousand_calls_a_second(browser: WebDriver) -> None:
    with unlimited("ours") as server:
        async with Caller.on(server) as caller:

            async def call(seconds: float) -> None:
                """Make a thousand calls a second, or as many as this machine can."""
                loop = asyncio.get_running_loop()
                start = loop.time()
                for number in range(int(seconds * 20)):
                    await caller.run(payload(100), 50, 8)
                    await asyncio.sleep(max(0.0, start + number / 20 - loop.time()))

            page = Console(browser, f"http://127.0.0.1:{server.port}", "")
            await asyncio.to_thread(page.open, "/calls")
            await asyncio.to_thread(page.find, "#empty")
            calling = asyncio.create_task(call(seconds=4))

            def look() -> None:
                page.wait("!document.getElementById('sampled').hidden")
                assert page.evaluate("document.querySelectorAll('#calls tbody tr').length") <= 100
                # Somebody can use the page meanwhile.
                page.find("#text").send_keys("no such call")
                page.see("empty", "No call matches")
                page.find("#text").clear()
                page.press("#calls tbody button")
                page.find("#details[open] table")

            await asyncio.to_thread(look)
            await calling
            assert page.complaints() == []


async def test_key_is_created_and_removed_by_keyboard(site: Site, browser: WebDriver) -> None:
    from selenium.webdriver.common.keys import Keys

    def use() -> None:
        page = console(browser, site)
        page.log_in("/keys")
        page.path("//tr[contains(., 'ops')]//td[contains(., 'ago') or contains(., 'now')]")  # its own login is a use
        page.find("#new").send_keys(Keys.ENTER)
        page.find("#id").send_keys("alice")
        page.find("#offices").send_keys("acme-* lab" + Keys.ENTER)
        key = page.path("//*[@id = 'made-key'][starts-with(., 'a2c_')]").text
        assert key not in (site.folder / "keys.toml").read_text()
        page.find("#done").send_keys(Keys.ENTER)
        page.path("//tr[contains(., 'alice')]//button").send_keys(Keys.ENTER)
        page.path("//dialog[@open]//button[. = 'Remove']").send_keys(Keys.ENTER)
        page.see("notices", "alice")
        assert "alice" not in (site.folder / "keys.toml").read_text()

    await asyncio.to_thread(use)


async def test_hostile_members_execute_nothing(site: Site, browser: WebDriver) -> None:
    headers = {"x-api-key": site.member}
    computer = Peer()
    computer.answer = Answers(TOOL)
    try:
        assert await computer.connect(site.server.url, headers=headers)
        assert (await computer.join("computer", SCRIPT, SCRIPT[:200]))[0] is True

        def look() -> None:
            page = console(browser, site)
            page.log_in()
            page.press_path("//td[contains(., 'onerror')]//a")
            page.path("//h1[contains(., 'onerror')]")
            page.press("#look")
            page.path("//*[@id = 'offers']//code[contains(., 'onerror')]")
            assert page.evaluate("window.pwned") is None
            assert page.evaluate("document.querySelector('main img, main script')") is None

        await asyncio.to_thread(look)
    finally:
        await computer.disconnect()


async def test_page_shows_a_restart_and_survives_it(site: Site, browser: WebDriver) -> None:
    page = console(browser, site)

    def stop() -> None:
        page.log_in()
        page.path("//*[@id = 'calls'][. = '0']")
        assert site.server.stop(signal.SIGTERM) == 0
        page.see("connection", "No connection")

    await asyncio.to_thread(stop)
    await asyncio.to_thread(site.restart)
    await eventually(lambda: page.evaluate("document.getElementById('connection').hidden"))

    def go_on() -> None:
        page.press_path("//nav//a[. = 'Keys']")
        page.path("//td[contains(., 'ops')]")

    await asyncio.to_thread(go_on)
