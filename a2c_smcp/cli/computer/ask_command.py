"""A command of the owner's that decides about calls: `--ask-command`.

It gets the request as JSON on its standard input. Its exit code is the decision; the first line of its standard output
is the reason of a denial, which the Agent gets.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from asyncio.subprocess import DEVNULL, PIPE, Process

from a2c_smcp.computer.offer.approval_request import ApprovalRequest, Decision, Verdict
from a2c_smcp.computer.offer.approval_view import approval_view
from a2c_smcp.utils.system.processes import APART, ProcessTree, describe_exit, program
from a2c_smcp.utils.system.terminals import split_words
from a2c_smcp.utils.text import one_line

logger = logging.getLogger("a2c.computer")

BY = "the ask command"
CODES = {0: Decision.ALLOW, 1: Decision.DENY, 10: Decision.HOUR, 11: Decision.SESSION, 12: Decision.ALWAYS}
NO_DECISION = 2
MOST = 4
"""Commands at a time. Further requests wait for their turn, as long as their call lasts."""
MAX_PRINTED = 4_000
"""Bytes of its output that are read."""
LONGEST_REASON = 300


class AskCommand:
    """Starts the command for each request, and ends it with everything that it started when the request ends."""

    def __init__(self, command: str) -> None:
        self._argv = split_words(command)
        if not self._argv:
            raise ValueError("a command is expected")
        self._turns = asyncio.Semaphore(MOST)

    async def decide(self, request: ApprovalRequest) -> Verdict | None:
        """The decision of the command; None if it makes none, or fails."""
        async with self._turns:
            try:
                code, printed = await self._run(json.dumps(approval_view(request)).encode("utf-8", "replace"))
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                logger.warning("the ask command cannot be run: %s", reason, extra={"req_id": request.req_id})
                return None
        decision = CODES.get(code)
        if decision is None and code != NO_DECISION:
            logger.warning("the ask command %s: no decision", describe_exit(code), extra={"req_id": request.req_id})
        if decision is None:
            return None
        first = one_line(printed.decode("utf-8", "replace").strip().partition("\n")[0], LONGEST_REASON)
        return Verdict(decision, BY, first or None if decision is Decision.DENY else None)

    async def _run(self, data: bytes) -> tuple[int, bytes]:
        name, *arguments = self._argv
        argv = (program(name, os.environ), *arguments)
        process = await asyncio.create_subprocess_exec(*argv, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, **APART)
        tree = ProcessTree(process.pid)
        try:
            if process.stdin is not None:
                process.stdin.write(data)  # a command that does not read it leaves it in memory until it ends
                process.stdin.close()
            return await _output(process)
        finally:
            tree.kill()  # also what the command has left running
            await process.wait()
            tree.close()


async def _output(process: Process) -> tuple[int, bytes]:
    """The exit code, and the beginning of what the command prints."""
    printed = bytearray()

    async def drain() -> None:
        # Read to its end: a command must not block on a full pipe.
        while process.stdout is not None and (part := await process.stdout.read(65_536)):
            printed.extend(part[: MAX_PRINTED - len(printed)])

    draining = asyncio.create_task(drain(), name="output of the ask command")
    try:
        # Until the command ends, and not its output: something that it left running may hold the pipe open.
        code = await process.wait()
        await asyncio.wait((draining,), timeout=0.2)
        return code, bytes(printed)
    finally:
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)
