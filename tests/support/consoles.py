"""A person in Chromium who uses a console: the Server's, or that of a Computer's owner."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from tests.support.browser import wait_until
from tests.support.mcp_servers import missing
from tests.support.pages import ROOT
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement

AXE = ROOT / "tests" / "js" / "node_modules" / "axe-core" / "axe.min.js"
NARROW, WIDE = 380, 1400
THEMES = ("light", "dark")
LANGUAGES = ("en", "zh")


def need_axe() -> None:
    """Skip the rest of a test, which has checked everything but what axe checks."""
    if not AXE.exists():
        missing(f"{AXE} does not exist: everything but axe was checked; `npm install` in tests/js makes it")


@dataclass(frozen=True)
class View:
    """A page with content: what it shows when it is complete, and what a person opens on it."""

    name: str
    path: str
    """Below `/console`; `{office}` stands for an office."""
    ready: str
    click: str = ""
    then: str = ""


HUB: Sequence[View] = (
    View("overview", "/", "#offices:not([hidden]) tbody tr"),
    View("calls", "/calls", "#calls:not([hidden]) tbody tr", "#calls tbody button", "#details[open] table"),
    View("keys", "/keys", "#keys:not([hidden]) tbody tr"),
    View("connect", "/connect", ".copyable"),
    View("office", "/offices/{office}", "#members:not([hidden]) tbody tr", "#look", "#offers details"),
    View("tools", "/offices/{office}/tools", "#tools:not([hidden]) tbody tr"),
    View("try", "/offices/{office}/try", "#call:not([hidden])"),
    View("desktop", "/offices/{office}/desktop", "#windows article"),
    View(
        "documents", "/offices/{office}/documents", "#documents:not([hidden]) tbody tr", "#documents tbody button",
        "#elements details",
    ),
)  # fmt: skip
"""The pages of the Server's console."""
OWNER: Sequence[View] = (
    View("servers", "/", "#servers:not([hidden]) tbody tr", "#servers button.link", "#details:not([hidden]) dl"),
    View("approvals", "/approvals", ".approval"),
    View("tools", "/tools", "#tools:not([hidden]) tbody tr"),
    View("history", "/history", "#calls:not([hidden]) tbody tr", "#calls summary", "#calls details[open]"),
    View("windows", "/windows", "#windows article"),
    View(
        "documents", "/documents", "#documents:not([hidden]) tbody tr", "#documents tbody button", "#page-text pre",
    ),
    View("add", "/add", "#paste"),
)  # fmt: skip
"""The pages of a Computer's owner."""


