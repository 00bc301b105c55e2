"""Functions that are called with each event of one kind. One that fails is logged, and disturbs nobody else."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Listeners(Generic[T]):
    """The functions that listen. It is false while there are none, so that events can be left unmade."""

    def __init__(self) -> None:
        self._functions: list[Callable[[T], object]] = []

    def add(self, function: Callable[[T], object]) -> Callable[[], None]:
        """Call a function from now on; returns what ends that."""
        self._functions.append(function)
        return lambda: self._functions.remove(function) if function in self._functions else None

    def __call__(self, event: T) -> None:
        """Call all of them."""
        for function in tuple(self._functions):
            try:
                function(event)
            except Exception:  # a listener must not break what it listens to
                logger.exception("a listener failed")

    def __bool__(self) -> bool:
        return bool(self._functions)
