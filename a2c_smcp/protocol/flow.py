"""Flows and their two drivers.

A flow is a generator that yields effects and receives their answers. The same flow runs in a thread (`run`) and in an
event loop (`run_async`): the rules exist once, the waiting twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeAlias, TypeVar

WorldT = TypeVar("WorldT")
AnswerT = TypeVar("AnswerT")
ResultT = TypeVar("ResultT")

MaybeAwaitable: TypeAlias = AnswerT | Awaitable[AnswerT]


class Effect(Generic[WorldT, AnswerT]):
    """Something a flow asks of the world. `answer = yield from effect` is how a flow asks."""

    __slots__ = ()

    def perform(self, world: WorldT) -> MaybeAwaitable[AnswerT]:
        """Do it. A blocking world returns the answer, an asynchronous one may return an awaitable of it."""
        raise TypeError(f"{type(self).__name__} does not say how it is performed")

    def __iter__(self) -> Generator[Effect[WorldT, Any], Any, AnswerT]:
        return (yield self)


class Do(Effect[Any, Any]):
    """Call a function that may or may not have to be awaited; a flow that uses it needs no world of its own."""

    __slots__ = ("_args", "_function")

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self._function = function
        self._args = args

    def perform(self, world: Any) -> Any:
        """Call it."""
        return self._function(*self._args)


Flow: TypeAlias = Generator[Effect[WorldT, Any], Any, ResultT]


def run(flow: Flow[WorldT, ResultT], world: WorldT) -> ResultT:
    """Run a flow to its end in a blocking world."""
    advance: Callable[[Any], Effect[WorldT, Any]] = flow.send
    value: Any = None
    while True:
        try:
            effect = advance(value)
        except StopIteration as end:
            return end.value
        try:
            advance, value = flow.send, effect.perform(world)
        except BaseException as error:  # handed to the flow, which owns the decision; a cancellation as well
            advance, value = flow.throw, error


async def run_async(flow: Flow[WorldT, ResultT], world: WorldT) -> ResultT:
    """Run a flow to its end in an asynchronous world."""
    advance: Callable[[Any], Effect[WorldT, Any]] = flow.send
    value: Any = None
    while True:
        try:
            effect = advance(value)
        except StopIteration as end:
            return end.value
        try:
            answer: Any = effect.perform(world)
            if hasattr(answer, "__await__"):
                answer = await answer
            advance, value = flow.send, answer
        except BaseException as error:  # handed to the flow, which owns the decision; a cancellation as well
            advance, value = flow.throw, error
