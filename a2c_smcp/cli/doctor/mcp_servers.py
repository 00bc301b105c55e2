"""The MCP servers of a configuration: whether each can start, and what it offers once it has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from a2c_smcp.cli.computer.host import login_command
from a2c_smcp.cli.doctor.findings import Report, count
from a2c_smcp.cli.doctor.options import Address, Options, keep_secret
from a2c_smcp.cli.doctor.programs import check_program
from a2c_smcp.cli.doctor.reachability import dial
from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.files import LoadedConfig
from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.types import ServerState, ServerStatus
from a2c_smcp.utils.system.terminals import quote

LISTING = 10.0
"""Seconds that the servers have to list their windows and documents."""
SLOW = 20.0
"""A start that takes longer, in seconds, is a warning."""


async def check_servers(
    options: Options, config: LoadedConfig, resolver: InputResolver, lacking: Mapping[str, list[str]], report: Report
) -> None:
    """Check what each server needs, then start those that have it, all concurrently. `lacking` has missing inputs."""
    # Servers finish in any order, and the report has the order of the file: each gets a report of its own, and the
    # `finally` joins them even if the time limit of the whole check expires.
    reports = {server.name: Report(report.group) for server in config.servers}
    try:
        report.now("looking for programs and addresses")
        can_start = await asyncio.gather(
            *(_has_what_it_needs(options, server, lacking, reports[server.name]) for server in config.servers)
        )
        ready_to_go = [server for server, can in zip(config.servers, can_start, strict=True) if can]
        if options.start and ready_to_go:
            await _start(options, ready_to_go, resolver, reports, report)
    finally:
        for one in reports.values():
            report.findings.extend(one.findings)


async def _has_what_it_needs(
    options: Options, server: MCPServerConfig, lacking: Mapping[str, list[str]], report: Report
) -> bool:
    """Whether the server can be started, as far as that shows without a start."""
    if server.disabled:
        report.note(f"{server.name} is disabled")
        return False
    parameters = server.parameters()
    if server.type == "stdio":
        is_there = await asyncio.to_thread(check_program, parameters, report, server.name)
    else:
        is_there = await _is_reachable(options, parameters, report, server.name)
    if is_there and server.name in lacking:
        report.note(f"{server.name} is not started: no value for input {', '.join(lacking[server.name])}")
    elif is_there and not options.start:
        report.ok(f"{server.name}: everything that it needs to start is available")
    return is_there and server.name not in lacking


async def _is_reachable(options: Options, parameters: Mapping[str, Any], report: Report, who: str) -> bool:
    url = parameters.get("url")
    if not isinstance(url, str) or "${" in url:
        return True  # the address depends on inputs, which are resolved only for a start
    keep_secret(url, options.secrets)
    try:
        place = Address.of(url)
    except ValueError as error:
        report.fail(f"{who}: {error}", "correct its `url`")
        return False
    # HTTP clients of MCP servers use the proxy of the environment. Behind one, this machine often cannot resolve or
    # reach the address itself, and a direct connection would report a problem that does not exist.
    if getproxies().get(urlsplit(url).scheme) and not proxy_bypass(place.host):
        return True
    return await dial(place, report, who)


# ------------------------------------------------------------------------------------------------------------- starting


async def _start(
    options: Options,
    servers: list[MCPServerConfig],
    resolver: InputResolver,
    reports: Mapping[str, Report],
    whole: Report,
) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    took: dict[str, float] = {}
    starting = [server.name for server in servers]

    def on_status_changed(name: str) -> None:
        state = next((status.state for status in computer.status if status.name == name), None)
        if state is not ServerState.STARTING and name in starting:
            starting.remove(name)
            took[name] = loop.time() - began
            whole.now(_starting(starting))

    computer = Computer(
        "a2c-doctor",
        mcp_servers=servers,
        input_resolver=resolver,
        policy=Policy(start_timeout=options.start_timeout, restart=False),
        on_status_changed=on_status_changed,
        require_subscribe=False,  # so that `_gate` can say how many windows and documents the option hides
    )
    whole.now(_starting(starting))
    try:
        await computer.boot_up(options.start_timeout)
        whole.now("listing windows and documents")
        deadline = loop.time() + LISTING
        await asyncio.gather(*(view.be_listed(deadline) for view in computer.mcp_manager.views))
        for status in computer.status:
            tell = _Telling(options, computer, reports[status.name])
            tell.status(status, took.get(status.name))
    finally:  # also on Ctrl-C and on the check's time limit: no MCP server may outlive the doctor
        whole.now("stopping MCP servers")
        await computer.shutdown()


def _starting(names: Iterable[str]) -> str:
    waiting = ", ".join(names)
    return f"starting {waiting}" if waiting else ""


class _Telling:
    """Reports on a server that was started."""

    def __init__(self, options: Options, computer: Computer, report: Report) -> None:
        self._options = options
        self._computer = computer
        self._report = report

    def status(self, status: ServerStatus, seconds: float | None) -> None:
        """Report whether the server is ready, what it offers, and why it failed."""
        name = status.name
        if status.state is ServerState.WAITING_FOR_LOGIN:
            reason, _, _ = (status.reason or "requires a login").partition("; log in with: ")
            command = login_command(self._options.config)
            self._report.fail(f"{name} {reason}", f"log in with: {command} {quote(name)}")
            return
        if status.state is not ServerState.READY:
            reason = status.reason or f"did not start within {self._options.start_timeout:g} s"
            self._report.fail(
                f"{name} does not start: {reason}",
                "see its output on standard error"
                if status.stderr
                else "run its command in a terminal, or see its logs; --start-timeout gives it more time",
                status.stderr,
            )
            return
        facts = [f"{name} is ready", f"MCP {status.protocol_version}", count(status.tools, "tool")]
        if status.windows:
            facts.append(count(status.windows, "window"))
        if status.documents:
            facts.append(count(status.documents, "document"))
        if seconds is not None and seconds > SLOW:
            self._report.warn(
                f"{', '.join(facts)}; it took {seconds:.0f} s to start",
                "the first start may download a package; if later starts are slow too, install the package beforehand",
            )
        else:
            self._report.ok(", ".join(facts) + (f"; it took {seconds:.1f} s to start" if seconds is not None else ""))
        self._gate(status)
        for note in status.notes:
            self._report.warn(f"{name}: {note}")

    def _gate(self, status: ServerStatus) -> None:
        """Warn about windows and documents that the Computer would not offer."""
        session = self._computer.mcp_manager.session(status.name)
        capabilities = session.server_capabilities if session is not None else None
        resources = capabilities.resources if capabilities is not None else None
        hidden = " and ".join(
            count(number, kind)
            for number, kind in ((status.windows, "window"), (status.documents, "document"))
            if number
        )
        if not hidden or not self._options.require_subscribe or (resources is not None and resources.subscribe):
            return
        self._report.warn(
            f"{status.name}: its {hidden} are not shown: it does not declare resources.subscribe, so it would not "
            "announce changes",
            "start the Computer with --no-require-subscribe, which reads them again on each request; servers that use "
            "version 1 of the Python SDK never declare it",
        )
