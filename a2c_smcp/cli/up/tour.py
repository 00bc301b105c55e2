"""The tour: an Agent walks through the office and tells what it sees, one step after another."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from a2c_smcp.agent.client import AsyncSMCPAgentClient, Changes
from a2c_smcp.cli import views
from a2c_smcp.cli.agent import views as agent_views
from a2c_smcp.cli.up.plan import Plan
from a2c_smcp.cli.up.view import program_name
from a2c_smcp.errors import SMCPError
from a2c_smcp.protocol.upkeep import ChangeKind
from a2c_smcp.smcp import DPEDocumentSummary
from a2c_smcp.utils.system.terminals import enter_pressed, quote
from a2c_smcp.utils.text import printable

logger = logging.getLogger("a2c.up")

NAME = "tour-agent"
STEP_SECONDS = 30.0
"""No step takes longer; one that would has failed."""
QUIET_SECONDS = 1.0
"""When the documents have not changed for so long, they have all been read."""
MOST_LINES = 24
"""Lines shown of a page or an element."""
MOST_WINDOWS = 4
MOST_DOCUMENTS = 8
NOTE = "a2c-tour.md"
PICTURE = """\
  Agent ──dials out──▶ Server ◀──dials out── Computer ─┬─ MCP server documents
  asks and is told     the office                      └─ machine, and yours
"""
_TELLING = ("chart", "table", "formula", "image", "list")
"""Elements that show more than text does, the best first."""
_RICH_TYPES = ("xlsx", "pdf", "pptx", "docx", "ipynb", "md", "csv")
"""Documents that are worth a closer look, the best first."""


class StepFailed(Exception):
    """What a step should have seen was not there."""


class NothingToSee(Exception):
    """There is nothing for a step to show, and nobody's fault in that."""


