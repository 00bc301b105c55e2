"""The address of `a2c up` in Chromium: one login for the pages of the Server and those of its Computer."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tests.support.process import WarmProcess, free_port

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver


def go(browser: WebDriver, name: str, heading: str) -> None:
    browser.find_element("xpath", f"//nav[@class = 'menu']//a[. = '{name}']").click()
    browser.find_element("xpath", f"//h1[. = '{heading}']")


def cookies(browser: WebDriver) -> dict[str, str]:
    return {each["name"]: each["value"] for each in cast("Any", browser).get_cookies()}


def test_navigation_leads_from_the_server_to_the_computer_and_back(tmp_path: Path, browser: WebDriver) -> None:
    command = ["a2c", "up", str(tmp_path), "--port", str(free_port()), "--name", "pc"]
    with contextlib.closing(WarmProcess(command)) as process:
        process.type()
        process.wait_for("pc joined")
        address = process.wait_for(r"(http://\S+/console/login#token=\S+)")[1]
        browser.get(address)
        browser.find_element("xpath", "//h1[. = 'Overview']")
        server = browser.current_url
        go(browser, "Computer", "MCP servers")
        page = browser.current_url
        assert page != server
        assert "token" not in page
        go(browser, "Approvals", "Approvals")
        go(browser, "Server", "Overview")
        assert browser.current_url == server
        # A second visit ends no session: other tabs keep theirs.
        before = cookies(browser)
        go(browser, "Computer", "MCP servers")
        assert cookies(browser) == before
        browser.find_element("id", "logout").click()
        browser.find_element("xpath", "//main//a[contains(., 'pages of the Server')]").click()
        browser.find_element("xpath", "//h1[. = 'MCP servers']")
        # The address that was used opens the pages only where somebody is logged in already.
        browser.get("about:blank")
        browser.get(address)
        browser.find_element("xpath", "//h1[. = 'Overview']")
        browser.delete_all_cookies()
        browser.get("about:blank")
        browser.get(address)
        browser.find_element("css selector", "#problem:not([hidden])")
