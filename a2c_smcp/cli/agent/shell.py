"""The prompt of `a2c agent`, and its completion."""

from __future__ import annotations

import contextlib
import logging
import re
import shlex
import sys
from collections.abc import AsyncGenerator, Awaitable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from a2c_smcp.agent.async_search import FOUND, INDEX_SECONDS, SEARCH_SECONDS
from a2c_smcp.cli.agent import finding, offers, one_shot, skills
from a2c_smcp.cli.agent.address_completion import addresses
from a2c_smcp.cli.agent.prompt_completion import prompt_words
from a2c_smcp.cli.agent.session import Session
from a2c_smcp.cli.console import Console, Pipe, Terminal, history_file
from a2c_smcp.cli.shell import CommandShell, UsageError, commands_of, usage_of
from a2c_smcp.errors import TimedOutError
from a2c_smcp.utils.system.terminals import split_words
from a2c_smcp.utils.text import printable

if TYPE_CHECKING:
    from a2c_smcp.cli.agent.output import Output

CALL_SECONDS = 600
"""Seconds that a tool has to finish; at the prompt, a person can cancel it at any time."""
GREETING_SECONDS = 1.0
"""Seconds that the first prompt may wait for the tools of the Computers."""
COMPLETION_SECONDS = 3.0

_MCP_SERVER = ("--mcp-server", "--server")
_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$))+""")
"""A word as `shlex` reads it. The quotation of the last one may still be open."""


async def converse(session: Session) -> int:
    """Run commands until `quit` or the end of input."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        shell = Shell(session, Pipe())
        await shell.take_commands()
        return 1 if shell.failed else 0
    names = printable(", ".join(session.agent.computers)) or "no Computers yet"
    print(f"In office {session.options.office} as {session.agent.name}, with {names}.")
    print("Type help for the commands, Ctrl-D to leave.")
    # At the default level, the loss of the connection is a warning, but the return is not shown. A person needs both.
    if session.options.log_level is None:
        logging.getLogger("a2c_smcp.protocol.seat").setLevel(logging.INFO)
    with contextlib.suppress(TimedOutError):
        await session.agent.wait_for(timeout=GREETING_SECONDS)  # so that the first Tab can complete their tools
    # Parameters of calls may be secrets, and no name tells: `{` and `=` mark a line that has any.
    history = history_file("agent", lambda line: "{" in line or "=" in line)
    terminal = Terminal(f"{session.agent.name}> ", AgentCompleter(session), history)
    session.person.interrupt = terminal.interrupt
    await Shell(session, terminal).take_commands()
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
        List the Computers in the office."""
        await self._do(one_shot.computers(self._visit, False))

    async def do_tools(self, computer: str | None = None, tool: str | None = None) -> None:
        """tools [COMPUTER [TOOL]]
        List the tools of all Computers or of one, or show one tool with its parameters."""
        await self._do(one_shot.tools(self._visit, computer, tool, False))

    async def do_call(self, computer: str, tool: str, *arguments: str) -> None:
        """call COMPUTER TOOL [KEY=VALUE…|JSON] [-o FILE] [--save-to DIR]
        Call a tool; -o and --save-to write its images and files."""
        words, output = self._output(arguments, self.do_call)
        words, folder = _without_option(words, ("--save-to",), self.do_call)
        save_to = Path(folder) if folder is not None else None
        work = one_shot.call(self._visit, computer, tool, words, None, CALL_SECONDS, output, False, save_to)
        await self._do(work)

    async def do_desktop(self, *words: str) -> None:
        """desktop [COMPUTER] [SIZE]
        Show the windows."""
        sizes = [int(word) for word in words if word.isdecimal()]
        names = [word for word in words if not word.isdecimal()]
        if len(sizes) > 1 or len(names) > 1:
            raise UsageError("usage: " + usage_of(self.do_desktop))
        computer, size = names[0] if names else None, sizes[0] if sizes else None
        await self._do(one_shot.desktop(self._visit, computer, size, None, False))

    async def do_finder(self, *words: str) -> None:
        """finder [KEYWORD…] [--type TYPE] [--all]
        List documents that match."""
        keywords, file_type = _without_option([word for word in words if word != "--all"], ("--type",), self.do_finder)
        await self._do(one_shot.finder(self._visit, None, keywords or None, file_type, "--all" in words, False))

    async def do_find(self, *words: str) -> None:
        """find WORD…
        Search the full text of the documents."""
        if not words:
            raise UsageError("usage: " + usage_of(self.do_find))
        search = finding.find(self._visit, None, " ".join(words), FOUND, SEARCH_SECONDS, INDEX_SECONDS, False)
        await self._do(search)

    async def do_read(self, address: str, *words: str) -> None:
        """read ADDRESS|TITLE [--mcp-server NAME] [-o FILE]
        Read a document, page, element, window or other resource."""
        rest, output = self._output(words, self.do_read)
        rest, server = _without_option(rest, _MCP_SERVER, self.do_read)
        if rest:
            raise UsageError("usage: " + usage_of(self.do_read))
        await self._do(one_shot.read(self._visit, None, address, False, output, False, server))

    async def do_tree(self, address: str) -> None:
        """tree ADDRESS|TITLE
        Show a document as a tree."""
        await self._do(one_shot.tree(self._visit, None, address, False))

    def _output(self, words: Sequence[str], command: Any) -> tuple[list[str], Output | None]:
        """The words without `-o FILE`, and the target of `-o`."""
        from a2c_smcp.cli.agent.output import Output

        rest, file = _without_option(words, ("-o", "--output"), command)
        return rest, Output(file) if file is not None else None

    async def do_resources(self, computer: str | None = None) -> None:
        """resources [COMPUTER]
        List the resources of the MCP servers, of all schemes."""
        await self._do(offers.resources(self._visit, computer, None, False))

    async def do_templates(self, computer: str | None = None) -> None:
        """templates [COMPUTER]
        List the resource templates of the MCP servers: the addresses that can be read."""
        await self._do(offers.templates(self._visit, computer, None, False))

    async def do_prompts(self, computer: str | None = None) -> None:
        """prompts [COMPUTER]
        List the prompts of the MCP servers."""
        await self._do(offers.prompts(self._visit, computer, None, False))

    async def do_prompt(self, name: str, *arguments: str) -> None:
        """prompt NAME [KEY=VALUE…] [--mcp-server NAME]
        Show the messages of a prompt."""
        words, server = _without_option(arguments, _MCP_SERVER, self.do_prompt)
        await self._do(offers.prompt(self._visit, None, server, name, words, False))

    async def do_skills(self, computer: str | None = None) -> None:
        """skills [COMPUTER]
        List the skills."""
        await self._do(skills.skills(self._visit, computer, False))

    async def do_skill(self, name: str, *words: str) -> None:
        """skill NAME [FILE] [-o FILE]
        Show the instructions of a skill, or another file of it."""
        rest, output = self._output(words, self.do_skill)
        if len(rest) > 1:
            raise UsageError("usage: " + usage_of(self.do_skill))
        await self._do(skills.skill(self._visit, None, name, rest[0] if rest else None, output, False))

    async def do_upload(self, path: str, computer: str | None = None) -> None:
        """upload PATH [COMPUTER]
        Upload a file to a Computer that has a landing folder."""
        await self._do(skills.upload(self._visit, computer, path, None, False))

    async def do_config(self, computer: str) -> None:
        """config COMPUTER
        Print the configuration of a Computer, without secrets."""
        await self._do(one_shot.config(self._visit, computer))

    async def do_watch(self, *addresses: str) -> None:
        """watch [ADDRESS…]
        Print changes until Ctrl-C, also of the resources at these addresses."""
        try:
            await one_shot.watch(self._visit, addresses, None, False)
        finally:
            await one_shot.unwatch(self._visit, addresses)


def _without_option(words: Sequence[str], names: Sequence[str], command: Any) -> tuple[list[str], str | None]:
    """The words without an option, and the value of the option.

    Raises:
        UsageError: the option has no value.
    """
    at = next((number for number, word in enumerate(words) if word in names), None)
    if at is None:
        return list(words), None
    if at + 1 == len(words):
        raise UsageError("usage: " + usage_of(command))
    return [*words[:at], *words[at + 2 :]], words[at + 1]


class AgentCompleter(Completer):
    """Completes commands and their arguments: Computers, tools, parameters, documents, pages, resources and prompts."""

    def __init__(self, session: Session) -> None:
        self._visit = session

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        """Completions at the cursor, including addresses, which the Computers provide."""
        before, typed = _words(document.text_before_cursor)
        found: list[str] = []
        if before and before[0] in ("read", "tree", "watch"):
            computers = self._visit.agent.computers
            found = await addresses(self._visit, _unquoted(typed), computers, COMPLETION_SECONDS)
        elif before and before[0] == "prompt":
            found = await prompt_words(self._visit, before[1:], _unquoted(typed), COMPLETION_SECONDS)
        for completion in _completions(typed, found):
            yield completion
        for completion in self.get_completions(document, complete_event):
            yield completion

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Completions at the cursor that need no request."""
        before, typed = _words(document.text_before_cursor)
        return _completions(typed, self._choices(before))

    def _choices(self, before: list[str]) -> Iterable[str]:
        agent = self._visit.agent
        match before:
            case []:
                return [*(usage_of(command).split()[0] for command in commands_of(Shell)), "quit"]
            case ["tools" | "call" | "desktop" | "config" | "resources" | "templates" | "prompts" | "skills"]:
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
    """The complete words before the cursor, without quotes, and the word at the cursor as it is typed."""
    found = list(_WORD.finditer(line))
    typed = found.pop()[0] if found and found[-1].end() == len(line) else ""
    return [_unquoted(word[0]) for word in found], typed


def _unquoted(word: str) -> str:
    try:
        return "".join(split_words(word))
    except ValueError:  # the quotation is not closed yet
        return word.lstrip("'\"")


def _completions(typed: str, choices: Iterable[str]) -> Iterable[Completion]:
    """The choices that begin with the typed text, quoted where necessary."""
    start = _unquoted(typed)
    for word in choices:
        if word.startswith(start):
            # Quoted, a title or a name with spaces stays one word of the command. The menu shows it without quotes.
            yield Completion(shlex.quote(word), start_position=-len(typed), display=printable(word))
