"""`a2c agent`: the prompt."""

from __future__ import annotations

import contextlib
import logging
import re
import shlex
import sys
from collections.abc import AsyncGenerator, Awaitable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from a2c_smcp.cli.agent import one_shot
from a2c_smcp.cli.agent.address_completion import addresses
from a2c_smcp.cli.agent.session import Session
from a2c_smcp.cli.console import Console, Pipe, Terminal, history_file
from a2c_smcp.cli.shell import CommandShell, UsageError, commands_of, usage_of
from a2c_smcp.errors import TimedOutError
from a2c_smcp.utils.system.terminals import split_words
from a2c_smcp.utils.text import printable

if TYPE_CHECKING:
    from a2c_smcp.cli.agent.output import Output

CALL_SECONDS = 600
GREETING_SECONDS = 1.0
COMPLETION_SECONDS = 3.0

_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$))+""")
"""A word as `shlex` reads it, the last of which may not be finished."""


async def converse(session: Session) -> int:
    """Take commands until the person leaves."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        shell = Shell(session, Pipe())
        await shell.take_commands()
        return 1 if shell.failed else 0
    names = printable(", ".join(session.agent.computers)) or "nobody else yet"
    print(f"In office {session.options.office} as {session.agent.name}, with {names}.")
    print("Type help for the commands, Ctrl-D to leave.")
    if session.options.log_level is None:  # that the connection is back is worth as much as that it was lost
        logging.getLogger("a2c_smcp.protocol.seat").setLevel(logging.INFO)
    with contextlib.suppress(TimedOutError):
        await session.agent.wait_for(timeout=GREETING_SECONDS)  # so that the first Tab knows their tools
    history = history_file("agent", lambda line: "{" in line or "=" in line)
    await Shell(session, Terminal(f"{session.agent.name}> ", AgentCompleter(session), history)).take_commands()
    return 0


class Shell(CommandShell):
    """The commands of an Agent."""

    def __init__(self, session: Session, console: Console) -> None:
        super().__init__(console)
        self._visit = session

    async def _do(self, work: Awaitable[int]) -> None:
        self.failed |= await work != 0

    async def do_computers(self) -> None:
        """computers
        Who is in the office."""
        await self._do(one_shot.computers(self._visit, False))

    async def do_tools(self, computer: str | None = None, tool: str | None = None) -> None:
        """tools [COMPUTER [TOOL]]
        The tools of all Computers, or of one; or one tool with its parameters."""
        await self._do(one_shot.tools(self._visit, computer, tool, False))

    async def do_call(self, computer: str, tool: str, *arguments: str) -> None:
        """call COMPUTER TOOL [KEY=VALUE…|JSON] [-o FILE]
        Call a tool; -o writes its pictures and files."""
        words, output = self._output(arguments, self.do_call)
        work = one_shot.call(self._visit, computer, tool, words, None, CALL_SECONDS, output, False)
        await self._do(work)

    async def do_desktop(self, *words: str) -> None:
        """desktop [COMPUTER] [SIZE]
        What the windows show."""
        sizes = [int(word) for word in words if word.isdecimal()]
        names = [word for word in words if not word.isdecimal()]
        if len(sizes) > 1 or len(names) > 1:
            raise UsageError("usage: " + usage_of(self.do_desktop))
        computer, size = names[0] if names else None, sizes[0] if sizes else None
        await self._do(one_shot.desktop(self._visit, computer, size, None, False))

    async def do_finder(self, *words: str) -> None:
        """finder [KEYWORD…] [--type TYPE] [--all]
        The documents that match."""
        keywords, file_type = _without_option([word for word in words if word != "--all"], ("--type",), self.do_finder)
        await self._do(one_shot.finder(self._visit, None, keywords or None, file_type, "--all" in words, False))

    async def do_read(self, address: str, *words: str) -> None:
        """read ADDRESS|TITLE [-o FILE]
        A document, page, element, window or any other resource."""
        rest, output = self._output(words, self.do_read)
        if rest:
            raise UsageError("usage: " + usage_of(self.do_read))
        await self._do(one_shot.read(self._visit, None, address, False, output, False))

    async def do_tree(self, address: str) -> None:
        """tree ADDRESS|TITLE
        A document as a tree."""
        await self._do(one_shot.tree(self._visit, None, address, False))

    def _output(self, words: Sequence[str], command: Any) -> tuple[list[str], Output | None]:
        """The words without `-o FILE`, and where to write if it is there."""
        from a2c_smcp.cli.agent.output import Output

        rest, file = _without_option(words, ("-o", "--output"), command)
        return rest, Output(file) if file is not None else None

    async def do_templates(self, computer: str | None = None) -> None:
        """templates [COMPUTER]
        The resource templates of the MCP servers: which addresses can be read."""
        await self._do(one_shot.templates(self._visit, computer, None, False))

    async def do_config(self, computer: str) -> None:
        """config COMPUTER
        A Computer's configuration, without its secrets."""
        await self._do(one_shot.config(self._visit, computer))

    async def do_watch(self) -> None:
        """watch
        What changes, as it comes; Ctrl-C ends it."""
        await one_shot.watch(self._visit, None, False)


