"""`a2c computer --no-interactive`: starts, joins, logs, and ends in good order on a signal."""

from __future__ import annotations

import asyncio
import logging
import signal

from a2c_smcp.cli.computer.host import Host, NotAllowed
from a2c_smcp.computer.types import ServerState

logger = logging.getLogger("a2c.computer")


async def serve(host: Host) -> int:
    """Run until SIGTERM or SIGINT; the exit code."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    stop = asyncio.ensure_future(stopped.wait())
    work = asyncio.ensure_future(_work(host))
    try:
        await asyncio.wait((stop, work), return_when=asyncio.FIRST_COMPLETED)
        if work.done() and not stopped.is_set():
            work.result()
            await stop
    except NotAllowed as error:
        logger.error("%s", error)
        return 1
    finally:
        stop.cancel()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    logger.info("stopping")
    return 0


async def _work(host: Host) -> None:
    options, computer = host.options, host.computer
    joining = None
    if options.url is not None and options.office is not None:
        joining = asyncio.create_task(host.join(options.url, options.office))
    try:
        await computer.boot_up()
        ready = [status for status in computer.status if status.state is ServerState.READY]
        total = sum(status.tools for status in ready)
        logger.info("%d of %d MCP servers ready, %d tools", len(ready), len(computer.status), total)
        if joining is not None:
            await joining
    finally:
        if joining is not None:
            joining.cancel()
            await asyncio.gather(joining, return_exceptions=True)
