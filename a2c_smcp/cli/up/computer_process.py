"""The process of the Computer of `a2c up`: an ordinary Computer that reports the states of its MCP servers."""

from __future__ import annotations

import asyncio
import contextlib
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
    """The built-in MCP servers and those of the plan's files; of two with the same name, the first."""
    servers: dict[str, MCPServerConfig] = {}
    loaded = LoadedConfig()
    for file in plan.configs:
        found = load_config(Path(file))
        for server in found.servers:
            if servers.setdefault(server.name, server) is not server:
                logger.warning("%s: skipping MCP server %s: another one has this name", file, server.name)
        known = {wanted.id for wanted in loaded.inputs}
        loaded.inputs += [wanted for wanted in found.inputs if wanted.id not in known]
    loaded.servers = [*_own_servers(plan, set(servers)), *servers.values()]
    return loaded


def _own_servers(plan: Plan, taken: set[str]) -> list[MCPServerConfig]:
    documents = ["-m", "a2c_smcp.cli", "documents", plan.folder]
    # The copy is in a folder with a random name: without a fixed host id, its addresses would differ in every run, and
    # a cache would keep files that no later run finds again.
    if plan.is_sample:
        documents += ["--host-id", "library", "--no-cache"]
    windows = ["-m", "a2c_smcp.cli.up.machine_server", plan.computer, plan.journal]
    return [_own_server("documents", documents, taken), _own_server("machine", windows, taken)]


def _own_server(name: str, arguments: list[str], taken: set[str]) -> MCPServerConfig:
    while name in taken:  # the owner's servers keep their names, which tools and prompts may mention
        name = f"a2c-{name}"
    return server_from(
        {
            "name": name,
            "type": "stdio",
            "server_parameters": {"command": sys.executable, "args": arguments},
            "default_tool_meta": {"auto_apply": True},  # their tools only read
        }
    )


class Watcher:
    """Reports the states of the MCP servers when they change."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports
        self._host: Host | None = None
        self._is_due = False

    def watch(self, host: Host) -> None:
        """Report the servers of this host from now on."""
        self._host = host
        self.look()

    def look(self, _: str = "") -> None:
        """Note a change. Changes in the same iteration of the event loop make one report."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._is_due = False
        if self._host is not None:
            computer = self._host.computer
            # No person can confirm calls in this process, so it rejects tools that need it. The display shows how many.
            asking = Counter(
                entry.server
                for entry in computer.mcp_manager.book.entries.values()
                if not entry.meta.auto_apply and not (computer.approvals.allow_all or computer.approvals.can_ask)
            )
            servers = [_in_short(status, asking[status.name]) for status in computer.status]
            self._reports.tell("servers", servers=servers)


def _in_short(status: ServerStatus, asking: int) -> dict[str, Any]:
    """The report on one server. `asking` is the number of its tools that need confirmation, and are rejected."""
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
    """Run the Computer until a signal arrives."""
    # `keep_trying`: both processes have the key from the same plan, so a rejection is not final.
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
        owner_port=0,
        on_owner_url=lambda url: reports.tell("owner", url=url),
        console_url=f"{plan.url}/console/",
    )
    watcher = Watcher(reports)
    async with Host(options, gather_servers(plan), on_status_changed=watcher.look) as host:
        for input_id, value in plan.input_values.items():
            host.computer.set_input_value(input_id, value)
        watcher.watch(host)
        loop = asyncio.get_running_loop()

        def hear(news: dict[str, Any]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: this process ends
                loop.call_soon_threadsafe(_hear, host, news)

        reports.on_news = hear
        return await serve(host)


def _hear(host: Host, news: dict[str, Any]) -> None:
    """Act on news of the supervisor."""
    if "logout" in news and host.owner_server is not None:
        host.owner_server.log_out()


def main(plan: Plan, reports: Reports) -> None:
    """Run until a signal arrives."""
    run_until_done(run(plan, reports))


if __name__ == "__main__":
    run_child(main)
