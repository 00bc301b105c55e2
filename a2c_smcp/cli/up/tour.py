"""The tour: an Agent uses the office step by step, and prints the commands that do the same."""

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
"""The time limit of a step."""
INDEX_SECONDS = 10
"""Seconds that the search of the tour may wait for files that are not indexed."""
QUIET_SECONDS = 1.0
"""After this many seconds without a change, all documents count as read."""
MOST_LINES = 24
"""Lines shown of a page or an element."""
MOST_WINDOWS = 4
MOST_DOCUMENTS = 8
NOTE = "a2c-tour.md"
PICTURE = """\
  Agent ──connects───▶ Server ◀───connects── Computer ─┬─ MCP server documents
  sends requests       the office                      └─ machine, and yours
"""
_TELLING = ("chart", "table", "formula", "image", "list")
"""Categories of elements that show more than plain text does, the best first."""
_RICH_TYPES = ("xlsx", "pdf", "pptx", "docx", "ipynb", "md", "csv")
"""File types that make good examples, the best first."""


class StepFailed(Exception):
    """A step did not find what it has to show."""


class NothingToSee(Exception):
    """A step has nothing to show, and that is no error: an empty folder, for example."""


class Tour:
    """The steps, and the state that they share."""

    def __init__(self, plan: Plan, agent: AsyncSMCPAgentClient, console: Console) -> None:
        self._plan = plan
        self._agent = agent
        self._console = console
        self._documents: list[DPEDocumentSummary] = []
        self._uri = ""
        self._page = 0
        self._number = 0
        self._has_reader = console.is_terminal and sys.stdin.isatty()
        """Whether to wait for Enter after each step."""
        self.failures = 0

    async def walk(self) -> None:
        """Run every step. A step that fails does not stop the others."""
        self._console.print(Text(PICTURE, "cyan"))
        self._say(
            f"{NAME} is an Agent. It has joined office {self._plan.office} with the Computer {self._plan.computer}. "
            f"Both have connected to the Server at {self._plan.url}; neither accepts connections itself. "
            "A line with $ shows the command that does the same as the step."
        )
        self._console.print()
        steps: tuple[tuple[str, Callable[[], Awaitable[None]]], ...] = (
            ("List the Computers", self._meet),
            ("List the tools", self._list_tools),
            ("Look at windows: the Desktop", self._look_at_desktop),
            ("Find documents: the Finder", self._look_at_catalogue),
            ("Call a tool", self._call),
            ("Open a document", self._open_document),
            ("Read a page", self._read_page),
            ("Read one element of the page", self._read_element),
            ("Watch a file change", self._change_file),
        )
        for title, step in steps:
            await self._step(title, step)
            if self._number < len(steps):
                await self._wait_for_reader()

    async def _wait_for_reader(self) -> None:
        """Wait for Enter. After Ctrl-D, which ends the input, the other steps follow without waiting."""
        if not self._has_reader:
            return
        self._console.print(Text("Enter: next step; Ctrl-D: all steps; Ctrl-C: quit ", "dim"), end="")
        self._has_reader = await enter_pressed()
        self._console.print("" if self._has_reader else "\n")

    async def _step(self, title: str, step: Callable[[], Awaitable[None]]) -> None:
        self._number += 1
        self._console.print(Rule(Text(f"{self._number}. {title}", "bold"), align="left", style="cyan"))
        try:
            async with asyncio.timeout(STEP_SECONDS):
                await step()
        except TimeoutError:
            self._fail(f"timed out after {STEP_SECONDS:g} s")
        except SMCPError as error:
            self._fail(f"{error.message} ({error.code})")
        except NothingToSee as reason:
            self._say(f"Skipped: {reason}.")
        except (StepFailed, OSError) as error:
            self._fail(str(error))
        except Exception as error:  # MCP servers of the user may send answers that no step expects
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
            # Padding would cut a line at the width of the terminal. An address must stay whole to be copied.
            if isinstance(part, Text) and part.no_wrap:
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
        self._say("An office has one Agent and any number of Computers:", agent_views.computers(counts))

    async def _list_tools(self) -> None:
        self._do("tools")
        tools = self._agent.tools
        if not any(tools.values()):
            raise StepFailed("no Computer has tools")
        self._say("Each Computer offers the tools of its MCP servers as one list:", *agent_views.tools(tools))

    async def _look_at_desktop(self) -> None:
        self._do("desktop")
        answer = await self._agent.get_desktop_from_computer(self._plan.computer, size=MOST_WINDOWS)
        if not answer["desktops"]:
            raise StepFailed("no MCP server has a window")
        self._say(
            "The Desktop has every window:// resource, by priority. An Agent sees the current contents without a call:",
            *(part for shown in answer["desktops"] for part in views.window(shown)),
        )

    async def _look_at_catalogue(self) -> None:
        self._do("finder")
        computer = self._plan.computer
        changes = self._agent.changes()
        # The document server announces documents while it reads the folder for the first time. Only a pause shows that
        # the list is complete, because no event says so.
        while True:
            answer = await self._agent.get_finder(computer)
            if not await _within(QUIET_SECONDS, changes, "finder"):
                break
        if not answer["documents"]:
            if not await asyncio.to_thread(_has_files, self._plan.folder):
                raise NothingToSee(f"{self._plan.folder} is empty; files that you add appear at once")
            raise StepFailed(f"{self._plan.folder} has no files that can be read as documents")
        self._documents = answer["documents"]
        self._say(
            "The Finder has every dpe:// document, with its type and number of pages. The files stay on the Computer:",
            *views.documents([(computer, each) for each in self._documents[:MOST_DOCUMENTS]], answer["total_count"]),
        )

    async def _call(self) -> None:
        # The longest word of a title: the search certainly finds it, in any folder and any language.
        word = max(re.findall(r"\w+", Path(self._best["title"]).stem) or ["the"], key=len)
        self._do(f"call {quote(self._plan.computer)} search_documents query={quote(word)} limit=3 wait={INDEX_SECONDS}")
        started = time.perf_counter()
        result = await self._agent.emit_tool_call(
            self._plan.computer,
            "search_documents",
            {"query": word, "limit": 3, "wait": INDEX_SECONDS},
            timeout=STEP_SECONDS,
        )
        took = time.perf_counter() - started
        if result.is_error:
            raise StepFailed(" ".join(getattr(part, "text", "") for part in result.content))
        shown = "\n".join(getattr(part, "text", "") for part in result.content)
        self._say(f"search_documents for “{word}” returned after {took * 1000:.0f} ms:", _some_lines(shown))

    async def _open_document(self) -> None:
        self._uri = self._best["uri"]
        self._do(f"read {self._uri}")
        body = await self._agent.read_document_pages(self._plan.computer, self._uri, limit=10)
        self._say(
            f"The metadata of {self._uri} and a list of its pages, without their contents:", *views.document(body)
        )

    async def _read_page(self) -> None:
        computer = self._plan.computer
        self._do(f"read {self._opened}/pages/{self._page}")
        page = await self._agent.read_page(computer, self._opened, self._page, format="markdown")
        text = str(page.get("content_markdown", ""))
        if not text.strip():
            raise StepFailed("the page is empty")
        self._say(f"Page {self._page} as Markdown, for a model:", Markdown(printable(_cut(text))))

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
            f"Element {chosen['element_id']}, {article} {element['category']}, with its position in the file:",
            _some_lines(json.dumps(element, indent=2, ensure_ascii=False)),
        )

    async def _change_file(self) -> None:
        """Write a new file into the folder and remove it again."""
        # A file of the tour's own: the folder may be the user's, whose files must stay as they are.
        note = Path(self._plan.folder) / NOTE
        if note.exists():
            raise StepFailed(f"{note} already exists; the tour does not overwrite files")
        self._do("watch")
        changes = self._agent.changes()
        started = time.perf_counter()
        try:
            try:
                text = "# A note of the tour\n\nThe tour removes this file in a moment.\n"
                await asyncio.to_thread(note.write_text, text, "utf-8")
            except OSError as error:
                raise NothingToSee(f"{self._plan.folder} is not writable ({error.strerror})") from None
            await _heard(changes, "finder")
            took = time.perf_counter() - started
            found = await self._find_note()
            self._say(
                f"The tour wrote {note}. The Agent was notified after {took * 1000:.0f} ms, and the Finder lists it: "
                f"{found['title']}, {found['uri']}"
            )
        finally:
            await asyncio.to_thread(note.unlink, missing_ok=True)
        await _heard(changes, "finder")
        self._say("The tour removed the file, and the Agent was notified again.")

    async def _find_note(self) -> DPEDocumentSummary:
        """The note, once the document server has read it."""
        # The first notification may be about another file, or arrive before the note is in the list: ask until it is.
        changes = self._agent.changes()
        while True:
            async for document in self._agent.iter_documents(self._plan.computer, file_type="md"):
                if document["file_uri"].endswith(f"/{NOTE}"):
                    return document
            await _heard(changes, "finder")

    @property
    def _best(self) -> DPEDocumentSummary:
        """The document that makes the best example."""
        if not self._documents:
            raise NothingToSee("there is no document")
        ranks = {suffix: rank for rank, suffix in enumerate(_RICH_TYPES)}
        return min(self._documents, key=lambda document: ranks.get(document["file_type"], len(ranks)))

    @property
    def _opened(self) -> str:
        if not self._uri:
            raise NothingToSee("no document was opened")
        return self._uri


async def take_tour(plan: Plan, console: Console) -> int:
    """Run the tour; returns the number of failed steps."""
    try:
        async with AsyncSMCPAgentClient.in_office(plan.url, plan.office, NAME, api_key=plan.api_key) as agent:
            tour = Tour(plan, agent, console)
            await tour.walk()
            return tour.failures
    except SMCPError as error:
        console.print(Text(f"✗ the Agent cannot join the office: {printable(error.message)} ({error.code})", "red"))
        return 1


async def _heard(changes: Changes, kind: ChangeKind) -> None:
    """Wait until something of this kind changes."""
    async for change in changes:
        if change.kind == kind:
            return
    raise StepFailed("the connection to the Server was lost")


async def _within(seconds: float, changes: Changes, kind: ChangeKind) -> bool:
    """Whether something of this kind changes within `seconds`."""
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
