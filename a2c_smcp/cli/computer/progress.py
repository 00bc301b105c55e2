"""What a person sees while MCP servers start."""

from __future__ import annotations

import asyncio
import sys

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

from a2c_smcp.cli.computer.host import Host
from a2c_smcp.computer.types import ServerState, ServerStatus

SYMBOLS = {
    ServerState.READY: "[green]✓[/]",
    ServerState.FAILED: "[red]✗[/]",
    ServerState.RESTARTING: "[yellow]↻[/]",
    ServerState.STOPPED: "[dim]■[/]",
    ServerState.DISABLED: "[dim]–[/]",
}


async def boot_with_progress(host: Host, patience: float = 30.0) -> None:
    """Start all servers; on a terminal, show how far each is."""
    boot = asyncio.ensure_future(host.computer.boot_up(patience))
    if not sys.stderr.isatty() or not host.computer.mcp_servers:
        await boot
        return
    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        while not boot.done():
            live.update(_table(host.computer.status))
            await asyncio.wait((boot,), timeout=0.12)
    boot.result()
    for status in host.computer.status:
        if status.state is not ServerState.READY:
            console.print(f"{SYMBOLS.get(status.state, '…')} {status.name} is {status.state}: {status.reason or ''}")


def _table(statuses: list[ServerStatus]) -> Table:
    done = sum(status.state is not ServerState.STARTING for status in statuses)
    table = Table.grid(padding=(0, 1))
    table.add_row("", f"[bold]MCP servers: {done} of {len(statuses)}[/]")
    for status in statuses:
        if status.state is ServerState.STARTING:
            table.add_row(Spinner("dots"), status.name)
        else:
            note = f"{status.tools} tools" if status.active else str(status.reason or status.state)
            table.add_row(SYMBOLS[status.state], f"{status.name} [dim]{note}[/]")
    return table
