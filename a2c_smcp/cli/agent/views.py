"""Tables and trees of `a2c agent`, for a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import groupby
from types import MappingProxyType
from typing import Any, cast

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text
from rich.tree import Tree

from a2c_smcp.cli.agent.watching import News
from a2c_smcp.cli.schema import Parameter, parameters
from a2c_smcp.cli.views import Quoted, escape
from a2c_smcp.smcp import SMCPTool
from a2c_smcp.utils.system.terminals import quote
from a2c_smcp.utils.text import one_line, printable
from a2c_smcp.utils.tool_meta import tool_meta

_EVENTS = {
    "enter": " joined",
    "leave": " left",
    "disconnected": "the connection to the Server was lost; reconnecting",
    "rejoined": "reconnected to the office",
}
_THINGS = {"tools": "tools", "config": "MCP servers and inputs", "desktop": "windows", "finder": "documents"}
MOST_LINES = 5
"""The most changes of a kind that get a line each. More are one line with their names."""
MOST_NAMES = 10
WIDEST_NAME = 40
# Chinese sentences have no space after them. In others, a period ends a sentence only before a capital letter, which
# keeps file names and version numbers whole.
_SENTENCE = re.compile(r".*?(?:[。！？]|(?<!e\.g)(?<!i\.e)[.!?](?=\s+[A-Z]|$))")

NOBODY = "no Computer is in the office"


def computers(
    tools: Mapping[str, int | None], versions: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> RenderableType:
    """The Computers in the office with the number of their tools, or `?` if it is unknown, and with the versions that
    they named, if any did."""
    has_versions = any(versions.values())
    table = Table("computer", Column("tools", justify="right"), *(["version"] if has_versions else []), box=None)
    for computer, count in tools.items():
        version = [_version(versions.get(computer, {}))] if has_versions else []
        table.add_row(escape(computer), str(count) if count is not None else "?", *version)
    return table if table.row_count else NOBODY


def _version(named: Mapping[str, str]) -> str:
    if "a2c_stack" in named:
        return escape(f"a2c-stack {named['a2c_stack']}")
    return escape(f"A2C-SMCP {named['a2c_version']}" if "a2c_version" in named else "not named")


def tools(offered: Mapping[str, list[SMCPTool]]) -> Iterable[RenderableType]:
    """The tools of Computers, with a mark before those that need confirmation."""
    for computer, entries in offered.items():
        yield Text(one_line(computer), "bold")
        table = Table.grid(Column(), Column(overflow="fold", max_width=WIDEST_NAME), Column(), padding=(0, 2, 0, 0))
        for tool in entries:
            mark = Text("" if is_automatic(tool) else "?", "yellow")
            table.add_row(mark, Text(one_line(tool["name"])), _first_sentence(tool["description"]))
        yield table if entries else "   no tools"
    if not all(is_automatic(tool) for entries in offered.values() for tool in entries):
        yield Text("? asks the Computer's owner first", "dim")


def tool(computer: str, entry: SMCPTool) -> Iterable[RenderableType]:
    """One tool: its description, its parameters, and the command that calls it."""
    yield Text.assemble((one_line(entry["name"]), "bold"), f" on {one_line(computer)}")
    if not is_automatic(entry):
        yield Text("asks the Computer's owner first", "yellow")
    if description := entry["description"].strip():
        yield _block(Quoted(description), 2)
    listed = list(parameters(entry["params_schema"]))
    yield Text("\nParameters" if listed else "\nno parameters", "bold" if listed else "")
    yield from _fields(listed)
    if returned := list(parameters(entry["return_schema"] or {})):
        yield Text("\nResult", "bold")
        yield from _fields(returned)
    needed = [f"{quote(each.name)}=…" for each in listed if each.is_required and each.depth == 0]
    words = ["a2c agent call", quote(computer), quote(entry["name"]), *needed]
    yield Text(f"\n$ {one_line(' '.join(words))}", "dim")


def _fields(listed: Iterable[Parameter]) -> Iterable[RenderableType]:
    for each in listed:
        facts = one_line(", ".join(each.facts))
        yield _block(Text.assemble((one_line(each.name), "cyan"), f"  {facts}"), 2 + 2 * each.depth)
        if each.description:
            yield _block(Quoted(each.description), 6 + 2 * each.depth)


def _block(text: RenderableType, indent: int) -> RenderableType:
    """Text that is indented, and wrapped at words."""
    return Padding(text, (0, 0, 0, indent), expand=False)


def _first_sentence(text: str) -> RenderableType:
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    found = _SENTENCE.match(paragraph)
    words = found[0] if found else paragraph
    return Quoted(words) if words else ""


def is_automatic(tool: SMCPTool) -> bool:
    """Whether the tool runs without confirmation."""
    return tool_meta(tool).get("auto_apply") is True


def tree(document: Mapping[str, Any], pages: list[dict[str, Any]]) -> RenderableType:
    """A document: its pages, and the elements of each."""
    title = Text(printable(str(document.get("title", ""))), "bold")
    title.append(f"  {printable(str(document.get('file_type', '')))}  {printable(str(document.get('uri', '')))}", "dim")
    trunk = Tree(title)
    for page in pages:
        name = Text(f"{page.get('page_index')}  {printable(str(page.get('title') or ''))}")
        branch = trunk.add(name)
        listed = page.get("elements")
        for element in cast("list[Any]", listed) if isinstance(listed, list) else []:
            branch.add(_element(cast("dict[str, Any]", element) if isinstance(element, dict) else {}))
    return trunk


def _element(element: dict[str, Any]) -> Text:
    words = element.get("summary") or _gist(element.get("content"))
    line = Text(printable(str(element.get("category", "?"))), "cyan")
    line.append(f"  {printable(str(element.get('element_id', '')))}", "dim")
    return line.append(f"  {printable(' '.join(str(words or '').split())[:80])}")


def _gist(content: Any) -> str:
    """The most telling text in the content of an element."""
    if not isinstance(content, dict):
        return ""
    held = cast("dict[str, Any]", content)
    for key in ("text", "title", "alt", "description", "expression", "code", "headers", "items"):
        found = held.get(key)
        if found:
            return " | ".join(map(str, cast("list[Any]", found))) if isinstance(found, list) else str(found)
    return ""


def news(heard: News) -> Iterable[RenderableType]:
    """The lines about a change; none if nothing differs."""
    for words in _told(heard):
        line = Text(f"{datetime.now():%H:%M:%S}  ", "dim")
        yield line.append(printable(f"{heard.computer or ''}{words}"), "default")


def _told(heard: News) -> Iterable[str]:
    if heard.kind in _EVENTS:
        yield _EVENTS[heard.kind]
        return
    if heard.kind == "resource":
        server = f" of {heard.data['mcp_server']}" if "mcp_server" in heard.data else ""
        yield f": resource {heard.data['uri']}{server} changed"
        return
    if heard.kind == "resources":  # windows and documents that come and go have lines of their own
        return
    if heard.kind == "skills":
        yield ": the skills changed"
    if heard.kind == "prompts":
        yield ": the list of prompts changed"
        return
    things = _THINGS[heard.kind]
    if heard.failure is not None:
        yield f": {things} changed; cannot read the changes: {heard.failure}"
    elif heard.total is not None:
        yield f" has {heard.total} {things}"
    elif heard.kind == "finder" and not heard.differences:
        # The list has summaries. A change inside a document need not change its summary, but it was announced.
        yield ": the contents of documents changed; the list is the same"
    for (how, what), group in groupby(heard.differences, lambda each: (each.how, each.item.what)):
        items = [difference.item for difference in group]
        if len(items) <= MOST_LINES:
            for item in items:
                address = f" ({item.uri})" if item.uri not in (None, item.name) else ""
                yield f": {what} {item.name}{address} {how}"
        else:
            names = ", ".join(item.name for item in items[:MOST_NAMES])
            yield f": {len(items)} {what}s {how}: {names}{' …' if len(items) > MOST_NAMES else ''}"
