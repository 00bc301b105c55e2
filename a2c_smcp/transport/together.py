"""Flows that run at the same time, and work beside them; in tasks or in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from a2c_smcp.protocol.client_effects import ClientBackend
from a2c_smcp.protocol.flow import Flow, run, run_async
from a2c_smcp.utils.threads import side_by_side

T = TypeVar("T")


async def together_async(flows: Sequence[Flow[ClientBackend, None]], backend: ClientBackend) -> None:
    """Run flows in tasks. The first error of one is raised, after the others were cancelled."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for flow in flows:
                tasks.create_task(run_async(flow, backend))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


def together(flows: Sequence[Flow[ClientBackend, None]], backend: ClientBackend) -> None:
    """Run flows in threads. After an error or Ctrl-C, they go on until they end by themselves."""
    side_by_side([partial(run, flow, backend) for flow in flows])


async def beside_async(function: Callable[[], T]) -> T:
    """Call a function in a thread."""
    return await asyncio.to_thread(function)


def beside(function: Callable[[], T]) -> T:
    """Call a function: a blocking client has no event loop that it could delay."""
    return function()