class Console:
    """A console at `url`, as somebody with a key sees it."""

    def __init__(self, browser: WebDriver, url: str, key: str, office: str = "") -> None:
        self.browser = browser
        self.url = url
        self.key = key
        self.office = quote(office, safe="")
        self.is_logged_in = False
        self._width: int | None = None
        self._driver = cast("Any", browser)  # selenium has no types for scripts and commands

    # ---------------------------------------------------------------------------------------------------------- pages

    def log_in(self, page: str = "/") -> None:
        """Log in, and see a page."""
        self.enter_key(self.key, page)
        self.find("nav.menu")
        self.is_logged_in = True

    def enter_key(self, key: str, page: str = "/") -> None:
        """Try a key at the login."""
        self.browser.get(f"{self.url}/console/login?next=/console{quote(page)}")
        self.find("form#login:not([hidden])")
        self.find("#key").send_keys(key)
        self.find("form#login button").click()

    def open(self, page: str) -> None:
        """Open a page."""
        self.browser.get(f"{self.url}/console{page}")
        self.find("h1")

    def show(self, view: View, prepare: Callable[[Console], None] | None = None) -> None:
        """Open a page, wait until it is complete, and open what can be opened on it; `prepare` comes before that."""
        self.open(view.path.replace("{office}", self.office))
        self.find(view.ready)
        if prepare is not None:
            prepare(self)
        if view.click:
            self.press(view.click)
            self.find(view.then)

    # ------------------------------------------------------------------------------------------------------- elements

    def find(self, selector: str) -> WebElement:
        """The first element, once there is one."""
        return self.browser.find_element("css selector", selector)

    def see(self, place: str, text: str) -> None:
        """Wait until an element with an id contains a text."""
        self.browser.find_element("xpath", f"//*[@id = '{place}'][contains(., '{text}')]")

    def path(self, xpath: str) -> WebElement:
        """The first element at an XPath, once there is one."""
        return self.browser.find_element("xpath", xpath)

    def press(self, selector: str) -> None:
        """Click what a selector finds, once a person can see it."""
        self.wait(f"document.querySelector({json.dumps(selector)})?.checkVisibility()")
        # In one step: a row that is made again meanwhile would leave the driver with a button of before.
        self._driver.execute_script("document.querySelector(arguments[0]).click()", selector)

    def press_button(self, title: str, within: str = "//main") -> None:
        """Click the button with a title."""
        self.press_path(f"{within}//button[. = '{title}']")

    def press_path(self, path: str) -> None:
        """Click what an XPath finds, in one step, too."""
        self.path(path)
        script = "document.evaluate(arguments[0], document, null, 9).singleNodeValue.click()"
        self._driver.execute_script(script, path)

    def write(self, selector: str, text: str) -> None:
        """Give a field a value, as pasting does."""
        script = """const field = document.querySelector(arguments[0]); field.value = arguments[1];
            field.dispatchEvent(new Event('input', {bubbles: true}))"""
        self._driver.execute_script(script, selector, text)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option."""
        self.find(f"{selector} option[value='{value}']").click()

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        return self._driver.execute_script(f"return {script}")

    def wait(self, condition: str) -> None:
        """Wait until an expression in the page is true."""
        wait_until(self.browser, condition)

    # ----------------------------------------------------------------------------------------------------- appearance

    def resize(self, width: int, height: int = 900) -> None:
        """Give the screen a size, until `restore`."""
        self._width = width
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self._driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def restore(self) -> None:
        """Give the screen its own size."""
        self._width = None
        self._driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def prefer(self, language: str, theme: str = "auto") -> None:
        """Choose what the next pages look like. A page of the site is open."""
        for name, value in (("a2c_language", language), ("a2c_theme", theme)):
            self._driver.add_cookie({"name": name, "value": value, "path": "/"})

    def change_theme(self, theme: str) -> None:
        """Choose the theme of this page."""
        self._driver.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)

    # ---------------------------------------------------------------------------------------------------------- speed

    def measure(self) -> None:
        """Measure frames and keys in this page from now on."""
        self._driver.execute_script(
            """const seen = window.measured = {frame: 0, task: 0, keys: []};
            let last = performance.now();
            const frame = (now) => {
                seen.frame = Math.max(seen.frame, now - last);
                last = now;
                requestAnimationFrame(frame);
            };
            requestAnimationFrame(frame);
            new PerformanceObserver((list) => {
                for (const each of list.getEntries()) seen.task = Math.max(seen.task, each.duration);
            }).observe({type: 'longtask'});
            document.addEventListener('keydown', (event) => requestAnimationFrame(() => {
                const channel = new MessageChannel();
                channel.port1.onmessage = () => seen.keys.push(performance.now() - event.timeStamp);
                channel.port2.postMessage(0);  // after the frame was drawn
            }), true);"""
        )

    def measured(self) -> dict[str, Any]:
        """In milliseconds: the longest `frame`, the longest `task`, and for each of the `keys` that were pressed, the
        time until the next frame was drawn."""
        return self.evaluate("window.measured")

    # --------------------------------------------------------------------------------------------------------- checks

    def overflow(self) -> str:
        """The elements that are wider than the screen, if the page can be scrolled sideways."""
        # Not `innerWidth`: on a phone, that grows with a page that is too wide.
        return self._driver.execute_script(
            """const width = arguments[0] ?? innerWidth;
            if (document.documentElement.scrollWidth <= width) return '';
            const wide = [...document.body.querySelectorAll('*')].filter(
                (each) => each.getBoundingClientRect().right > width + 1);
            return `${document.documentElement.scrollWidth} > ${width}: ` + wide.slice(0, 5).map((each) =>
                `${each.tagName} ${each.id} ${each.className} ${each.textContent.slice(0, 60)}`).join(' | ')""",
            self._width,
        )

    def complaints(self) -> list[str]:
        """What the browser logged since the last time: errors, and what the policy for content forbids."""
        return [str(line["message"]) for line in self._driver.get_log("browser") if line["level"] == "SEVERE"]

    def barriers(self) -> list[str]:
        """What axe finds on the page."""
        self._driver.set_script_timeout(PATIENCE)
        if not self.evaluate("'axe' in window"):
            self._driver.execute_script(f"{AXE.read_text('utf-8')}; window.axe = axe")
        return self._driver.execute_async_script(
            """const done = arguments[0];
            const look = () => axe.run(document, {resultTypes: ['violations']}).then(
                (found) => done(found.violations.map((each) => `${each.impact}: ${each.help}: ` +
                    each.nodes.map((node) => node.html).join(' ').slice(0, 300))));
            // Not before the page was drawn: a size that changed has effects then.
            requestAnimationFrame(() => requestAnimationFrame(look));"""
        )

    def photograph(self, tallest: int) -> bytes:
        """The page from its top, as a PNG; with a dialog, what the screen shows."""
        tall = "document.querySelector('dialog[open]') ? innerHeight : document.documentElement.scrollHeight"
        width, height = self.evaluate(f"[innerWidth, {tall}]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, tallest), "scale": 1}
        command = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        return base64.b64decode(self._driver.execute_cdp_cmd("Page.captureScreenshot", command)["data"])
