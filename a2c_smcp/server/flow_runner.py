"""The Server's driver of flows: it runs a flow until it has to wait, and resumes it when the answer arrives.

A flow that waits for a `Reply` keeps no task and no thread meanwhile, only its generator: ten thousand calls in flight
cost ten thousand small objects. The thread that settles the reply resumes the flow at once. Only a flow that waits
for a coroutine of the host program gets a task on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from a2c_smcp.protocol.flow import Flow
from a2c_smcp.server.reply import Reply

# The event loop has only weak references to its tasks. Without this set, one that waits could be collected.
_tasks: set[asyncio.Future[Any]] = set()


OnEnd: TypeAlias = Callable[[Any, BaseException | None], None]
"""Gets what a flow returned, or what it raised."""


def start(flow: Flow[Any, Any], backend: Any, on_end: OnEnd | None = None) -> None:
    """Run a flow; `on_end` gets what it returned or raised."""
    _Run(flow, backend, on_end).go(flow.send, None)


def run_blocking(flow: Flow[Any, Any], backend: Any) -> Any:
    """Run a flow and block this thread until it ends."""
    ended = Reply()

    def on_end(value: Any, error: BaseException | None) -> None:
        ended.set_result(value) if error is None else ended.set_exception(error)

    start(flow, backend, on_end)
    ended.wait()
    return ended.result()


class _Run:
    __slots__ = ("_backend", "_flow", "_on_end")

    def __init__(self, flow: Flow[Any, Any], backend: Any, on_end: Any) -> None:
        self._flow = flow
        self._backend = backend
        self._on_end = on_end

    def go(self, advance: Callable[[Any], Any], value: Any) -> None:
        # A loop, not recursion: a flow whose effects all answer at once would otherwise need a stack frame for each.
        flow, backend = self._flow, self._backend
        while True:
            try:
                effect = advance(value)
            except StopIteration as end:
                self._finish(end.value, None)
                return
            except BaseException as error:
                self._finish(None, error)
                return
            try:
                answer = effect.perform(backend)
            except BaseException as error:  # goes into the flow, which decides, as in `protocol.flow.run`
                advance, value = flow.throw, error
                continue
            if type(answer) is Reply:
                # If the reply is settled between the two lines, by another thread, `then` calls `_resume` at once.
                if not answer.done():
                    answer.then(self._resume)
                    return
                advance, value = _outcome(flow, answer)
            elif hasattr(answer, "__await__"):
                task = asyncio.ensure_future(answer)
                _tasks.add(task)
                task.add_done_callback(self._resume_task)
                return
            else:
                advance, value = flow.send, answer

    def _finish(self, value: Any, error: BaseException | None) -> None:
        if self._on_end is not None:
            self._on_end(value, error)
        elif error is not None:
            raise error

    def _resume(self, reply: Reply) -> None:
        self.go(*_outcome(self._flow, reply))

    def _resume_task(self, task: asyncio.Future[Any]) -> None:
        _tasks.discard(task)
        self.go(*_outcome(self._flow, task))


def _outcome(flow: Flow[Any, Any], answered: Reply | asyncio.Future[Any]) -> tuple[Callable[[Any], Any], Any]:
    try:
        return flow.send, answered.result()
    except BaseException as error:
        return flow.throw, error
