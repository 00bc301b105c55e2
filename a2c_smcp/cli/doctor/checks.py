"""The list of checks, and how they run: concurrently, each with a time limit, and isolated from each other's errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from a2c_smcp.cli.doctor.configuration import check_configuration
from a2c_smcp.cli.doctor.credentials import check_key
from a2c_smcp.cli.doctor.documents import check_documents
from a2c_smcp.cli.doctor.findings import Finding, Report
from a2c_smcp.cli.doctor.machine import check_folders, check_software
from a2c_smcp.cli.doctor.options import Options
from a2c_smcp.cli.doctor.port import check_port
from a2c_smcp.cli.doctor.recognition import check_recognition
from a2c_smcp.cli.doctor.server import check_server

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Check:
    """One check, and the heading of its findings."""

    group: str
    run: Callable[[Options, Report], Awaitable[None]]
    seconds: float
    """The time limit of the whole check; its steps have shorter limits of their own."""


def checks_for(options: Options) -> list[Check]:
    """The checks that these options allow, in the order of the report."""
    checks = [
        Check("This machine", check_software, 20),
        Check("Folders", check_folders, 20),
        Check("Documents", check_documents, 20),
        Check("Text recognition", check_recognition, 20),
        Check("Port", check_port, 30),
    ]
    if options.api_key is not None:
        checks.append(Check("Key", check_key, 10))
    if options.url is not None:
        checks.append(Check("Server", check_server, 120))
    if options.redis is not None:
        # Imported here: whoever runs no Servers needs none of it.
        from a2c_smcp.cli.doctor.redis import check_redis

        checks.append(Check("Redis", check_redis, 60))
    if options.config is not None:
        # Twice the start timeout: commands that produce inputs run before the servers start, and stopping the servers
        # takes time as well. The rest is for names, connections and TLS of remote MCP servers, which come first.
        checks.append(Check("Configuration", check_configuration, 2 * options.start_timeout + 120))
    return checks


class Examination:
    """A run of several checks."""

    def __init__(self, options: Options, checks: list[Check]) -> None:
        self._options = options
        self._checks = checks
        self._reports = [Report(check.group) for check in checks]
        self._running: set[int] = set()

    @property
    def findings(self) -> list[Finding]:
        """The findings so far, in order and without secrets."""
        # Redact here and not in each check: values of inputs become known as secrets while checks run, and a finding
        # may quote text of other programs (an MCP server's standard error, a URL in an exception).
        redact = self._options.secrets.redact
        return [
            replace(
                found,
                text=redact(found.text),
                advice=redact(found.advice) if found.advice is not None else None,
                details=tuple(map(redact, found.details)),
            )
            for report in self._reports
            for found in report.findings
        ]

    @property
    def under_way(self) -> list[tuple[str, str]]:
        """The checks that run now, and the slow step that each is in."""
        reports = [report for number, report in enumerate(self._reports) if number in self._running]
        return [(report.group, self._options.secrets.redact(report.doing)) for report in reports]

    async def run(self) -> None:
        """Run all checks; return when all have ended."""
        await asyncio.gather(*(self._run(number) for number in range(len(self._checks))))

    async def _run(self, number: int) -> None:
        check, report = self._checks[number], self._reports[number]
        self._running.add(number)
        bound = asyncio.timeout(check.seconds)
        try:
            async with bound:
                await check.run(self._options, report)
        except Exception as error:  # the other checks must still run
            # A TimeoutError may also come from inside the check, where it is a bug: only `expired` tells them apart.
            if isinstance(error, TimeoutError) and bound.expired():
                report.fail(
                    f"this check timed out after {check.seconds:g} s",
                    "something does not answer: `a2c --debug doctor …` logs each step",
                )
                return
            logger.exception("the check %s failed", check.group)
            report.fail(
                f"this check failed: {type(error).__name__}: {error}",
                "this is a bug in a2c: `a2c --debug doctor …` shows the traceback",
            )
        finally:
            self._running.discard(number)