def _without_option(words: Sequence[str], names: Sequence[str], command: Any) -> tuple[list[str], str | None]:
    """The other words, and the one that follows the option.

    Raises:
        UsageError: nothing follows it.
    """
    at = next((number for number, word in enumerate(words) if word in names), None)
    if at is None:
        return list(words), None
    if at + 1 == len(words):
        raise UsageError("usage: " + usage_of(command))
    return [*words[:at], *words[at + 2 :]], words[at + 1]


class AgentCompleter(Completer):
    """Commands, then what the command is about: Computers, tools and their parameters, documents and their pages."""

    def __init__(self, session: Session) -> None:
        self._visit = session

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        """What could stand at the cursor; addresses are asked for."""
        before, typed = _words(document.text_before_cursor)
        if before in (["read"], ["tree"]):
            agent, start = self._visit.agent, _unquoted(typed)
            found = await addresses(self._visit, start, agent.computers, COMPLETION_SECONDS)
            for completion in _completions(typed, found):
                yield completion
        for completion in self.get_completions(document, complete_event):
            yield completion

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What could stand at the cursor, as far as that is known here."""
        before, typed = _words(document.text_before_cursor)
        return _completions(typed, self._choices(before))

    def _choices(self, before: list[str]) -> Iterable[str]:
        agent = self._visit.agent
        match before:
            case []:
                return [*(usage_of(command).split()[0] for command in commands_of(Shell)), "quit"]
            case ["tools" | "call" | "desktop" | "config" | "templates"]:
                return agent.computers
            case ["call" | "tools", computer]:
                return [tool["name"] for tool in agent.tools.get(computer, [])]
            case ["call", computer, name, *_]:
                schemas = [tool["params_schema"] for tool in agent.tools.get(computer, []) if tool["name"] == name]
                properties: Any = schemas[0].get("properties") if schemas else None
                return [f"{each}=" for each in cast("dict[str, Any]", properties or {})]
            case ["finder", *_]:
                return ["--type", "--all"]
            case _:
                return []


def _words(line: str) -> tuple[list[str], str]:
    """The words before the cursor, and the one that is being typed, as it is typed."""
    found = list(_WORD.finditer(line))
    typed = found.pop()[0] if found and found[-1].end() == len(line) else ""
    return [_unquoted(word[0]) for word in found], typed


def _unquoted(word: str) -> str:
    try:
        return "".join(split_words(word))
    except ValueError:  # the quotation is not closed yet
        return word.lstrip("'\"")


def _completions(typed: str, choices: Iterable[str]) -> Iterable[Completion]:
    """Those that begin like what is typed, written so that they are one word."""
    start = _unquoted(typed)
    for word in choices:
        if word.startswith(start):
            yield Completion(shlex.quote(word), start_position=-len(typed), display=printable(word))
