"""Lines from a person at a terminal, or from a pipe; and questions that interrupt the prompt."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.patch_stdout import patch_stdout

from a2c_smcp.cli.errors import Interrupted
from a2c_smcp.utils.system.paths import state_folder
from a2c_smcp.utils.system.signals import on_signals
from a2c_smcp.utils.threads import in_thread

T = TypeVar("T")


def prompt_session(*arguments: Any, **options: Any) -> PromptSession[str]:
    """A prompt that remembers nothing unless told to."""
    options.setdefault("history", InMemoryHistory())
    return PromptSession(*arguments, interrupt_exception=Interrupted, **options)


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
        line = await in_thread(sys.stdin.readline)
        return line if line else None

    async def attend(self, work: Awaitable[T]) -> T:
        """Wait for work."""
        return await work


class Terminal:
    """A prompt with completion and history. A question takes its place; what was typed so far comes back after it."""

    def __init__(self, prompt: str, completer: Completer, history: History) -> None:
        self._session = prompt_session(prompt, completer=completer, history=history, complete_while_typing=False)
        self._draft = ""
        self._questions: asyncio.Queue[_Question] = asyncio.Queue()

    async def interrupt(
        self, ask: Callable[[], Awaitable[T]], why_withdrawn: Callable[[], str] = lambda: "no answer is needed any more"
    ) -> T:
        """Ask something as soon as the terminal is free, and wait for the answer. A question that nobody waits for any
        more is withdrawn; a person who sees it is told why.

        Raises:
            Interrupted: the person does not want to answer.
        """
        question = _Question(ask, why_withdrawn)
        await self._questions.put(question)
        try:
            return await question.answered
        finally:
            question.withdraw()

    def drop_typed_ahead(self) -> None:
        """Forget the keys that were typed and not read yet."""
        clear_typeahead(self._session.input)
        with self._session.input.raw_mode():  # else the terminal keeps a line that has no end yet
            self._session.input.read_keys()

    async def read(self) -> str | None:
        """The next line."""
        while True:
            with patch_stdout(raw=True):  # what is written meanwhile appears above the prompt
                prompt = asyncio.ensure_future(self._session.prompt_async(default=self._draft))
                question = await self._question_before(prompt)
                is_interrupted = question is not None and self._take_away_prompt(prompt)
                await asyncio.wait((prompt,))
            if question is not None:
                await question.ask()
            if is_interrupted:
                prompt.exception()  # ours
                continue
            self._draft = ""
            try:
                return prompt.result()
            except EOFError:
                return None
            except Interrupted:
                continue

    def _take_away_prompt(self, prompt: asyncio.Future[str]) -> bool:
        """Make room for a question; False when the line has just been entered and is to be run after it."""
        application = self._session.app
        if prompt.done() or not application.is_running or (application.future and application.future.done()):
            return False
        self._draft = self._session.default_buffer.text
        application.exit(exception=Interrupted)
        return True

    async def attend(self, work: Awaitable[T]) -> T:
        """Wait for work, and ask what has to be asked meanwhile. Ctrl-C ends the work."""
        task = asyncio.ensure_future(work)
        while True:
            with on_signals([signal.SIGINT], task.cancel):  # anew each time: a prompt removes the handler when it ends
                question = await self._question_before(task)
            if question is None:
                break
            await question.ask()
        if task.cancelled():
            raise Interrupted
        return task.result()

    async def _question_before(self, task: asyncio.Future[Any]) -> _Question | None:
        """Wait for the task or a question, whichever comes first; the question, if it was one."""
        question = asyncio.ensure_future(self._questions.get())
        await asyncio.wait((task, question), return_when=asyncio.FIRST_COMPLETED)
        if question.done():
            return question.result()
        question.cancel()
        return None


class _Question:
    """Something to be asked; whoever wants to know may take it back."""

    def __init__(self, ask: Callable[[], Awaitable[Any]], why_withdrawn: Callable[[], str]) -> None:
        self._ask = ask
        self._why_withdrawn = why_withdrawn
        self._asking: asyncio.Future[Any] | None = None
        self._withdrawn = False
        self.answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def ask(self) -> None:
        """Ask, unless nobody wants to know any more."""
        if self._withdrawn:
            return
        self._asking = asyncio.ensure_future(self._ask())
        await asyncio.wait((self._asking,))
        if self._asking.cancelled():
            print(f"({self._why_withdrawn()})")
        elif not self.answered.done():
            error = self._asking.exception()
            if error is None:
                self.answered.set_result(self._asking.result())
            else:
                self.answered.set_exception(Interrupted() if isinstance(error, EOFError) else error)

    def withdraw(self) -> None:
        """Nobody waits for the answer."""
        self._withdrawn = True
        if self._asking is not None:
            self._asking.cancel()


def history_file(name: str, is_secret: Callable[[str], bool]) -> History:
    """What was typed, kept for the next time; lines that may hold a secret are not written down."""
    folder = state_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = folder / f"{name}-history"
        os.close(os.open(file, os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return _DiscreetHistory(str(file), is_secret)


class _DiscreetHistory(FileHistory):
    def __init__(self, file: str, is_secret: Callable[[str], bool]) -> None:
        super().__init__(file)
        self._is_secret = is_secret

    def store_string(self, string: str) -> None:
        if not self._is_secret(string):
            super().store_string(string)
