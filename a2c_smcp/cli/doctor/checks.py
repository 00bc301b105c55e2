"""Which checks there are, and how they are run: side by side, each bounded in time, none able to break another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from a2c_smcp.cli.doctor.configuration import check_configuration
from a2c_smcp.cli.doctor.credentials import check_key
from a2c_smcp.cli.doctor.findings import Finding, Report
from a2c_smcp.cli.doctor.machine import check_folders, check_software
from a2c_smcp.cli.doctor.options import Options
from a2c_smcp.cli.doctor.port import check_port
from a2c_smcp.cli.doctor.server import check_server

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Check:
    """Something to look at."""

    group: str
    run: Callable[[Options, Report], Awaitable[None]]
    seconds: float
    """How long it may take; its own steps are bounded more tightly."""


def checks_for(options: Options) -> list[Check]:
    """Everything that can be looked at with what was given, in the order in which it is told."""
    checks = [
        Check("This machine", check_software, 20),
        Check("Folders", check_folders, 20),
        Check("Port", check_port, 30),
    ]
    if options.api_key is not None:
        checks.append(Check("Key", check_key, 10))
    if options.url is not None:
        checks.append(Check("Server", check_server, 120))
    if options.config is not None:
        # Addresses are looked at first; afterwards inputs may come from commands, and everything is stopped.
        checks.append(Check("Configuration", check_configuration, 2 * options.start_timeout + 120))
    return checks


class Examination:
    """Checks that run, or ran."""

    def __init__(self, options: Options, checks: list[Check]) -> None:
        self._options = options
        self._checks = checks
        self._reports = [Report(check.group) for check in checks]
        self._running: set[int] = set()

    @property
    def findings(self) -> list[Finding]:
        """What was found so far, in order; without secrets."""
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
        """What is looked at now, and what takes so long there."""
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
        except Exception as error:  # of a check: the others go on, and this one is told
            if isinstance(error, TimeoutError) and bound.expired():
                report.fail(f"this check did not end within {check.seconds:g} s", "what it looks at hangs: see above")
                return
            logger.exception("the check of %s broke", check.group)
            report.fail(
                f"this check broke: {type(error).__name__}: {error}",
                "that is a fault of a2c itself: `a2c --debug doctor …` shows where",
            )
        finally:
            self._running.discard(number)
