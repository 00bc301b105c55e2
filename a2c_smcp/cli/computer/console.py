"""Lines from a person at a terminal, or from a pipe; and questions that interrupt the prompt."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application
from prompt_toolkit.completion import Completer, WordCompleter
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from a2c_smcp.computer.mcp_clients.model import (
    MCPServerCommandInput,
    MCPServerInput,
    MCPServerPickStringInput,
)

T = TypeVar("T")


class Questions:
    """Asks for inputs at a terminal, one at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def ask(self, wanted: MCPServerInput) -> str | None:
        """What the person says; None when they press Ctrl-C or Ctrl-D."""
        async with self._turn:
            try:
                return await self._ask(wanted)
            except (EOFError, KeyboardInterrupt):
                return None

    async def _ask(self, wanted: MCPServerInput) -> str | None:
        if isinstance(wanted, MCPServerCommandInput):
            return None
        label = f"{wanted.description or wanted.id} [{wanted.id}]"
        default = wanted.default or ""
        if isinstance(wanted, MCPServerPickStringInput):
            return await self._pick(label, wanted.options, default)
        secret = bool(wanted.password)
        hint = f" ({default})" if default and not secret else ""
        session: PromptSession[str] = PromptSession(history=InMemoryHistory())
        answer = await session.prompt_async(f"{label}{hint}: ", is_password=secret)
        return answer or None

    async def _pick(self, label: str, options: list[str], default: str) -> str | None:
        print(f"{label}:")
        for number, option in enumerate(options, 1):
            print(f"  {number}. {option}{'  (default)' if option == default else ''}")
        session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(), completer=WordCompleter(options, sentence=True)
        )
        while True:
            answer = (await session.prompt_async("number or text: ")).strip()
            if not answer:
                return default or None
            if answer in options:
                return answer
            if answer.isdecimal() and 1 <= int(answer) <= len(options):
                return options[int(answer) - 1]
            print("that is none of them")


class Console(Protocol):
    """Where commands come from."""

    async def read(self) -> str | None:
        """The next line; None when there are no more."""
        ...

    async def attend(self, work: Awaitable[T]) -> T:
        """Wait for work, while questions may come up."""
        ...


class Pipe:
    """Commands from a file or another program. Nobody is there to answer questions."""

    async def read(self) -> str | None:
        """The next line."""
        line = await asyncio.to_thread(sys.stdin.readline)
        return line if line else None

    async def attend(self, work: Awaitable[T]) -> T:
        """Wait for work."""
        return await work


class Terminal:
    """A prompt with completion and history. A question takes its place; what was typed so far comes back after it."""

    def __init__(self, prompt: str, completer: Completer) -> None:
        self._session: PromptSession[str] = PromptSession(
            prompt, completer=completer, history=_history(), complete_while_typing=False
        )
        self._draft = ""
        self._questions: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()

    async def interrupt(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask something as soon as the terminal is free, and wait for the answer."""
        answered: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def question() -> None:
            try:
                answer = await ask()
            except (EOFError, KeyboardInterrupt):
                answered.cancel()
            except Exception as error:
                answered.set_exception(error)
            else:
                if not answered.done():
                    answered.set_result(answer)

        await self._questions.put(question)
        return await answered

    async def read(self) -> str | None:
        """The next line."""
        while True:
            prompt = asyncio.ensure_future(self._session.prompt_async(default=self._draft))
            if not await self._question_before(prompt):
                self._draft = ""
                try:
                    return prompt.result()
                except EOFError:
                    return None
                except KeyboardInterrupt:
                    continue

    async def attend(self, work: Awaitable[T]) -> T:
        """Wait for work, and ask what has to be asked meanwhile."""
        task = asyncio.ensure_future(work)
        while await self._question_before(task):
            pass
        return task.result()

    async def _question_before(self, task: asyncio.Future[Any]) -> bool:
        """Wait for the task or a question; whether it was a question, which has been asked then."""
        question = asyncio.ensure_future(self._questions.get())
        await asyncio.wait((task, question), return_when=asyncio.FIRST_COMPLETED)
        if not question.done():
            question.cancel()
            return False
        application: Application[str] = self._session.app
        if application.is_running and not task.done():
            self._draft = self._session.default_buffer.text
            application.exit(exception=EOFError)
            with contextlib.suppress(EOFError, KeyboardInterrupt):
                await task
        await question.result()()
        return True


def _history() -> History:
    folder = Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state")) / "a2c"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return FileHistory(str(folder / "computer-history"))
    except OSError:
        return InMemoryHistory()
