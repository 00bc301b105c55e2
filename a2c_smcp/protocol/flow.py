"""Flows and their two drivers.

A flow is a generator that yields effects and receives their answers. A backend performs the effects. The same flow
runs in a thread (`run`) and in an event loop (`run_async`): a rule is written once, and only the waiting twice.

The Server has a third driver (`server/flow_runner.py`), which keeps neither a thread nor a task while a flow waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeAlias, TypeVar

BackendT = TypeVar("BackendT", contravariant=True)
AnswerT = TypeVar("AnswerT")
ResultT = TypeVar("ResultT")

MaybeAwaitable: TypeAlias = AnswerT | Awaitable[AnswerT]


class Effect(Generic[BackendT, AnswerT]):
    """An operation that a flow asks for: `answer = yield from effect`. The backend of the flow performs it."""

    __slots__ = ()

    def perform(self, backend: BackendT) -> MaybeAwaitable[AnswerT]:
        """Perform the effect. A blocking backend returns the answer; an asynchronous one may return an awaitable."""
        raise TypeError(f"{type(self).__name__} does not define perform()")

    # A flow writes `yield from effect`, because the type of that expression is the return type of this generator: the
    # type checker knows the answer of each effect. The type of a plain `yield effect` is Any for all of them.
    def __iter__(self) -> Generator[Effect[BackendT, Any], Any, AnswerT]:
        return (yield self)


Flow: TypeAlias = Generator[Effect[BackendT, Any], Any, ResultT]


def run(flow: Flow[BackendT, ResultT], backend: BackendT) -> ResultT:
    """Run a flow to its end with a blocking backend."""
    advance: Callable[[Any], Effect[BackendT, Any]] = flow.send
    value: Any = None
    while True:
        try:
            effect = advance(value)
        except StopIteration as end:
            return end.value
        try:
            advance, value = flow.send, effect.perform(backend)
        # Every error goes into the flow, also KeyboardInterrupt: a flow may have something to undo, such as a call to
        # cancel at the Computer, and it may need further effects to do so.
        except BaseException as error:
            advance, value = flow.throw, error


async def run_async(flow: Flow[BackendT, ResultT], backend: BackendT) -> ResultT:
    """Run a flow to its end with an asynchronous backend."""
    advance: Callable[[Any], Effect[BackendT, Any]] = flow.send
    value: Any = None
    while True:
        try:
            effect = advance(value)
        except StopIteration as end:
            return end.value
        try:
            answer: Any = effect.perform(backend)
            # Not `inspect.isawaitable`, which takes six times as long; most effects answer without waiting.
            if hasattr(answer, "__await__"):
                answer = await answer
            advance, value = flow.send, answer
        except BaseException as error:  # into the flow, as above; here the cancellation of a task as well
            advance, value = flow.throw, error
