"""Commands from a terminal or a pipe, and questions that interrupt the prompt."""

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
    """A prompt without history, unless `history` is given."""
    options.setdefault("history", InMemoryHistory())
    return PromptSession(*arguments, interrupt_exception=Interrupted, **options)


class Console(Protocol):
    """A source of commands."""

    async def read(self) -> str | None:
        """The next line; None at the end of input."""
        ...

    async def attend(self, work: Awaitable[T]) -> T:
        """Wait for the work of a command. Questions may interrupt it."""
        ...


class Pipe:
    """Commands from a file or another program. It answers no questions."""

    async def read(self) -> str | None:
        """The next line."""
        # In a thread: standard input may be a regular file, which no event loop can wait for.
        line = await in_thread(sys.stdin.readline)
        return line if line else None

    async def attend(self, work: Awaitable[T]) -> T:
        """Wait for work."""
        return await work


class Terminal:
    """A prompt with completion and history. A question replaces the prompt; afterwards, the typed text is back."""

    def __init__(self, prompt: str, completer: Completer, history: History) -> None:
        self._session = prompt_session(prompt, completer=completer, history=history, complete_while_typing=False)
        self._draft = ""
        self._questions: asyncio.Queue[_Question] = asyncio.Queue()

    async def interrupt(
        self, ask: Callable[[], Awaitable[T]], why_withdrawn: Callable[[], str] = lambda: "no answer is needed any more"
    ) -> T:
        """Ask a question as soon as the terminal is free, and wait for the answer. If this call is cancelled, the
        question is withdrawn, and the person sees the reason.

        Raises:
            Interrupted: the person pressed Ctrl-C or Ctrl-D.
        """
        question = _Question(ask, why_withdrawn)
        await self._questions.put(question)
        try:
            return await question.answered
        finally:
            question.withdraw()

    def drop_typed_ahead(self) -> None:
        """Discard keys that were typed and not read yet."""
        # Such keys are in two places: in prompt_toolkit, which keeps what the last prompt read too much, and in the
        # terminal. Outside raw mode the terminal gives only whole lines, and would keep a line without its Enter.
        clear_typeahead(self._session.input)
        with self._session.input.raw_mode():
            self._session.input.read_keys()

    async def read(self) -> str | None:
        """The next line."""
        while True:
            with patch_stdout(raw=True):  # output of background work appears above the prompt
                prompt = asyncio.ensure_future(self._session.prompt_async(default=self._draft))
                question = await self._question_before(prompt)
                is_interrupted = question is not None and self._take_away_prompt(prompt)
                await asyncio.wait((prompt,))
            if question is not None:
                await question.ask()
            if is_interrupted:
                prompt.exception()  # set by `_take_away_prompt`; unread, asyncio would log it
                continue
            self._draft = ""
            try:
                return prompt.result()
            except EOFError:
                return None
            except Interrupted:
                continue

    def _take_away_prompt(self, prompt: asyncio.Future[str]) -> bool:
        """Close the prompt for a question; False if a line has just been entered, which runs after the question."""
        # Enter and the question may coincide. After Enter the application has its result, although it may still be
        # running, and `exit` would raise: it can end only once.
        application = self._session.app
        if prompt.done() or not application.is_running or (application.future and application.future.done()):
            return False
        self._draft = self._session.default_buffer.text
        application.exit(exception=Interrupted)
        return True

    async def attend(self, work: Awaitable[T]) -> T:
        """Wait for work, and ask questions that come up. Ctrl-C cancels the work."""
        task = asyncio.ensure_future(work)
        while True:
            # Installed again after each question: the prompt of a question removes the handler when it ends.
            with on_signals([signal.SIGINT], task.cancel):
                question = await self._question_before(task)
            if question is None:
                break
            await question.ask()
        if task.cancelled():
            raise Interrupted
        return task.result()

    async def _question_before(self, task: asyncio.Future[Any]) -> _Question | None:
        """Wait for the task or a question; returns the question if it came first."""
        question = asyncio.ensure_future(self._questions.get())
        await asyncio.wait((task, question), return_when=asyncio.FIRST_COMPLETED)
        # If both are done, the question counts: `get` has removed it from the queue, and it would be lost.
        if question.done():
            return question.result()
        question.cancel()
        return None


class _Question:
    """A question that can be withdrawn."""

    def __init__(self, ask: Callable[[], Awaitable[Any]], why_withdrawn: Callable[[], str]) -> None:
        self._ask = ask
        self._why_withdrawn = why_withdrawn
        self._asking: asyncio.Future[Any] | None = None
        self._withdrawn = False
        self.answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def ask(self) -> None:
        """Ask, unless the question was withdrawn."""
        if self._withdrawn:
            return
        # A task of its own, so that `withdraw` cancels only the question, and not the console that asks it.
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
        """Take the question back."""
        self._withdrawn = True
        if self._asking is not None:
            self._asking.cancel()


def history_file(name: str, is_secret: Callable[[str], bool]) -> History:
    """The history of a prompt, kept in a file. Lines for which `is_secret` is true are not written."""
    folder = state_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = folder / f"{name}-history"
        # Created here with its mode: prompt_toolkit would create it with the user's umask, often readable for all.
        os.close(os.open(file, os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:  # a home that is read-only or missing must not prevent the prompt
        return InMemoryHistory()
    return _DiscreetHistory(str(file), is_secret)


class _DiscreetHistory(FileHistory):
    def __init__(self, file: str, is_secret: Callable[[str], bool]) -> None:
        super().__init__(file)
        self._is_secret = is_secret

    def store_string(self, string: str) -> None:
        if not self._is_secret(string):
            super().store_string(string)
