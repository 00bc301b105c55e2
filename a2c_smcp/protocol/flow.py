"""Flows and their two drivers.

A flow is a generator that yields effects and receives their answers. The same flow runs in a thread (`run`) and in an
event loop (`run_async`): the rules exist once, the waiting twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeAlias, TypeVar

BackendT = TypeVar("BackendT", contravariant=True)
AnswerT = TypeVar("AnswerT")
ResultT = TypeVar("ResultT")

MaybeAwaitable: TypeAlias = AnswerT | Awaitable[AnswerT]


class Effect(Generic[BackendT, AnswerT]):
    """Something a flow asks of the backend. `answer = yield from effect` is how a flow asks."""

    __slots__ = ()

    def perform(self, backend: BackendT) -> MaybeAwaitable[AnswerT]:
        """Do it. A blocking backend returns the answer, an asynchronous one may return an awaitable of it."""
        raise TypeError(f"{type(self).__name__} does not say how it is performed")

    def __iter__(self) -> Generator[Effect[BackendT, Any], Any, AnswerT]:
        return (yield self)


Flow: TypeAlias = Generator[Effect[BackendT, Any], Any, ResultT]


def run(flow: Flow[BackendT, ResultT], backend: BackendT) -> ResultT:
    """Run a flow to its end in a blocking backend."""
    advance: Callable[[Any], Effect[BackendT, Any]] = flow.send
    value: Any = None
    while True:
        try:
            effect = advance(value)
        except StopIteration as end:
            return end.value
        try:
            advance, value = flow.send, effect.perform(backend)
        except BaseException as error:  # handed to the flow, which owns the decision; a cancellation as well
            advance, value = flow.throw, error


async def run_async(flow: Flow[BackendT, ResultT], backend: BackendT) -> ResultT:
    """Run a flow to its end in an asynchronous backend."""
    advance: Callable[[Any], Effect[BackendT, Any]] = flow.send
    value: Any = None
    while True:
        try:
            effect = advance(value)
        except StopIteration as end:
            return end.value
        try:
            answer: Any = effect.perform(backend)
            if hasattr(answer, "__await__"):
                answer = await answer
            advance, value = flow.send, answer
        except BaseException as error:  # handed to the flow, which owns the decision; a cancellation as well
            advance, value = flow.throw, error
