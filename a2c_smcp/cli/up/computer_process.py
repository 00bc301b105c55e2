"""The Computer of `a2c up`, in a process of its own: an ordinary Computer that tells how its MCP servers are."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from a2c_smcp.cli.computer.command import Options
from a2c_smcp.cli.computer.host import Host
from a2c_smcp.cli.computer.service import serve
from a2c_smcp.cli.running import run_until_done
from a2c_smcp.cli.up.child import Reports, run_child
from a2c_smcp.cli.up.plan import Plan
from a2c_smcp.computer.config.files import LoadedConfig, load_config, server_from
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.types import ServerStatus

START_SECONDS = 60.0
LONGEST_REASON = 300

logger = logging.getLogger("a2c.up")


def gather_servers(plan: Plan) -> LoadedConfig:
    """The MCP servers of the plan: ours, and those of its files; of two with the same name the first."""
    servers: dict[str, MCPServerConfig] = {}
    loaded = LoadedConfig()
    for file in plan.configs:
        found = load_config(Path(file))
        for server in found.servers:
            if servers.setdefault(server.name, server) is not server:
                logger.warning("%s: there is another MCP server %s already; left out", file, server.name)
        known = {wanted.id for wanted in loaded.inputs}
        loaded.inputs += [wanted for wanted in found.inputs if wanted.id not in known]
    loaded.servers = [*_own_servers(plan, set(servers)), *servers.values()]
    return loaded


def _own_servers(plan: Plan, taken: set[str]) -> list[MCPServerConfig]:
    documents = ["-m", "a2c_smcp.cli", "documents", plan.folder]
    if plan.is_sample:  # a copy that lives as long as we do
        documents += ["--host-id", "library", "--no-cache"]
    windows = ["-m", "a2c_smcp.cli.up.machine_server", plan.computer, plan.journal]
    return [_own_server("documents", documents, taken), _own_server("machine", windows, taken)]


def _own_server(name: str, arguments: list[str], taken: set[str]) -> MCPServerConfig:
    while name in taken:
        name = f"a2c-{name}"
    return server_from(
        {
            "name": name,
            "type": "stdio",
            "server_parameters": {"command": sys.executable, "args": arguments},
            "default_tool_meta": {"auto_apply": True},  # they only read
        }
    )


class Watcher:
    """Tells how the MCP servers are whenever that changes, once for all that happens at a time."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports
        self._host: Host | None = None
        self._is_due = False

    def watch(self, host: Host) -> None:
        """Tell of this host's servers."""
        self._host = host
        self.look()

    def look(self, _: str = "") -> None:
        """Something changed."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._is_due = False
        if self._host is not None:
            computer = self._host.computer
            asking = Counter(
                entry.server
                for entry in computer.mcp_manager.book.entries.values()
                if not entry.meta.auto_apply and computer.confirm_callback is None
            )
            servers = [_in_short(status, asking[status.name]) for status in computer.status]
            self._reports.tell("servers", servers=servers)


def _in_short(status: ServerStatus, asking: int) -> dict[str, Any]:
    """What is shown of a server; `asking` is how many of its tools nobody can allow."""
    reason = " | ".join(filter(None, (status.reason, *status.stderr[-1:])))
    return {
        "asking": asking,
        "name": status.name,
        "state": status.state.value,
        "reason": reason[:LONGEST_REASON],
        "tools": status.tools,
        "windows": status.windows,
        "documents": status.documents,
    }


async def run(plan: Plan, reports: Reports) -> int:
    """Be the Computer until a signal comes."""
    options = Options(
        config=None,
        url=plan.url,
        office=plan.office,
        name=plan.computer,
        api_key=plan.api_key,
        api_key_header="x-api-key",
        allow_all=plan.allow_all,
        keyring=False,
        require_subscribe=True,
        start_timeout=START_SECONDS,
        keep_trying=True,
        watch_config=False,
        log_level="warning",
        log_format="json",
    )
    watcher = Watcher(reports)
    async with Host(options, gather_servers(plan), on_status_changed=watcher.look) as host:
        for input_id, value in plan.input_values.items():
            host.computer.set_input_value(input_id, value)
        watcher.watch(host)
        return await serve(host)


def main(plan: Plan, reports: Reports) -> None:
    """Run until a signal comes."""
    run_until_done(run(plan, reports))


if __name__ == "__main__":
    run_child(main)