class Tour:
    """What the steps share: the Agent, where it looks, and whom it tells."""

    def __init__(self, plan: Plan, agent: AsyncSMCPAgentClient, console: Console) -> None:
        self._plan = plan
        self._agent = agent
        self._console = console
        self._documents: list[DPEDocumentSummary] = []
        self._uri = ""
        self._page = 0
        self._number = 0
        self._has_reader = console.is_terminal and sys.stdin.isatty()
        """Whether somebody reads along, and says when to go on."""
        self.failures = 0

    async def walk(self) -> None:
        """Take every step; one that fails is told of, and the others follow."""
        self._console.print(Text(PICTURE, "cyan"))
        self._say(
            f"{NAME}, an Agent, shows you around. It sits in office {self._plan.office} with the Computer "
            f"{self._plan.computer}; each has dialled out to the Server at {self._plan.url}, and nobody dials them. "
            "After the $ stands what you would type to see the same."
        )
        self._console.print()
        steps: tuple[tuple[str, Callable[[], Awaitable[None]]], ...] = (
            ("Who is here", self._meet),
            ("What they can do", self._list_tools),
            ("What their windows show: the Desktop", self._look_at_desktop),
            ("What they can read: the Finder", self._look_at_catalogue),
            ("A tool call", self._call),
            ("A document", self._open_document),
            ("A page of it", self._read_page),
            ("One element of that page", self._read_element),
            ("A file changes, and the Agent hears of it", self._change_file),
        )
        for title, step in steps:
            await self._step(title, step)
            if self._number < len(steps):
                await self._wait_for_reader()

    async def _wait_for_reader(self) -> None:
        """Go on when Enter is pressed. After the end of input (Ctrl-D) nobody can, and the tour goes on by itself."""
        if not self._has_reader:
            return
        self._console.print(Text("Enter: next step; Ctrl-D: all of them; Ctrl-C: end ", "dim"), end="")
        self._has_reader = await enter_pressed()
        self._console.print("" if self._has_reader else "\n")

    async def _step(self, title: str, step: Callable[[], Awaitable[None]]) -> None:
        self._number += 1
        self._console.print(Rule(Text(f"{self._number}. {title}", "bold"), align="left", style="cyan"))
        try:
            async with asyncio.timeout(STEP_SECONDS):
                await step()
        except TimeoutError:
            self._fail(f"nothing came within {STEP_SECONDS:g} s")
        except SMCPError as error:
            self._fail(f"{error.message} ({error.code})")
        except NothingToSee as reason:
            self._say(f"Left out: {reason}.")
        except (StepFailed, OSError) as error:
            self._fail(str(error))
        except Exception as error:  # an answer like none before; the other steps may go well
            logger.debug("step %d", self._number, exc_info=True)
            self._fail(f"{type(error).__name__}: {error}")
        self._console.print()

    def _fail(self, why: str) -> None:
        self.failures += 1
        self._console.print(Text(f"✗ {printable(why)}", "red"), soft_wrap=True)

    def _do(self, command: str) -> None:
        self._console.print(Text(f"$ {program_name()} agent {command}", "dim"), soft_wrap=True)

    def _say(self, text: str, *parts: RenderableType) -> None:
        self._console.print(Text(printable(text)))
        for part in parts:
            if isinstance(part, Text) and part.no_wrap:  # an address is there to be copied: it is not folded
                self._console.print(Text("\n").join(Text("  ").append(line) for line in part.split()), soft_wrap=True)
            else:
                self._console.print(Padding(part, (0, 0, 0, 2), expand=False))

    # ------------------------------------------------------------------------------------------------------------ steps

    async def _meet(self) -> None:
        self._do("computers")
        computers = self._agent.computers
        if self._plan.computer not in computers:
            raise StepFailed(f"{self._plan.computer} is not in the office")
        counts = {computer: len(tools) for computer, tools in self._agent.tools.items()}
        self._say("An office has one Agent, and any number of Computers:", agent_views.computers(counts))

    async def _list_tools(self) -> None:
        self._do("tools")
        tools = self._agent.tools
        if not any(tools.values()):
            raise StepFailed("there are no tools")
        self._say("The tools of all MCP servers, as one list for each Computer:", *agent_views.tools(tools))

    async def _look_at_desktop(self) -> None:
        self._do("desktop")
        answer = await self._agent.get_desktop_from_computer(self._plan.computer, size=MOST_WINDOWS)
        if not answer["desktops"]:
            raise StepFailed("no MCP server shows a window")
        self._say(
            "Every window:// resource, in order of importance. It is there without a call, and current:",
            *(part for shown in answer["desktops"] for part in views.window(shown)),
        )

    async def _look_at_catalogue(self) -> None:
        self._do("finder")
        computer = self._plan.computer
        changes = self._agent.changes()
        while True:  # until everything has been read
            answer = await self._agent.get_finder(computer)
            if not await _within(QUIET_SECONDS, changes, "finder"):
                break
        if not answer["documents"]:
            if not await asyncio.to_thread(_has_files, self._plan.folder):
                raise NothingToSee(f"{self._plan.folder} is empty; a file that you put there shows at once")
            raise StepFailed(f"there is no document in {self._plan.folder}")
        self._documents = answer["documents"]
        self._say(
            "Every dpe:// document, each with its type and number of pages. No file left the Computer for this:",
            *views.documents([(computer, each) for each in self._documents[:MOST_DOCUMENTS]], answer["total_count"]),
        )

    async def _call(self) -> None:
        word = max(re.findall(r"\w+", Path(self._best["title"]).stem) or ["the"], key=len)
        self._do(f"call {quote(self._plan.computer)} search_documents query={quote(word)} limit=3")
        started = time.perf_counter()
        result = await self._agent.emit_tool_call(
            self._plan.computer, "search_documents", {"query": word, "limit": 3}, timeout=STEP_SECONDS
        )
        took = time.perf_counter() - started
        if result.is_error:
            raise StepFailed(" ".join(getattr(part, "text", "") for part in result.content))
        shown = "\n".join(getattr(part, "text", "") for part in result.content)
        self._say(f"search_documents, for “{word}”. It answered within {took * 1000:.0f} ms:", _some_lines(shown))

    async def _open_document(self) -> None:
        self._uri = self._best["uri"]
        self._do(f"read {self._uri}")
        body = await self._agent.read_document_pages(self._plan.computer, self._uri, limit=10)
        self._say(
            f"What {self._uri} is, and its pages. The pages themselves have not been sent:", *views.document(body)
        )

    async def _read_page(self) -> None:
        computer = self._plan.computer
        self._do(f"read {self._opened}/pages/{self._page}")
        page = await self._agent.read_page(computer, self._opened, self._page, format="markdown")
        text = str(page.get("content_markdown", ""))
        if not text.strip():
            raise StepFailed("the page is empty")
        self._say(f"Page {self._page} as Markdown, ready for a model:", Markdown(printable(_cut(text))))

    async def _read_element(self) -> None:
        computer = self._plan.computer
        page = await self._agent.read_page(computer, self._opened, self._page)
        elements = cast("list[dict[str, Any]]", page.get("elements") or [])
        if not elements:
            raise StepFailed("the page has no elements")
        ranks = {category: rank for rank, category in enumerate(_TELLING)}
        chosen = min(elements, key=lambda element: ranks.get(element["category"], len(ranks)))
        self._do(f"read {self._opened}/elements/{chosen['element_id']}")
        element = await self._agent.read_element(computer, self._opened, chosen["element_id"])
        article = "an" if element["category"][0] in "aeiou" else "a"
        self._say(
            f"{chosen['element_id']}, {article} {element['category']}, in full, with its place in the file:",
            _some_lines(json.dumps(element, indent=2, ensure_ascii=False)),
        )

    async def _change_file(self) -> None:
        """Write a note of our own into the folder and take it away again: what is there already stays as it is."""
        note = Path(self._plan.folder) / NOTE
        if note.exists():
            raise StepFailed(f"{note} is there already, and is not mine to change")
        self._do("watch")
        changes = self._agent.changes()
        started = time.perf_counter()
        try:
            try:
                text = "# A note of the tour\n\nIt will be gone in a moment.\n"
                await asyncio.to_thread(note.write_text, text, "utf-8")
            except OSError as error:
                raise NothingToSee(f"{self._plan.folder} cannot be written to ({error.strerror})") from None
            await _heard(changes, "finder")
            took = time.perf_counter() - started
            found = await self._find_note()
            self._say(
                f"I wrote {note}. The notice came after {took * 1000:.0f} ms, and the Finder has it: {found['title']}, "
                f"{found['uri']}"
            )
        finally:
            await asyncio.to_thread(note.unlink, missing_ok=True)
        await _heard(changes, "finder")
        self._say("I removed it again, and heard of that too.")

    async def _find_note(self) -> DPEDocumentSummary:
        """The note, as soon as it has been read."""
        changes = self._agent.changes()
        while True:
            async for document in self._agent.iter_documents(self._plan.computer, file_type="md"):
                if document["file_uri"].endswith(f"/{NOTE}"):
                    return document
            await _heard(changes, "finder")

    @property
    def _best(self) -> DPEDocumentSummary:
        """The document that is worth a closer look."""
        if not self._documents:
            raise NothingToSee("there is no document to look at")
        ranks = {suffix: rank for rank, suffix in enumerate(_RICH_TYPES)}
        return min(self._documents, key=lambda document: ranks.get(document["file_type"], len(ranks)))

    @property
    def _opened(self) -> str:
        if not self._uri:
            raise NothingToSee("no document was opened")
        return self._uri


async def take_tour(plan: Plan, console: Console) -> int:
    """Walk through the office; how many steps failed."""
    try:
        async with AsyncSMCPAgentClient.in_office(plan.url, plan.office, NAME, api_key=plan.api_key) as agent:
            tour = Tour(plan, agent, console)
            await tour.walk()
            return tour.failures
    except SMCPError as error:
        console.print(Text(f"✗ the Agent cannot come in: {printable(error.message)} ({error.code})", "red"))
        return 1


async def _heard(changes: Changes, kind: ChangeKind) -> None:
    """Wait until something of this kind changes."""
    async for change in changes:
        if change.kind == kind:
            return
    raise StepFailed("the connection to the Server is lost")


async def _within(seconds: float, changes: Changes, kind: ChangeKind) -> bool:
    """Whether something of this kind changes within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await _heard(changes, kind)
    except TimeoutError:
        return False
    return True


def _has_files(folder: str) -> bool:
    return any(files for _, _, files in os.walk(folder))


def _cut(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(lines[:MOST_LINES]) + ("\n\n…" if len(lines) > MOST_LINES else "")


def _some_lines(text: str) -> Text:
    return Text(printable(_cut(text)))
