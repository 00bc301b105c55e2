"""Headless Chromium, for tests of what a person sees and clicks: the fixture `browser`.

Chromium starts with the first test that asks for it, once for each process of the tests, and ends with that process.
Between two tests it forgets everything.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

FLAGS = [
    "--headless",
    "--no-sandbox",  # root needs that, and the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",  # which is small in containers
    "--no-first-run",
    # Chromium asks hosts of its maker at every start, and tests use no network but this machine's.
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def browser() -> Generator[WebDriver]:
    """A browser with an empty page and no cookies. It waits for each element that a test looks for."""
    driver = _shared()
    driver.get("about:blank")
    try:
        yield driver
    finally:
        driver.get("about:blank")
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})  # pyright: ignore[reportUnknownMemberType]
        driver.execute_cdp_cmd("Network.clearBrowserCookies", {})  # pyright: ignore[reportUnknownMemberType]


@cache
def _shared() -> WebDriver:
    from tests.support.process import lasting

    driver = start()
    atexit.register(driver.quit)
    lasting.add(driver.service.process.pid)
    return driver


def start() -> WebDriver:
    """Start a browser. It runs until `quit`.

    Skips the test where there is none."""
    # Imported late: most tests need no browser.
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    from tests.support.programs import find

    profile = tempfile.mkdtemp(prefix="chromium")
    atexit.register(shutil.rmtree, profile, ignore_errors=True)
    options = ChromeOptions()
    options.binary_location = find("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    service = ChromeService(find("chromedriver"), log_output=str(Path(profile) / "driver.log"))
    driver = Chrome(options, service)
    driver.implicitly_wait(PATIENCE)
    driver.set_page_load_timeout(PATIENCE)
    return driver


def wait_until(driver: WebDriver, condition: str) -> None:
    """Wait until a JavaScript expression in the page is true."""
    from selenium.webdriver.support.wait import WebDriverWait

    evaluate = cast("Any", driver).execute_script
    WebDriverWait(driver, PATIENCE, poll_frequency=0.05).until(lambda _: evaluate(f"return {condition}"))
