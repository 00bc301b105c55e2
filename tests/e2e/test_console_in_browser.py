"""The Server's console in Chromium: login, pages, languages, themes, widths, a restart, and hostile members."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from a2c_smcp.server.key_changes import NewKey, add_key
from tests.support.gateway import Answers
from tests.support.pages import ROOT
from tests.support.peer import Peer, tool_call
from tests.support.process import ServerProcess
from tests.support.waiting import PATIENCE, eventually

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

pytestmark = pytest.mark.anyio

SCRIPT = "\u202e<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
TOOL: Any = {"name": SCRIPT, "description": SCRIPT * 10_000, "params_schema": {}, "return_schema": None}
AXE = ROOT / "tests" / "js" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = ("/", "/calls", "/keys", "/connect")


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


def log_in(browser: WebDriver, site: Site, key: str | None = None) -> None:
    browser.get(f"{site.server.url}/console/login")
    browser.find_element("css selector", "form#login:not([hidden])")
    browser.find_element("id", "key").send_keys(key or site.admin)
    browser.find_element("css selector", "form#login button").click()


def evaluate(browser: WebDriver, script: str) -> Any:
    return cast("Any", browser).execute_script(f"return {script}")


def resize(browser: WebDriver, width: int, height: int = 900) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    cast("Any", browser).execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def complaints(browser: WebDriver) -> list[str]:
    """What the browser logged since the last time."""
    return [str(line["message"]) for line in cast("Any", browser).get_log("browser") if line["level"] == "SEVERE"]


async def on(browser: WebDriver, use: Callable[[WebDriver], None]) -> None:
    """Use the browser, while the members of the test go on."""
    await asyncio.to_thread(use, browser)


async def test_person_logs_in_and_uses_every_page(site: Site, browser: WebDriver) -> None:
    def use(browser: WebDriver) -> None:
        browser.get(f"{site.server.url}/console/keys")
        assert "/console/login?next=/console/keys" in browser.current_url
        log_in(browser, site, site.member)
        browser.find_element("xpath", "//*[@id = 'problem'][contains(., 'administration')]")
        complaints(browser)
        log_in(browser, site)
        browser.find_element("xpath", "//h1[. = 'Overview']")
        for name in ("Calls", "Keys", "Connect", "Overview"):
            browser.find_element("xpath", f"//nav//a[. = '{name}']").click()
            browser.find_element("xpath", f"//h1[. = '{name}']")
        # The policy allows the style and the modules of the console.
        assert evaluate(browser, "getComputedStyle(document.querySelector('.top')).display") == "flex"
        browser.find_element("xpath", "//*[@id = 'calls'][. = '0']")
        browser.find_element("css selector", "#language option[value=zh]").click()
        browser.find_element("xpath", "//h1[. = '概览']")
        assert evaluate(browser, "document.documentElement.lang") == "zh-Hans"
        browser.find_element("css selector", "#theme option[value=dark]").click()
        assert evaluate(browser, "getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
        assert complaints(browser) == []
        browser.find_element("id", "logout").click()
        browser.find_element("xpath", "//h1[. = '登录']")
        browser.get(f"{site.server.url}/console/")
        assert "/console/login" in browser.current_url

    await on(browser, use)


async def test_no_page_is_wider_than_the_screen(site: Site, browser: WebDriver) -> None:
    def use(browser: WebDriver) -> None:
        log_in(browser, site)
        browser.find_element("xpath", "//h1[. = 'Overview']")
        try:
            for width in (380, 1400):
                resize(browser, width)
                for page in PAGES:
                    browser.get(f"{site.server.url}/console{page}")
                    browser.find_element("tag name", "h1")
                    assert evaluate(browser, "document.documentElement.scrollWidth") <= width, page
        finally:
            cast("Any", browser).execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    await on(browser, use)


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make test brings it")
async def test_pages_are_accessible(site: Site, browser: WebDriver) -> None:
    source = AXE.read_text("utf-8") if AXE.exists() else ""
    run = (
        "const done = arguments[0];"
        "axe.run(document).then((found) => done(found.violations.map((each) => `${each.impact} ${each.help}`)))"
    )

    def use(browser: WebDriver) -> None:
        log_in(browser, site)
        browser.find_element("xpath", "//h1[. = 'Overview']")
        cast("Any", browser).set_script_timeout(PATIENCE)
        for theme in ("light", "dark"):
            cast("Any", browser).add_cookie({"name": "a2c_theme", "value": theme, "path": "/"})
            for page in PAGES:
                browser.get(f"{site.server.url}/console{page}")
                browser.find_element("tag name", "h1")
                cast("Any", browser).execute_script(f"{source}; window.axe = axe")
                assert cast("Any", browser).execute_async_script(run) == [], f"{theme} {page}"

    await on(browser, use)


async def test_key_is_created_and_removed_by_keyboard(site: Site, browser: WebDriver) -> None:
    from selenium.webdriver.common.keys import Keys

    def use(browser: WebDriver) -> None:
        log_in(browser, site)
        browser.find_element("xpath", "//h1[. = 'Overview']")
        browser.get(f"{site.server.url}/console/keys")
        browser.find_element("id", "new").send_keys(Keys.ENTER)
        browser.find_element("id", "id").send_keys("alice")
        browser.find_element("id", "offices").send_keys("acme-* lab" + Keys.ENTER)
        key = browser.find_element("xpath", "//*[@id = 'made-key'][starts-with(., 'a2c_')]").text
        assert key not in (site.folder / "keys.toml").read_text()
        browser.find_element("id", "done").send_keys(Keys.ENTER)
        browser.find_element("xpath", "//tr[contains(., 'alice')]//button").send_keys(Keys.ENTER)
        browser.find_element("xpath", "//dialog[@open]//button[. = 'Remove']").send_keys(Keys.ENTER)
        browser.find_element("xpath", "//*[@id = 'notices'][contains(., 'alice')]")
        assert "alice" not in (site.folder / "keys.toml").read_text()

    await on(browser, use)


async def test_hostile_members_execute_nothing(site: Site, browser: WebDriver) -> None:
    headers = {"x-api-key": site.member}
    computer, agent = Peer(), Peer()
    computer.answer = Answers(TOOL)
    office = SCRIPT[:200]
    try:
        assert await computer.connect(site.server.url, headers=headers)
        assert (await computer.join("computer", SCRIPT, office))[0] is True

        def look(browser: WebDriver) -> None:
            log_in(browser, site)
            browser.find_element("xpath", "//td[contains(., 'onerror')]//a").click()
            browser.find_element("xpath", "//h1[contains(., 'onerror')]")
            browser.find_element("id", "look").click()
            browser.find_element("xpath", "//*[@id = 'offers']//code[contains(., 'onerror')]")
            assert evaluate(browser, "window.pwned") is None
            assert evaluate(browser, "document.querySelector('main img, main script')") is None

        await on(browser, look)
        assert await agent.connect(site.server.url, headers=headers)
        assert (await agent.join("agent", "planner", "calls"))[0] is True
        assert (await computer.join("computer", "pc", "calls"))[0] is True

        def open_calls(browser: WebDriver) -> None:
            browser.get(f"{site.server.url}/console/calls")
            browser.find_element("id", "empty")

        await on(browser, open_calls)
        # A call arrives until the page listens.
        async with asyncio.timeout(PATIENCE):
            while not evaluate(browser, "document.querySelectorAll('#calls tbody tr').length"):
                await agent.ask("client:tool_call", tool_call(req_id=SCRIPT, tool_name=SCRIPT))
                await asyncio.sleep(0.2)

        def show_details(browser: WebDriver) -> None:
            browser.find_element("css selector", "#calls tbody button").click()
            browser.find_element("xpath", "//*[@id = 'details'][@open][contains(., 'onerror')]")
            assert evaluate(browser, "window.pwned") is None
            assert evaluate(browser, "document.querySelector('main img, main script, dialog img')") is None

        await on(browser, show_details)
    finally:
        await agent.disconnect()
        await computer.disconnect()


async def test_page_shows_a_restart_and_survives_it(site: Site, browser: WebDriver) -> None:
    def stop(browser: WebDriver) -> None:
        log_in(browser, site)
        browser.find_element("xpath", "//*[@id = 'calls'][. = '0']")
        assert site.server.stop(signal.SIGTERM) == 0
        browser.find_element("xpath", "//*[@id = 'connection'][contains(., 'No connection')]")

    await on(browser, stop)
    await asyncio.to_thread(site.restart)
    await eventually(lambda: evaluate(browser, "document.getElementById('connection').hidden"))

    def go_on(browser: WebDriver) -> None:
        browser.find_element("xpath", "//nav//a[. = 'Keys']").click()
        browser.find_element("xpath", "//td[contains(., 'ops')]")

    await on(browser, go_on)
