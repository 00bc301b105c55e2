"""The display of a running `a2c up`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Column, Table
from rich.text import Text

from a2c_smcp.cli.computer.progress import SYMBOLS
from a2c_smcp.cli.up.plan import Plan
from a2c_smcp.cli.up.state import Event, OfficeState
from a2c_smcp.cli.views import escape
from a2c_smcp.computer.types import ServerState
from a2c_smcp.utils.system.terminals import quote_program, set_variables
from a2c_smcp.utils.text import printable
from a2c_smcp.utils.url import gateway_url

FEWEST_EVENTS = 3
FRAME_LINES = 3
"""The lines of the frame and of the cursor."""
NARROW = 72
"""Below this width, in columns, events are wrapped and their times are left out."""
_STYLES = {"ok": "green", "failed": "red", "warning": "yellow", "news": "dim"}


class View:
    """The whole display, drawn from the current state and fitted to the height of the terminal."""

    def __init__(self, plan: Plan, state: OfficeState) -> None:
        self._plan = plan
        self._state = state

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the display. The events get the lines that are left."""
        is_narrow = options.max_width < NARROW
        parts = [self._facts(), Text(), self._servers(is_narrow), Text()]
        # Commands are outside the frame: a selection with the mouse would copy its lines with them.
        below = [
            *how_to_attach(self._plan),
            *how_to_look(self._plan, self._state),
            Text("Ctrl-C stops everything.", "dim"),
        ]
        # Rendered once to count lines: how often a text wraps depends on the width, so the height follows from nothing
        # else. `Live` cuts off what is higher than the terminal, from below, where the commands are.
        inner = options.update(width=options.max_width - 4)
        used = sum(len(console.render_lines(part, inner)) for part in parts)
        used += sum(len(console.render_lines(part, options)) for part in below) + FRAME_LINES
        room = max(FEWEST_EVENTS, (options.max_height or console.height) - used)
        events = list(self._state.events)[-room:]
        while is_narrow and len(events) > 1 and len(console.render_lines(_events(events, True), inner)) > room:
            events = events[1:]  # wrapped events take several lines each: the latest are shown whole
        title = f"[bold]A2C[/] office [bold]{escape(self._plan.office)}[/]"
        yield Panel(Group(*parts, _events(events, is_narrow)), title=title, title_align="left")
        yield Group(*below)

    def _facts(self) -> RenderableType:
        state = self._state
        others = [name for name in state.computers if name != self._plan.computer]
        table = Table.grid(padding=(0, 2))
        table.add_row("Server", _dot(state.is_serving), Text(self._plan.url))
        table.add_row("Agent", _dot(state.agent is not None), Text(printable(state.agent or "none yet")))
        table.add_row("Computer", _dot(self._plan.computer in state.computers), Text(printable(self._plan.computer)))
        for name in others:
            table.add_row("", _dot(True), Text(printable(name)))
        table.add_row("Documents", "", Text(printable(self._plan.folder), overflow="fold"))
        return table

    def _servers(self, is_narrow: bool) -> RenderableType:
        right = [Column(title, justify="right") for title in ("tools", "windows", "documents")]
        columns = [Column(width=1), Column("server" if is_narrow else "MCP server"), Column("state"), *right]
        remarks = [_remark(server) for server in self._state.servers]
        if any(remarks) or not is_narrow:
            columns.append(Column("", ratio=1))
        table = Table(*columns, box=None, expand=True, collapse_padding=is_narrow, pad_edge=not is_narrow)
        for server, why in zip(self._state.servers, remarks, strict=True):
            state = ServerState(server["state"])
            counts = [str(server[kind]) for kind in ("tools", "windows", "documents")]
            cells = [SYMBOLS.get(state, "…"), escape(server["name"]), state.value, *counts, Text(printable(why), "dim")]
            table.add_row(*cells[: len(columns)])
        if not self._state.servers:
            table.add_row("…", "starting")
        return table


def _events(events: list[Event], is_narrow: bool) -> RenderableType:
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, no_wrap=not is_narrow, overflow="fold" if is_narrow else "ellipsis")
    table.add_column(no_wrap=True, justify="right")
    for event in events:
        table.add_row(Text(f"{event.when:%H:%M:%S}", "dim"), Text(event.text), _outcome(event, is_narrow))
    return table if table.row_count else Text("no activity yet", "dim")


