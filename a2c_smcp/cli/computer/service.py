"""`a2c computer --no-interactive`: runs a Computer as a service until a signal stops it."""

from __future__ import annotations

import asyncio
import logging

from a2c_smcp.cli.computer.host import Host, NotAllowed
from a2c_smcp.cli.computer.reloading import log_ready
from a2c_smcp.cli.running import on_hangup, on_stop_signal

logger = logging.getLogger("a2c.computer")


async def serve(host: Host) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code. SIGHUP reloads the configuration."""
    stopped = asyncio.Event()
    with on_stop_signal(stopped.set, with_hangup=False), on_hangup(host.reload, stopped.set):
        async with host.open_to_owner() as owner:
            if owner.url is not None:
                logger.info("the owner's API: %s", owner.url)
            return await _serve_until(stopped, host)


async def _serve_until(stopped: asyncio.Event, host: Host) -> int:
    stop = asyncio.ensure_future(stopped.wait())
    work = asyncio.ensure_future(_work(host))
    return_code = 0
    try:
        await asyncio.wait((stop, work), return_when=asyncio.FIRST_COMPLETED)
        # After the start there is nothing to do but wait: for a signal, or for the Server to reject a reconnection.
        if work.done() and not stopped.is_set():
            work.result()
            refused = asyncio.ensure_future(host.is_refused.wait())
            await asyncio.wait((stop, refused), return_when=asyncio.FIRST_COMPLETED)
            refused.cancel()
            if host.refusal is not None:
                raise host.refusal
    except* NotAllowed as refusals:  # a group, because it may come from the TaskGroup of `_work`
        logger.error("%s", refusals.exceptions[0])
        return_code = 1
    finally:
        stop.cancel()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    logger.info("stopping")
    return return_code


async def _work(host: Host) -> None:
    """Start the servers and join the office."""
    # Concurrently, so that a wrong key ends the service at once and not after a minute of starting servers.
    async with asyncio.TaskGroup() as tasks:
        if host.options.url is not None and host.options.office is not None:
            tasks.create_task(host.join(host.options.url, host.options.office))
        await host.computer.boot_up()
        log_ready(host.computer)
