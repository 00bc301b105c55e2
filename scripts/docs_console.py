"""Photograph the pages of the Server's console, for `docs/console.md`.

    .venv/bin/python -m scripts.docs_console

It starts a Server with members that answer calls, and opens the pages in Chromium. `make docs` does not run this: it
needs Chromium, and the pictures change only with the pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PIL import Image

from a2c_smcp.server.auth import CredentialAuthenticationProvider
from a2c_smcp.server.key_changes import NewKey, add_key
from a2c_smcp.server.key_file import KeyFile
from tests.support.browser import FLAGS
from tests.support.gateway import Answers, Hall, hall
from tests.support.peer import Peer, tool_call
from tests.support.programs import find

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
WIDTH, HEIGHT = 1200, 640
COLOURS = 64
SECONDS = 25
OFFICES = {"support": ("front-desk", "warehouse"), "lab": ("microscope",), "finance": ("ledger",)}
TOOLS = ("find_order", "print_label", "search_documents", "refund")


def main() -> None:
    """Take the pictures."""
    asyncio.run(_main())


async def _main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "keys.toml"
        admin = add_key(file, NewKey("operator", ["*"], admin=True))
        member = add_key(file, NewKey("team", ["*"]))
        add_key(file, NewKey("alice", ["support", "lab-*"], roles=["agent"]))
        provider = CredentialAuthenticationProvider(KeyFile(file))
        async with hall(provider) as found:
            agents = await _members(found, {"x-api-key": member})
            calling = [asyncio.create_task(_call(agent, office)) for office, agent in agents.items()]
            try:
                await asyncio.to_thread(_photograph, found.server.url, admin)
            finally:
                for task in calling:
                    task.cancel()
                await asyncio.gather(*calling, return_exceptions=True)


async def _members(found: Hall, headers: dict[str, str]) -> dict[str, Peer]:
    tools: list[Any] = [
        {"name": name, "description": f"Tool {name}.", "params_schema": {}, "return_schema": None} for name in TOOLS
    ]
    for office, names in OFFICES.items():
        for name in names:
            answers = Answers(*tools)
            answers.results["refund"] = {
                "content": [{"type": "text", "text": "the order is closed"}],
                "isError": True,
                "meta": {"error_code": 4003},
            }
            await found.fake(answers, name, office, headers=headers)
    return {
        office: await found.people.member("agent", f"{office}-agent", office, headers=headers)
        for office in ("support", "lab")
    }


async def _call(agent: Peer, office: str) -> None:
    number = 0
    while True:
        number += 1
        tool = random.choices(TOOLS, (5, 3, 4, 1))[0]
        computer = random.choice(OFFICES[office])
        await agent.ask(
            "client:tool_call",
            tool_call(computer, agent=f"{office}-agent", req_id=f"{office}-{number:05}", tool_name=tool),
        )
        await asyncio.sleep(random.expovariate(6 if office == "support" else 2))


def _photograph(url: str, key: str) -> None:
    browser = _browser()
    try:
        browser.get(f"{url}/console/login")
        browser.find_element("css selector", "form#login:not([hidden]) #key").send_keys(key)
        browser.find_element("css selector", "form#login button").click()
        browser.find_element("id", "offices")
        line = "document.querySelector('svg.spark path.line')?.getAttribute('d') ?? ''"
        _wait(browser, f"({line}).split('L').length > {SECONDS}")
        _keep(browser, "console-overview")
        _run(browser, "document.documentElement.dataset.theme = 'dark'")
        cast("Any", browser).add_cookie({"name": "a2c_theme", "value": "dark", "path": "/"})
        browser.get(f"{url}/console/calls")
        _wait(browser, "document.querySelectorAll('#calls tbody tr').length > 12")
        _run(browser, "document.querySelector('#calls tbody tr:nth-child(3) button').click()")
        _wait(browser, "document.getElementById('details').open")
        _keep(browser, "console-calls")
        cast("Any", browser).add_cookie({"name": "a2c_theme", "value": "light", "path": "/"})
        browser.get(f"{url}/console/offices/finance")
        browser.find_element("id", "look").click()
        browser.find_element("css selector", "#offers details")
        _keep(browser, "console-office")
    finally:
        browser.quit()


def _browser() -> WebDriver:
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = find("chromium")
    for flag in FLAGS:
        options.add_argument(flag)
    browser = Chrome(options, ChromeService(find("chromedriver")))
    browser.implicitly_wait(30)
    metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    cast("Any", browser).execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    return browser


def _wait(browser: WebDriver, condition: str) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 60).until(lambda _: _run(browser, f"return {condition}"))


def _run(browser: WebDriver, script: str) -> Any:
    return cast("Any", browser).execute_script(script)


def _keep(browser: WebDriver, name: str) -> None:
    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB").quantize(COLOURS)
    file = PICTURES / f"{name}.png"
    with contextlib.closing(picture):
        picture.save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
