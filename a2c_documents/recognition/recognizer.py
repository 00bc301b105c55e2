"""The process that recognizes text: one at a time, within limits of time and memory, and only while it is needed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from a2c_documents.recognition.answers import InvalidAnswerError, RefusedError, checked
from a2c_documents.workers.child import Child
from a2c_documents.workers.failures import Cause, ReadingFailed

SECONDS = 120.0
"""For one piece of a picture, with the start of the process. It takes seconds, but gives way to all other programs."""
MEMORY_BYTES = 3_000_000_000
IDLE_SECONDS = 60.0
"""After which the process is ended: it holds more than a gigabyte."""
PRIVATE = {"ORT_DISABLE_TELEMETRY": "1"}
"""The environment in which onnxruntime reports nothing to its makers and keeps no id of the machine. It reads this when
it is imported."""
_WATCH_SECONDS = 0.25


class Recognizer:
    """A program that reads pictures. `key` changes when it would read them differently."""

    def __init__(
        self,
        command: Sequence[str],
        key: str,
        seconds: float = SECONDS,
        memory_bytes: int = MEMORY_BYTES,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.key = key
        self._program = command[0]
        self._child = Child(command, PRIVATE)
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._idle_seconds = idle_seconds
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a process."""
        return self._child.is_running

    async def read(self, picture: str, mime_type: str) -> dict[str, Any]:
        """The `lines` and `rules` of a picture, which is given in base64.

        Raises:
            ReadingFailed: the recognizer cannot be started, or crashed, or takes too long, or gives a reason.
        """
        async with self._turn:
            self._stay()
            request = json.dumps({"picture": picture, "type": mime_type}).encode()
            watching = asyncio.create_task(self._bound_memory())
            try:
                async with asyncio.timeout(self._seconds):
                    if not self._child.is_running:
                        await self._start()
                    await self._child.write(request)
                    return checked(await self._child.read())
            except RefusedError as error:
                raise ReadingFailed(str(error), Cause.FILE if error.is_final else Cause.MACHINE) from None
            except BaseException as error:
                # Also if the request was cancelled: its answer is still to come, and would be taken for the next one.
                was_stopped = self._child.is_stopped
                await self._child.end()
                if (problem := self._problem(error, was_stopped=was_stopped)) is not None:
                    raise ReadingFailed(problem, Cause.UNCLEAR) from None
                raise
            finally:
                watching.cancel()
                self._rest()

    async def _start(self) -> None:
        await self._child.end()
        try:
            await self._child.start()
        except OSError as error:
            problem = f"the recognizer {self._program} cannot be started: {error.strerror or error}"
            raise ReadingFailed(problem, Cause.MACHINE) from None

    def _problem(self, error: BaseException, *, was_stopped: bool) -> str | None:
        if was_stopped:
            return f"recognizing it takes more than {self._memory_bytes / 1e9:.1f} GB of memory"
        if isinstance(error, TimeoutError):
            return f"recognizing it takes more than {self._seconds:.0f} seconds"
        if isinstance(error, InvalidAnswerError):
            return f"the recognizer gave an invalid answer: {error}"
        # A ValueError: the answer is longer than a line may be.
        return "the recognizer crashed at it" if isinstance(error, OSError | ValueError) else None

    async def _bound_memory(self) -> None:
        """End the process when it uses too much. Its own limit counts reserved memory, and other programs have none."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            if self._child.memory_bytes > self._memory_bytes:
                self._child.stop()

    def _stay(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rest(self) -> None:
        self._stay()
        self._timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._begin_end)

    def _begin_end(self) -> None:
        self._ending = asyncio.create_task(self._end())

    async def _end(self) -> None:
        async with self._turn:
            await self._child.end()

    async def close(self) -> None:
        """Kill the process."""
        self._stay()
        # Not cancelled: a process has to be waited for after it was killed.
        if self._ending is not None:
            await self._ending
        await self._child.end()
