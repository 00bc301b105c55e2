"""`a2c agent`: the prompt."""

from __future__ import annotations

import contextlib
import logging
import re
import shlex
import sys
from collections.abc import AsyncGenerator, Awaitable, Iterable
from typing import Any, cast

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from a2c_smcp.cli.agent import one_shot
from a2c_smcp.cli.agent.addresses import addresses
from a2c_smcp.cli.agent.visit import Visit
from a2c_smcp.cli.console import Console, Pipe, Terminal, history_file
from a2c_smcp.cli.shell import CommandShell, UsageError, commands_of, usage_of
from a2c_smcp.errors import TimedOutError
from a2c_smcp.utils.text import printable

CALL_SECONDS = 600
GREETING_SECONDS = 1.0
COMPLETION_SECONDS = 3.0

_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$))+""")
"""A word as `shlex` reads it, the last of which may not be finished."""


async def converse(visit: Visit) -> int:
    """Take commands until the person leaves."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        shell = Shell(visit, Pipe())
        await shell.take_commands()
        return 1 if shell.failed else 0
    names = printable(", ".join(visit.agent.computers)) or "nobody else yet"
    print(f"In office {visit.options.office} as {visit.agent.name}, with {names}.")
    print("Type help for the commands, Ctrl-D to leave.")
    if visit.options.log_level is None:  # that the connection is back is worth as much as that it was lost
        logging.getLogger("a2c_smcp.protocol.client").setLevel(logging.INFO)
    with contextlib.suppress(TimedOutError):
        await visit.agent.wait_for(timeout=GREETING_SECONDS)  # so that the first Tab knows their tools
    history = history_file("agent", lambda line: "{" in line or "=" in line)
    await Shell(visit, Terminal(f"{visit.agent.name}> ", AgentCompleter(visit), history)).take_commands()
    return 0


class Shell(CommandShell):
    """The commands of an Agent."""

    def __init__(self, visit: Visit, console: Console) -> None:
        super().__init__(console)
        self._visit = visit

    async def _do(self, work: Awaitable[int]) -> None:
        self.failed |= await work != 0

    async def do_computers(self) -> None:
        """computers
        Who is in the office."""
        await self._do(one_shot.computers(self._visit, False))

    async def do_tools(self, computer: str | None = None) -> None:
        """tools [COMPUTER]
        The tools of all Computers, or of one."""
        await self._do(one_shot.tools(self._visit, computer, False))

    async def do_call(self, computer: str, tool: str, *arguments: str) -> None:
        """call COMPUTER TOOL [KEY=VALUE…|JSON]
        Call a tool."""
        await self._do(one_shot.call(self._visit, computer, tool, list(arguments), None, CALL_SECONDS, False))

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
        keywords, file_type = [word for word in words if word != "--all"], None
        if "--type" in keywords:
            at = keywords.index("--type")
            if at + 1 >= len(keywords):
                raise UsageError("usage: " + usage_of(self.do_finder))
            file_type = keywords[at + 1]
            del keywords[at : at + 2]
        await self._do(one_shot.finder(self._visit, None, keywords or None, file_type, "--all" in words, False))

    async def do_read(self, uri: str) -> None:
        """read URI
        A document, page, element, window or any other resource."""
        await self._do(one_shot.read(self._visit, None, uri, False, False))

    async def do_tree(self, uri: str) -> None:
        """tree URI
        A document as a tree."""
        await self._do(one_shot.tree(self._visit, None, uri, False))

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


class AgentCompleter(Completer):
    """Commands, then what the command is about: Computers, tools and their parameters, documents and their pages."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit

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
            case ["call", computer]:
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
        return "".join(shlex.split(word))
    except ValueError:  # the quotation is not closed yet
        return word.lstrip("'\"")


def _completions(typed: str, choices: Iterable[str]) -> Iterable[Completion]:
    """Those that begin like what is typed, written so that they are one word."""
    start = _unquoted(typed)
    for word in choices:
        if word.startswith(start):
            yield Completion(shlex.quote(word), start_position=-len(typed), display=printable(word))