def how_to_attach(plan: Plan) -> list[RenderableType]:
    """The commands that connect an Agent."""
    program = program_name()
    lines = [
        Text("Connect an Agent in another terminal:", "bold"),
        _command(set_variables({"A2C_URL": plan.url, "A2C_OFFICE": plan.office})),
        _command(set_variables({"A2C_API_KEY": plan.api_key})),
        *(_command(f"{program} agent {what}") for what in ("tools", "desktop", "finder")),
    ]
    lines += [
        Text("Or use the office from an MCP host, such as Claude, Cursor, VS Code or Codex:", "bold"),
        _command(f"{program} mcp install cursor"),
        _command(gateway_url(plan.url, plan.office)),
    ]
    if plan.is_new:
        lines.append(Text("The next start has another office and key, unless --office and --api-key set them.", "dim"))
    if (elsewhere := plan.url_elsewhere) is not None:
        lines.append(Text(f"On another machine, use A2C_URL={elsewhere}", "dim"))
    else:
        lines.append(Text(f"To admit other machines: {program} up --host 0.0.0.0", "dim"))
    return list(lines)


def how_to_look(plan: Plan, state: OfficeState) -> list[Text]:
    """The address of the pages, with a token for one login. It is in the part that browsers send to nobody."""
    if state.login_token is None:
        return []
    return [
        Text("Or open the pages of the Server and this Computer (the address is valid for one login):", "bold"),
        _command(f"{plan.url}/console/login#token={state.login_token}"),
    ]


def what_next(*, stays: bool) -> Text:
    """Commands to try after the tour. If the office `stays`, the display shows how to connect an Agent."""
    program = program_name()
    lines = [
        ("up ~/Documents", "serves your own documents"),
        ("up --with-my-config", "adds the MCP servers of Claude, Cursor or VS Code"),
        ("mcp install --help", "makes Claude, Cursor, VS Code or Codex use an office"),
    ]
    if not stays:
        lines.insert(0, ("up", "runs until Ctrl-C, and shows how to connect an Agent"))
    width = max(len(command) for command, _ in lines)
    return Text("\n").join(
        Text.assemble((f"  {program} {command:<{width}}", "cyan"), "  ", (meaning, "dim")) for command, meaning in lines
    )


def program_name() -> str:
    """The command that runs this program from a shell in the current folder."""
    # The display is for copying. `a2c` alone is right only if the PATH of the shell leads to this installation. In a
    # virtual environment that is not active, the command needs its path.
    here = Path(sys.argv[0])
    if here.name.startswith("a2c") and here.is_file():
        found = shutil.which("a2c")
        if found is not None and Path(found).resolve() == here.resolve():
            return "a2c"
        shown = os.path.relpath(here)
        return quote_program(shown if len(shown) < len(str(here.absolute())) else str(here.absolute()))
    return f"{quote_program(sys.executable)} -m a2c_smcp.cli"


def _remark(server: dict[str, Any]) -> str:
    """The reason why a server is not ready, or a hint about its tools."""
    if server["state"] != ServerState.READY:
        return str(server["reason"])
    asking = server["asking"]
    return f"{asking} need approval on the page of this Computer, auto_apply, or --allow-all" if asking else ""


def _command(text: str) -> Text:
    return Text(f"  {text}", "cyan", overflow="fold")


def _dot(is_there: bool) -> Text:
    return Text("●", "green") if is_there else Text("○", "dim")


def _outcome(event: Event, is_narrow: bool) -> Text:
    if event.outcome not in ("ok", "failed"):
        return Text("!" if event.outcome == "warning" else "", _STYLES[event.outcome])
    if is_narrow:
        return Text(event.note or "ok", _STYLES[event.outcome])
    took = f"{event.seconds * 1000:,.0f} ms" if event.seconds is not None else ""
    return Text.assemble((event.note or "ok", _STYLES[event.outcome]), "  ", (f"{took:>9}", "dim"))
