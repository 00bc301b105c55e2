"""Tables and texts of `a2c computer`, for a person. They show no secrets."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from a2c_smcp.cli.computer.progress import SYMBOLS
from a2c_smcp.cli.views import escape, quote
from a2c_smcp.computer.config.model import MCPServerInput
from a2c_smcp.computer.offer.tools import ToolBook
from a2c_smcp.computer.offer.uploads import Uploads
from a2c_smcp.computer.types import ServerState, ServerStatus, ToolCallRecord
from a2c_smcp.smcp import SkillReference
from a2c_smcp.utils.text import one_line

_SOFTWARE = 40
"""Columns of the name and version of a server."""
_SERIOUS = ("error", "critical", "alert", "emergency")


def servers(statuses: list[ServerStatus]) -> RenderableType:
    """The servers and their states."""
    if not statuses:
        return "no MCP servers are configured"
    # A narrow terminal cuts off the software first.
    table = Table(*(Column(name, no_wrap=True) for name in ("", "server", "type", "state", "since", "tools")), box=None)
    counts = {
        "windows": [status.windows for status in statuses],
        "documents": [status.documents for status in statuses],
        "restarts": [status.restarts for status in statuses],
    }
    shown = {name: numbers for name, numbers in counts.items() if any(numbers)}
    for name in shown:
        table.add_column(name, no_wrap=True)
    table.add_column("software", overflow="ellipsis", max_width=_SOFTWARE)
    for number, status in enumerate(statuses):
        table.add_row(
            SYMBOLS.get(status.state, "…"),
            escape(status.name),
            status.type,
            status.state.value,
            status.since.astimezone().strftime("%H:%M:%S"),
            str(status.tools),
            *(str(numbers[number]) for numbers in shown.values()),
            escape(status.server_info or ""),
        )
    return table


def details(statuses: list[ServerStatus]) -> Iterable[RenderableType]:
    """The reasons why servers are not ready, and notes for their owner."""
    for status in statuses:
        if status.reason and status.state is not ServerState.READY:
            style = "yellow" if status.state is ServerState.WAITING_FOR_LOGIN else "red"
            yield Text(one_line(f"{status.name}: {status.reason}"), style=style)
        for line in status.stderr:
            yield from quote(line)
        for note in status.notes:
            yield Text(one_line(f"{status.name}: {note}"), style="yellow")
        if status.log:
            count, last = len(status.log), status.log[-1]
            words = f"{one_line(status.name)}: {count} log message{'s' if count > 1 else ''}; the last: {last.level} "
            yield from quote(last.text, words)


def logs(statuses: list[ServerStatus]) -> Iterable[RenderableType]:
    """The log messages of servers, the oldest first."""
    messages = sorted(((message, status.name) for status in statuses for message in status.log), key=lambda m: m[0].at)
    for message, server in messages:
        source = f"{one_line(message.logger)}: " if message.logger else ""
        head = f"{message.at.astimezone():%H:%M:%S}  {message.level:<9} {one_line(server)} "
        for line in quote(f"{source}{message.text}", head):
            if message.level in _SERIOUS:
                line.stylize("red")
            yield line
    if not messages:
        yield "no log messages"


def tools(book: ToolBook, server: str | None = None) -> RenderableType:
    """The tools that an Agent sees."""
    entries = {name: entry for name, entry in book.entries.items() if server in (None, entry.server)}
    if not entries:
        return "no tools"
    table = Table(
        Column("tool", no_wrap=True),
        Column("server", no_wrap=True),
        "asks first",
        Column("parameters", max_width=32),
        Column("description", no_wrap=True, overflow="ellipsis", ratio=1),
        box=None,
        expand=True,
    )
    for name, entry in entries.items():
        schema = entry.tool["params_schema"]
        required = cast("list[Any]", found) if isinstance(found := schema.get("required"), list) else []
        properties = cast("dict[str, Any]", found) if isinstance(found := schema.get("properties"), dict) else {}
        names = [escape(name) if name in required else f"[dim]{escape(name)}[/]" for name in properties]
        description = entry.tool["description"].strip().partition("\n")[0]
        asks = "no" if entry.meta.auto_apply else "yes"
        table.add_row(escape(name), escape(entry.server), asks, " ".join(names), escape(description))
    return table


def listed(entries: Iterable[tuple[str, str, str]]) -> RenderableType:
    """Addresses, their servers and names."""
    table = Table(Column("uri", overflow="fold"), "server", "name", box=None)
    for uri, server, name in entries:
        table.add_row(escape(uri), escape(server), escape(name))
    return table if table.row_count else "none"


def skills(found: Iterable[SkillReference]) -> RenderableType:
    """The skills that an Agent sees."""
    table = Table("skill", Column("description", no_wrap=True, overflow="ellipsis", ratio=1), box=None, expand=True)
    for entry in found:
        table.add_row(escape(entry["name"]), escape(one_line(entry["description"])))
    return table if table.row_count else "no skills"


def files(uploads: Uploads | None, problems: Iterable[str]) -> Iterable[RenderableType]:
    """Where uploads land, and how many have; folders that are no skills, and why."""
    if uploads is not None and uploads.folder is not None:
        count = f"{uploads.received} received, {uploads.running} running"
        yield Text(one_line(f"uploads: into {uploads.folder}, {count}"))
    for problem in problems:
        yield Text(one_line(f"skill {problem}"), style="yellow")


def logins(stored: Iterable[dict[str, Any]]) -> RenderableType:
    """The stored logins."""
    table = Table(Column("server", overflow="fold"), "state", "rights", "authorization server", "since", box=None)
    for login in stored:
        since = datetime.fromisoformat(login["since"]).astimezone().strftime("%Y-%m-%d %H:%M") if login["since"] else ""
        words = (login["url"], login["state"], login["scope"] or "", login["issuer"])
        table.add_row(*map(escape, words), since)
    return table if table.row_count else "no logins are stored"


def history(records: Iterable[ToolCallRecord]) -> RenderableType:
    """The last calls."""
    table = Table("when", "tool", "server", "outcome", "parameters", box=None)
    for record in records:
        outcome = "[green]ok[/]" if record["success"] else f"[red]{escape((record['error'] or '')[:80])}[/]"
        shown = json.dumps(record["parameters"], ensure_ascii=False)[:80]
        table.add_row(
            record["timestamp"][11:19], escape(record["tool"]), escape(record["server"]), outcome, escape(shown)
        )
    return table if table.row_count else "no calls yet"


def inputs(definitions: Iterable[MCPServerInput], values: dict[str, Any]) -> RenderableType:
    """The inputs, and whether each has a value; never the value of a secret."""
    table = Table("input", "type", "value", "description", box=None)
    for wanted in definitions:
        is_secret = wanted.type == "command" or getattr(wanted, "password", False)
        value = "[dim]not asked yet[/]"
        if wanted.id in values:
            value = "•••" if is_secret else escape(str(values[wanted.id]))
        table.add_row(escape(wanted.id), wanted.type, value, escape(wanted.description))
    return table if table.row_count else "no inputs are defined"
