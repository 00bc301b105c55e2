"""Photograph every page of the console and of a Computer's owner, for the documentation.

    make screenshots                     # the pictures of the documentation
    make screenshots ARGS="--all /tmp/pictures"   # every page: both languages, light and dark, 380 and 1400 px wide

It starts a Server with members that answer calls, and a Computer with MCP servers, windows and documents, and opens the
pages in Chromium. It fails if a page is wider than the screen, or the browser or axe complains. `make docs` does not
run this: it needs Chromium and a Chinese font, and the pictures change only with the pages.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import random
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from a2c_smcp.computer.offer.approval_request import Decision, Verdict
from a2c_smcp.server.key_changes import NewKey, add_key
from scripts.programs import has_chinese_font
from tests.support.browser import start
from tests.support.console_scene import TOKEN, Scene, scene
from tests.support.consoles import AXE, HUB, LANGUAGES, NARROW, OWNER, THEMES, WIDE, Console, View
from tests.support.gateway import Answers, Hall
from tests.support.peer import Peer, tool_call
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
COLOURS = 64
TALLEST = 1_100
SECONDS = 40
"""Of calls, before the first picture: the lines of the overview show the last two minutes."""
OFFICE, COMPUTER = "roastery", "anna-laptop"
OTHERS = {"support": ("front-desk", "warehouse"), "lab": ("microscope",), "finance": ("ledger",)}
TOOLS = ("find_order", "print_label", "search_documents", "refund")


@dataclass(frozen=True)
class Shot:
    """A picture of the documentation."""

    site: str
    view: str
    language: str = "en"
    theme: str = "light"
    width: int = WIDE

    @property
    def file(self) -> str:
        """The name of its file."""
        usual = {"en", "light", str(WIDE)}
        marks = [mark for mark in (self.language, self.theme, str(self.width)) if mark not in usual]
        return "-".join([self.site, self.view, *marks]) + ".webp"


KEPT = [
    *(Shot("console", view.name) for view in HUB),
    *(Shot("owner", view.name) for view in OWNER),
    Shot("console", "overview", "zh"),
    Shot("console", "calls", theme="dark"),
    Shot("console", "try", width=NARROW),
    Shot("console", "login"),
    Shot("owner", "approvals", "zh", "dark", NARROW),
]


def main() -> int:
    """Take the pictures; the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="take all of them, into this folder")
    parser.add_argument("--only", default="", help="only pictures whose names contain this")
    options = parser.parse_args()
    if not has_chinese_font():
        print("there is no Chinese font here: apt-get install fonts-wqy-microhei", file=sys.stderr)
        return 1
    folder: Path = options.all or PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    shots = [shot for shot in (everything() if options.all else KEPT) if options.only in shot.file]
    return asyncio.run(_main(folder, shots))


def everything() -> list[Shot]:
    """Every page in every form."""
    views = [("console", view) for view in HUB] + [("owner", view) for view in OWNER]
    names = [(site, view.name) for site, view in views] + [("console", "login"), ("owner", "login")]
    return [
        Shot(site, name, language, theme, width)
        for site, name in names
        for language in LANGUAGES
        for theme in THEMES
        for width in (NARROW, WIDE)
    ]


# --------------------------------------------------------------------------------------------------------- the scene


def _config(folder: Path) -> Path:
    python, log = sys.executable, folder / "shop.log"
    log.write_text("".join(f"08:{minute:02} order A-10{minute} paid\n" for minute in range(30, 43)))
    library = shutil.copytree(ROOT / "examples" / "library", folder / "library")  # the pictures show where it is
    documents = ["-m", "a2c_smcp.cli", "documents", str(library), "--host-id", "library"]
    servers = {
        "roastery": {
            "command": python,
            "args": [str(ROOT / "tests" / "servers" / "roastery.py")],
            "default_tool_meta": {"tags": ["shop"]},
            "tool_meta": {name: {"auto_apply": True} for name in ("find_orders", "show_order", "plan_roast")},
            "forbidden_tools": ["print_labels"],
        },
        "library": {"command": python, "args": [*documents, "--no-cache"], "default_tool_meta": {"auto_apply": True}},
        "notes": {"command": python, "args": [str(ROOT / "examples" / "notes_server.py")]},
        "log": {"command": python, "args": [str(ROOT / "examples" / "windows_server.py"), str(log)]},
        "crm": {"command": str(folder / "crm-server")},
    }
    file = folder / "mcp.json"
    file.write_text("// What this laptop offers.\n" + json.dumps({"mcpServers": servers}, indent=2), "utf-8")
    return file


@contextlib.contextmanager
def _place() -> Generator[Path]:
    """A folder whose name is in the pictures."""
    place = Path(tempfile.gettempdir()) / COMPUTER
    place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place)


async def _main(folder: Path, shots: Sequence[Shot]) -> int:
    with _place() as place:
        async with scene(place, _config(place), OFFICE, COMPUTER) as found:
            add_key(place / "keys.toml", NewKey("visitor", ["support", "lab-*"], roles=["agent"]))
            async with _others(found.hall, {"x-api-key": found.member}):
                await _history(found)
                refund = {"order": "A-1042", "amount": 94.5, "note": "two bags were torn"}
                async with found.waiting("refund_order", refund):
                    return await asyncio.to_thread(_photograph, found, folder, shots)


