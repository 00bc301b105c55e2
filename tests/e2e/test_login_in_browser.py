"""The complete login of a person: Chromium, the pages of an authorization server, and `a2c` as processes."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.guarded import PASSWORD, USER, Guarded, account
from tests.support.mcp_servers import AUTO, write_config
from tests.support.process import LineProcess, WarmProcess, a2c, computer_process, server_process

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver


@pytest.fixture
def server() -> Generator[Guarded]:
    with account() as server:
        yield server


@pytest.fixture
def config(server: Guarded, tmp_path: Path) -> str:
    return str(write_config(tmp_path, {"account": {"url": server.url, "default_tool_meta": AUTO}}))


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A user without logins, whose browser the test operates."""
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}


@contextlib.contextmanager
def login(config: str, env: dict[str, str]) -> Generator[tuple[LineProcess, str]]:
    """`a2c computer login`, and the address that it prints."""
    process = WarmProcess(["a2c", "computer", "--config", config, "login", "account"], env=env)
    with contextlib.closing(process):
        process.type()
        yield process, process.wait_for(r"^  (http://\S+/authorize\?\S+)")[1]


def type_password(browser: WebDriver, password: str) -> None:
    browser.find_element("name", "user").send_keys(USER)
    browser.find_element("name", "password").send_keys(password)
    browser.find_element("id", "continue").click()


def text_of(browser: WebDriver) -> str:
    return browser.find_element("tag name", "body").text


def test_person_logs_in_and_an_agent_calls_the_tool(
    server: Guarded, config: str, env: dict[str, str], browser: WebDriver
) -> None:
    with server_process() as hub:
        office = ["--url", hub.url, "--office", "o"]
        with computer_process("--config", config, *office, "--name", "pc", env=env) as computer:
            computer.wait_for(f"log in with: a2c computer --config {config} login account")
            with login(config, env) as (process, address):
                browser.get(address)
                type_password(browser, "wrong")
                assert browser.find_element("xpath", "//p[contains(., 'wrong')]").is_displayed()
                type_password(browser, PASSWORD)
                assert browser.find_element("id", "client").text == "A2C Computer"
                assert browser.find_element("id", "rights").text == "read"
                browser.find_element("id", "allow").click()
                assert browser.find_element("xpath", "//h1[. = 'Login received']").is_displayed()
                assert "You can close this window." in text_of(browser)
                assert browser.current_url.startswith("http://127.0.0.1:")
                process.wait_for("logged in to account: 1 tool$")
                assert process.end() == 0
            computer.wait_for("account has a new login")
            computer.wait_for("MCP server account is ready")
            outcome = a2c("agent", *office, "call", "pc", "greet")
            assert (outcome.returncode, outcome.stdout) == (0, "hello ada\n")
    assert server.count("logins") == 1
    assert a2c("computer", "--config", config, "call", "greet", env=env).stdout == "hello ada\n"
    assert server.count("logins") == 1


def test_person_denies_the_access(config: str, env: dict[str, str], browser: WebDriver) -> None:
    with login(config, env) as (process, address):
        browser.get(address)
        type_password(browser, PASSWORD)
        browser.find_element("id", "deny").click()
        assert browser.find_element("xpath", "//h1[. = 'Not logged in']").is_displayed()
        process.wait_for("the authorization server rejected the login: access_denied")
        assert process.end() == 1


def test_address_of_an_older_login_is_not_accepted(config: str, env: dict[str, str], browser: WebDriver) -> None:
    with login(config, env) as (process, address):
        browser.get(address)
        type_password(browser, PASSWORD)
        browser.find_element("id", "allow").click()
        assert browser.find_element("xpath", "//h1[. = 'Login received']").is_displayed()
        returned = browser.current_url
        assert process.end() == 0
    with login(config, env) as (process, address):
        # Another page of the browser sends the old answer to the listener of the new login.
        port = address.partition("redirect_uri=http%3A%2F%2F127.0.0.1%3A")[2].partition("%2F")[0]
        browser.get(f"http://127.0.0.1:{port}/callback?{returned.partition('?')[2]}")
        assert browser.find_element("xpath", "//h1[. = 'Not accepted']").is_displayed()
        assert process.process.poll() is None
