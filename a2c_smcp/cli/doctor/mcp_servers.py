"""The MCP servers of a configuration: whether each can be started, and what it says once it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

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

LISTING = 10.0
"""Seconds in which a server shall say which windows and documents it has."""
SLOW = 20.0
"""Seconds for a start after which its owner may want to know."""


async def check_servers(
    options: Options, config: LoadedConfig, resolver: InputResolver, lacking: Mapping[str, list[str]], report: Report
) -> None:
    """What each needs, side by side; then a start of those that have it, side by side. `lacking` are inputs."""
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
        for one in reports.values():  # in the file's order, however they went
            report.findings.extend(one.findings)


async def _has_what_it_needs(
    options: Options, server: MCPServerConfig, lacking: Mapping[str, list[str]], report: Report
) -> bool:
    """Whether a start is worth a try."""
    if server.disabled:
        report.note(f"{server.name} is disabled")
        return False
    parameters = server.parameters()
    if server.type == "stdio":
        is_there = await asyncio.to_thread(check_program, parameters, report, server.name)
    else:
        is_there = await _is_reachable(options, parameters, report, server.name)
    if is_there and server.name in lacking:
        report.note(f"{server.name} is not started: it needs {', '.join(lacking[server.name])}")
    elif is_there and not options.start:
        report.ok(f"{server.name}: what it is started with is there")
    return is_there and server.name not in lacking


async def _is_reachable(options: Options, parameters: Mapping[str, Any], report: Report, who: str) -> bool:
    url = parameters.get("url")
    if not isinstance(url, str) or "${" in url:
        return True  # known when its inputs are
    keep_secret(url, options.secrets)
    try:
        place = Address.of(url)
    except ValueError as error:
        report.fail(f"{who}: {error}", "mend its `url`")
        return False
    if getproxies().get(urlsplit(url).scheme) and not proxy_bypass(place.host):
        return True  # the proxy knows the way
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
        require_subscribe=False,  # what would not be shown is counted, and told
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
    finally:  # whatever happens, nothing runs afterwards
        whole.now("stopping MCP servers")
        await computer.shutdown()


def _starting(names: Iterable[str]) -> str:
    waiting = ", ".join(names)
    return f"starting {waiting}" if waiting else ""


class _Telling:
    """Says how a server is that was started."""

    def __init__(self, options: Options, computer: Computer, report: Report) -> None:
        self._options = options
        self._computer = computer
        self._report = report

    def status(self, status: ServerStatus, seconds: float | None) -> None:
        """Well or not, and why."""
        name = status.name
        if status.state is not ServerState.READY:
            reason = status.reason or f"did not start within {self._options.start_timeout:g} s"
            self._report.fail(
                f"{name} does not start: {reason}",
                "what it wrote to its standard error says more"
                if status.stderr
                else "run its command by hand, or see the logs of where it runs; --start-timeout gives it more time",
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
                "a first start may download the package: the next should be faster; else install it beforehand",
            )
        else:
            self._report.ok(", ".join(facts) + (f"; it took {seconds:.1f} s to start" if seconds is not None else ""))
        self._gate(status)
        for note in status.notes:
            self._report.warn(f"{name}: {note}")

    def _gate(self, status: ServerStatus) -> None:
        """Windows and documents that would not be shown."""
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
            f"{status.name}: its {hidden} are not shown: it does not declare resources.subscribe, so nobody would hear "
            "of changes",
            "start the Computer with --no-require-subscribe, which reads them again each time; servers on version 1 of "
            "the Python SDK never declare it",
        )