async def _history(found: Scene) -> None:
    """Calls of the MCP host: some succeed, one fails, one is allowed."""
    await found.call("find_orders", {"text": "café"})
    await found.call("plan_roast", {"kilos": 24})
    await found.call("show_order", {"order": "A-9999"})
    async with found.waiting("refund_order", {"order": "A-1042", "amount": 9.5, "note": "a bag was torn"}):
        approvals = found.computer.approvals
        (request,) = approvals.waiting
        approvals.decide(request.id, Verdict(Decision.ALLOW, by="the prompt"))
        await eventually(lambda: not approvals.waiting)


@contextlib.asynccontextmanager
async def _others(hall: Hall, headers: dict[str, str]) -> AsyncGenerator[None]:
    """Other offices, whose Agents call tools all the time."""
    for office, names in OTHERS.items():
        for name in names:
            answers = Answers(*(smcp_tool(tool) for tool in TOOLS))
            answers.results["refund"] = {
                "content": [{"type": "text", "text": "the order is closed"}],
                "isError": True,
                "meta": {"error_code": 4003},
            }
            await hall.fake(answers, name, office, headers=headers)
    agents = {
        office: await hall.people.member("agent", f"{office}-agent", office, headers=headers)
        for office in ("support", "lab")
    }
    calling = [asyncio.create_task(_call_tools(agent, office)) for office, agent in agents.items()]
    try:
        yield
    finally:
        for task in calling:
            task.cancel()
        await asyncio.gather(*calling, return_exceptions=True)


async def _call_tools(agent: Peer, office: str) -> None:
    number = 0
    while True:
        number += 1
        tool = random.choices(TOOLS, (5, 3, 4, 1))[0]
        computer = random.choice(OTHERS[office])
        await agent.ask(
            "client:tool_call",
            tool_call(computer, agent=f"{office}-agent", req_id=f"{office}-{number:05}", tool_name=tool),
        )
        await asyncio.sleep(random.expovariate(6 if office == "support" else 2))


# ------------------------------------------------------------------------------------------------------- the pictures


def _photograph(found: Scene, folder: Path, shots: Sequence[Shot]) -> int:
    problems: list[str] = []
    with _chromium() as browser:
        consoles = {
            "console": Console(browser, found.url, found.key, OFFICE),
            "owner": Console(browser, found.owner_url, TOKEN),
        }
        # The login comes first. Then each page is opened once in each language: a theme and a width need no new page.
        ordered = sorted(shots, key=lambda shot: (shot.view != "login", shot.site, shot.view, shot.language))
        for (is_inside, site, name, language), group in groupby(
            ordered, lambda shot: (shot.view != "login", shot.site, shot.view, shot.language)
        ):
            console = consoles[site]
            if is_inside and not console.is_logged_in:
                console.log_in()
            elif not is_inside:
                console.open("/login")
            console.prefer(language)
            console.complaints()
            _show(console, name, HUB if site == "console" else OWNER)
            for shot in group:
                console.change_theme(shot.theme)
                console.resize(shot.width)
                wrong = [console.overflow(), *console.complaints(), *(console.barriers() if AXE.exists() else ())]
                problems += [f"{shot.file}: {each}" for each in wrong if each]
                _keep(console.photograph(TALLEST), folder / shot.file)
            console.restore()
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


@contextlib.contextmanager
def _chromium() -> Generator[WebDriver]:
    browser = start()
    try:
        yield browser
    finally:
        browser.quit()


def _show(console: Console, name: str, views: Sequence[View]) -> None:
    if name == "login":
        console.open("/login")
        console.find("form#login:not([hidden])")
        return
    console.show(next(view for view in views if view.name == name), PREPARED.get(name))


def _have_a_line(console: Console) -> None:
    """The overview: calls of some time."""
    line = "document.querySelector('svg.spark path.line')?.getAttribute('d') ?? ''"
    console.wait(f"({line}).split('L').length > {SECONDS}")


def _have_calls(console: Console) -> None:
    console.wait("document.querySelectorAll('#calls tbody tr').length > 12")


def _call(console: Console) -> None:
    """Try it: a call with a form, and its result."""
    console.open(f"/offices/{OFFICE}/try?computer={COMPUTER}&tool=find_orders")
    console.find("#fields input, #fields textarea")
    console.write("#json", json.dumps({"text": "café", "state": "packed"}, indent=2, ensure_ascii=False))
    console.press("#run")
    console.find("#result pre")


def _search(console: Console) -> None:
    """Documents: some of them, so that there is room for the page of one."""
    console.write("#keywords", "report")
    console.press("#find button")
    console.wait("document.querySelectorAll('#documents tbody tr').length < 5")


PREPARED = {"overview": _have_a_line, "calls": _have_calls, "try": _call, "documents": _search}
"""What makes a page interesting."""


def _keep(taken: bytes, file: Path) -> None:
    with Image.open(io.BytesIO(taken)) as picture, picture.convert("RGB").quantize(COLOURS) as reduced:
        reduced.convert("RGB").save(file, lossless=True, quality=100, method=6)
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(main())
