"""Signals that reach an event loop."""

from __future__ import annotations

import asyncio
import signal

import pytest

from a2c_smcp.utils.system.loops import new_event_loop
from a2c_smcp.utils.system.signals import STOP, on_signals, stop_this_process

LOOPS = [pytest.param(asyncio.new_event_loop, id="asyncio"), pytest.param(new_event_loop, id="ours")]


@pytest.mark.parametrize("loop_factory", LOOPS)
def test_each_signal_is_heard_on_the_loop(loop_factory: type[asyncio.AbstractEventLoop]) -> None:
    async def hear() -> int:
        heard = 0
        arrived = asyncio.Event()

        def callback() -> None:
            nonlocal heard
            assert asyncio.get_running_loop().is_running()
            heard += 1
            arrived.set()

        with on_signals([*STOP, None], callback):
            for number in STOP:
                arrived.clear()
                signal.raise_signal(number)
                await asyncio.wait_for(arrived.wait(), 10)
        return heard

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        assert runner.run(hear()) == len(STOP)


@pytest.mark.parametrize("loop_factory", LOOPS)
def test_a_loop_that_waits_for_nothing_else_wakes_up(loop_factory: type[asyncio.AbstractEventLoop]) -> None:
    async def hear() -> None:
        arrived = asyncio.Event()
        with on_signals([signal.SIGTERM], arrived.set):
            await asyncio.to_thread(stop_this_process)
            await asyncio.wait_for(arrived.wait(), 10)

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(hear())


def test_handlers_come_back_afterwards() -> None:
    async def use() -> None:
        with on_signals(STOP, lambda: None):
            pass

    before = [signal.getsignal(number) for number in STOP]
    asyncio.run(use())
    assert [signal.getsignal(number) for number in STOP] == before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    async def use() -> None:
        with on_signals([signal.SIGTERM], lambda: pytest.fail("it was to be ignored")):
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(0)

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        asyncio.run(use())
    finally:
        signal.signal(signal.SIGTERM, before)
