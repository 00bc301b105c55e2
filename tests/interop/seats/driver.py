"""What the programs of all seats share: commands come as lines of JSON, and answers go out the same way.

A command is `{"id", "on", "do", "args", "kwargs", "aside"}`: call the method `do` of the object that an earlier command
named `on`, in a thread if `aside`. Without `on`, the program itself does it. The answer is `{"id", "result"}` or
`{"id", "error": {"type", "text", "code"}}`. What an object hears is `{"heard": [name, what, data]}`.

The programs run on every release of the official SDK, and on ours. They use only what all of them have.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import sys
import threading
from collections.abc import Iterable
from typing import Any, cast

OUT = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # a library that prints must not end up among the answers
_writing = threading.Lock()


def say(**line: Any) -> None:
    """Write one line, from any thread."""
    text = json.dumps(line, default=_plain)
    with _writing:
        OUT.write(f"{text}\n")
        OUT.flush()


class Driver:
    """The objects of a seat, by name. A subclass makes them in methods that begin with `make_`."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Carry out commands, all at once, until standard input ends."""
        loop = asyncio.get_running_loop()
        commands: asyncio.Queue[str] = asyncio.Queue()

        def read() -> None:
            for line in sys.stdin:
                loop.call_soon_threadsafe(commands.put_nowait, line)
            loop.call_soon_threadsafe(commands.put_nowait, "")

        threading.Thread(target=read, daemon=True).start()
        say(ready=True)
        while line := await commands.get():
            task = asyncio.create_task(self._carry_out(json.loads(line)))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _carry_out(self, command: dict[str, Any]) -> None:
        try:
            result = await self._do(command)
        except BaseException as error:
            say(id=command["id"], error=_described(error))
        else:
            say(id=command["id"], result=result)

    async def _do(self, command: dict[str, Any]) -> Any:
        target = self.objects[command["on"]] if "on" in command else self
        method = target
        for name in command["do"].split("."):
            method = getattr(method, name)
        args, kwargs = command.get("args", ()), command.get("kwargs", {})
        if not callable(method):
            return method
        if command.get("aside"):
            return await asyncio.to_thread(method, *args, **kwargs)
        result = method(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result


def start(driver: Driver) -> None:
    """Run a seat. Its process ends with standard input, whatever its threads do."""
    logging.disable(logging.ERROR)
    asyncio.run(driver.run())
    OUT.flush()
    os._exit(0)


def _described(error: BaseException) -> dict[str, Any]:
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    codes = [code for each in causes if isinstance(code := getattr(each, "code", None), int)]
    return {"type": type(error).__name__, "text": str(error)[:500], "code": codes[0] if codes else None}


def _plain(value: Any) -> Any:
    """A value as JSON has it; models by the names of the wire."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, bytes | set | frozenset | tuple):
        return list(cast("Iterable[Any]", value))
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    return str(value)
