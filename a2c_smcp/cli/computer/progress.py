"""Shows the progress of MCP servers that start."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from a2c_smcp.computer.types import ServerState, ServerStatus
from a2c_smcp.utils.text import one_line

if TYPE_CHECKING:
    from a2c_smcp.cli.computer.host import Host

SYMBOLS = {
    ServerState.READY: "[green]✓[/]",
    ServerState.FAILED: "[red]✗[/]",
    ServerState.RESTARTING: "[yellow]↻[/]",
    ServerState.WAITING_FOR_LOGIN: "[yellow]![/]",
    ServerState.STOPPING: "[dim]■[/]",
    ServerState.STOPPED: "[dim]■[/]",
    ServerState.DISABLED: "[dim]–[/]",
}


async def boot_with_progress(host: Host, patience: float = 30.0) -> None:
    """Start all servers; on a terminal, show the state of each."""
    boot = asyncio.ensure_future(host.computer.boot_up(patience))
    if not sys.stderr.isatty() or not host.computer.mcp_servers:
        await boot
        return
    console = Console(stderr=True)
    # Silenced while the table is drawn: log lines would break it, and the failures are listed once below.
    quiet = [logging.getLogger(f"a2c_smcp.computer.{layer}") for layer in ("mcp", "hosting", "offer")]
    levels = [layer.level for layer in quiet]
    for layer in quiet:
        layer.setLevel(logging.CRITICAL)
    try:
        with Live(console=console, refresh_per_second=8, transient=True) as live:
            while not boot.done():
                live.update(_table(host.computer.status))
                await asyncio.wait((boot,), timeout=0.12)
        boot.result()
    finally:
        boot.cancel()
        for layer, level in zip(quiet, levels, strict=True):
            layer.setLevel(level)
    for status in host.computer.status:
        if status.state is not ServerState.READY:
            why = f": {status.reason}" if status.reason else ""
            console.print(SYMBOLS.get(status.state, "…"), Text(one_line(f"{status.name} is {status.state}{why}")))


def _table(statuses: list[ServerStatus]) -> Table:
    done = sum(status.state is not ServerState.STARTING for status in statuses)
    table = Table.grid(padding=(0, 1))
    table.add_row("", f"[bold]MCP servers: {done} of {len(statuses)}[/]")
    for status in statuses:
        if status.state is ServerState.STARTING:
            table.add_row(Spinner("dots"), status.name)
        else:
            note = f"{status.tools} tools" if status.active else one_line(status.reason or status.state)
            table.add_row(SYMBOLS[status.state], Text.assemble(status.name, " ", (note, "dim")))
    return table
