"""The prompt of `a2c computer`, and its completion."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path
from typing import Any, cast

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from a2c_smcp.cli.arguments import read_arguments
from a2c_smcp.cli.computer import logins, views
from a2c_smcp.cli.computer.confirmations import Confirmations, tell_written
from a2c_smcp.cli.computer.host import Host, NotAllowed
from a2c_smcp.cli.computer.progress import boot_with_progress
from a2c_smcp.cli.computer.questions import Questions, ask_inputs
from a2c_smcp.cli.computer.reloading import ReloadError
from a2c_smcp.cli.console import Console, Pipe, Terminal, history_file
from a2c_smcp.cli.errors import Interrupted
from a2c_smcp.cli.running import on_hangup
from a2c_smcp.cli.shell import CommandShell, UsageError, commands_of, usage_of
from a2c_smcp.cli.views import as_markdown, documents, resource, result, show, window
from a2c_smcp.computer.config.files import ConfigError, LoadedConfig, load_config, server_from
from a2c_smcp.computer.config.input_sources import InputMissing
from a2c_smcp.computer.config.model import MCPServerConfig, MCPServerInput
from a2c_smcp.computer.config.secrets import hide, looks_secret, replace_secrets
from a2c_smcp.computer.offer.view import ResourceView
from a2c_smcp.computer.types import ServerStatus
from a2c_smcp.utils.system.terminals import split_words

logger = logging.getLogger("a2c.computer")


async def converse(host: Host) -> int:
    """Ask for inputs, start the servers, and run commands until `quit` or the end of input."""
    async with host.open_to_owner() as owner:
        if owner.url is not None:
            print(f"the owner's API: {owner.url}")
        return await _converse(host)


async def _converse(host: Host) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return await Shell(host, Pipe()).run()
    await ask_inputs(host.resolver, host.computer.mcp_servers)
    terminal = Terminal(f"{host.computer.name}> ", ShellCompleter(host), history_file("computer", _may_hold_secret))
    shell = Shell(host, terminal)
    with on_hangup(host.reload, _cancel_running_task()):
        await boot_with_progress(host)
        # From here on a server that starts may ask again, because the prompt can be interrupted for its question.
        host.resolver.prompter = _InterruptingQuestions(terminal)
        return await shell.run(booted=True)


def _cancel_running_task() -> Callable[[], object]:
    task = asyncio.current_task()
    return task.cancel if task is not None else lambda: None


class _InterruptingQuestions(Questions):
    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal

    async def _ask(self, wanted: MCPServerInput) -> str | None:
        ask = super()._ask
        try:
            return await self._terminal.interrupt(lambda: ask(wanted))
        except Interrupted:
            raise InputMissing(f"input {wanted.id} was not given") from None


class Shell(CommandShell):
    """The commands of a Computer's owner."""

    expected_errors = (*CommandShell.expected_errors, ConfigError, InputMissing)
    farewell = "Stop the MCP servers and leave."

    def __init__(self, host: Host, console: Console) -> None:
        super().__init__(console)
        self._host = host
        self._computer = host.computer
        if isinstance(console, Terminal):
            host.computer.approvals.channels.append(Confirmations(console))
            host.computer.approvals.written.add(tell_written)
        self._background: set[asyncio.Future[None]] = set()

    async def run(self, *, booted: bool = False) -> int:
        """Run commands; returns the exit code. From a pipe, it is 1 if any command failed."""
        if not booted:
            await boot_with_progress(self._host)
        await self._join_at_start()
        await self.take_commands()
        for work in self._background:
            work.cancel()
        return 1 if self.failed and isinstance(self.console, Pipe) else 0

    async def _join_at_start(self) -> None:
        options = self._host.options
        statuses = self._computer.status
        ready = sum(status.active for status in statuses)
        tools = len(self._computer.mcp_manager.book.tools)
        if isinstance(self.console, Terminal):
            print(f"{ready} of {len(statuses)} MCP servers ready, {tools} tools.")
        if options.url is not None:
            await self.guarded(self._connect(options.url, options.office))
            if options.office is not None and not self._host.client.connected and isinstance(self.console, Terminal):
                self._background.add(asyncio.create_task(self._keep_trying(options.url, options.office)))
        if isinstance(self.console, Terminal):
            print("Type help for the commands, Ctrl-D to leave.")

    async def _keep_trying(self, url: str, office: str) -> None:
        """Join as soon as the Server is reachable, in the background."""
        try:
            await self._host.join(url, office)
            print(f"in office {office} as {self._computer.name}")
        except NotAllowed as error:
            self.complain(str(error))

    # --------------------------------------------------------------------------------------------------- looking around

    async def do_status(self) -> None:
        """status
        Show the connection, the MCP servers and their problems."""
        statuses = await self._statuses()
        client = self._host.client
        where = f"in office {client.office_id}" if client.office_id else "connected" if client.connected else "offline"
        show(f"{self._computer.name}: {where}", views.servers(statuses))
        show(*views.details(statuses), *views.files(self._computer.uploads, self._computer.skills.problems))

    async def do_servers(self) -> None:
        """servers
        List the MCP servers and their states."""
        show(views.servers(await self._statuses()))

    async def do_tools(self, server: str | None = None) -> None:
        """tools [SERVER]
        List the tools that an Agent sees."""
        show(views.tools(self._computer.mcp_manager.book, server))

    async def do_logs(self, server: str | None = None) -> None:
        """logs [SERVER]
        Show the last log messages of all MCP servers or of one."""
        statuses = [status for status in self._computer.status if server in (None, status.name)]
        if not statuses:
            raise UsageError(f"no such MCP server: {server}")
        show(*views.logs(statuses))

    async def do_history(self) -> None:
        """history
        List the last calls."""
        show(views.history(await self._computer.aget_tool_call_history()))

    async def do_config(self) -> None:
        """config
        Print the configuration that an Agent sees, without secrets."""
        print(json.dumps(self._computer.get_config(), indent=2, ensure_ascii=False))

    async def do_windows(self) -> None:
        """windows
        List the windows of all MCP servers."""
        await self._computer.mcp_manager.be_listed()
        show(views.listed((uri, server, "") for server, uri in await self._computer.mcp_manager.list_windows()))

    async def do_desktop(self, *words: str) -> None:
        """desktop [SIZE] [URI]
        Show the windows as an Agent sees them."""
        size = int(words[0]) if words and re.fullmatch("-?[0-9]+", words[0]) else None
        uris = words[1:] if size is not None else words
        if len(uris) > 1:
            raise UsageError("usage: " + usage_of(self.do_desktop))
        for shown in await self._computer.get_desktop(size, uris[0] if uris else None):
            show(*window(shown))

    async def do_documents(self) -> None:
        """documents
        List the documents of all MCP servers."""
        await self._computer.mcp_manager.be_listed()
        known = [(uri, view.server, item.name) for view in self._views() for uri, item in view.documents.items.items()]
        show(views.listed(known))

    async def do_finder(self, *words: str) -> None:
        """finder [KEYWORD…] [--type TYPE]
        List the first 20 documents that match."""
        keywords, file_type = list(words), None
        if "--type" in keywords:
            at = keywords.index("--type")
            if at + 1 >= len(keywords):
                raise UsageError("usage: " + usage_of(self.do_finder))
            file_type = keywords[at + 1]
            del keywords[at : at + 2]
        page, total = await self._computer.get_finder(keywords or None, file_type)
        show(*documents([(entry["server"], entry) for entry in page], total))

    async def do_skills(self) -> None:
        """skills
        List the skills that an Agent sees."""
        found = await self._computer.get_skills()
        show(views.skills(found), *views.files(None, self._computer.skills.problems))

    async def do_read(self, uri: str) -> None:
        """read URI
        Read a document, page, element, window or other resource."""
        show(*resource(await self._computer.read_resource(as_markdown(uri))))

    def _views(self) -> list[ResourceView]:
        return self._computer.mcp_manager.views

    async def _statuses(self) -> list[ServerStatus]:
        """The states of the servers. Those that are ready have listed their windows and documents."""
        await self._computer.mcp_manager.be_listed()
        return self._computer.status

    # ----------------------------------------------------------------------------------------------------------- acting

    async def do_call(self, tool: str, *arguments: str) -> None:
        """call TOOL [KEY=VALUE…|JSON]
        Call a tool, without confirmation."""
        try:
            entry = self._computer.mcp_manager.book.entries.get(tool)
            parameters = read_arguments(arguments, schema=entry.tool["params_schema"] if entry is not None else None)
        except ValueError as error:
            raise UsageError(str(error)) from None
        req_id = uuid.uuid4().hex
        self._computer.approvals.own_calls.add(req_id)
        try:
            found = await self._computer.aexecute_tool(req_id, tool, parameters, 600)
        finally:
            self._computer.approvals.own_calls.discard(req_id)
        show(*result(found))
        self.failed |= found.is_error

    async def do_add(self, *words: str) -> None:
        """add FILE | NAME COMMAND… | NAME URL | NAME JSON
        Add or change MCP servers."""
        if len(words) == 1:
            loaded = await asyncio.to_thread(_load, words[0])
            for wanted in loaded.inputs:
                self._computer.add_or_update_input(wanted)
            configs = loaded.servers
        elif len(words) >= 2:
            name, first, *rest = words
            if first.startswith("{"):
                try:
                    data = json.loads(first)
                except ValueError as error:
                    raise UsageError(f"invalid JSON: {error}") from None
            elif first.startswith(("http://", "https://")):
                data = {"url": first}
            else:
                data = {"command": first, "args": rest}
            configs = [await asyncio.to_thread(server_from, data, name)]
        else:
            raise UsageError("usage: " + usage_of(self.do_add))
        print(f"starting {', '.join(config.name for config in configs)} …")
        # A start may take a minute. At a terminal the prompt returns at once. A script may need the server for its next
        # line.
        if isinstance(self.console, Terminal):
            self._background.add(asyncio.create_task(self.guarded(self._add(configs))))
        else:
            await self._add(configs)

    async def _add(self, configs: list[MCPServerConfig]) -> None:
        await asyncio.gather(*map(self._computer.aadd_or_aupdate_server, configs))
        names = {config.name for config in configs}
        changed = [status for status in await self._statuses() if status.name in names]
        show(views.servers(changed), *views.details(changed))

    async def do_reload(self) -> None:
        """reload
        Read the configuration file again: start new MCP servers, restart changed ones, stop removed ones."""
        reloader = self._host.reloader
        if reloader is None:
            raise UsageError("nothing to reload: this Computer was started without --config")
        try:
            changes = await reloader.reload()
        except ReloadError as error:
            for problem in error.problems:
                self.complain(f"{reloader.path}: {problem}")
            self.complain(str(error))
            return
        for warning in changes.warnings:
            print(f"{reloader.path}: warning: {warning}")
        print(changes)
        names = {*changes.added, *changes.changed}
        if started := [status for status in await self._statuses() if status.name in names]:
            show(views.servers(started), *views.details(started))

    async def do_rm(self, server: str) -> None:
        """rm SERVER
        Stop and remove an MCP server."""
        await self._computer.aremove_server(server)
        print(f"removed {server}")

    async def do_start(self, server: str) -> None:
        """start SERVER
        Start an MCP server that is stopped or has failed."""
        await self._computer.mcp_manager.astart_client(server)
        await self._show_one(server)

    async def do_stop(self, server: str) -> None:
        """stop SERVER
        Stop an MCP server, and withdraw its tools."""
        await self._computer.mcp_manager.astop_client(server)
        await self._show_one(server)

    async def do_login(self, server: str) -> None:
        """login SERVER | --list
        Log in to a remote MCP server, or list the stored logins."""
        if server == "--list":
            show(views.logins(await logins.stored()))
            return
        await self._computer.alogin(server, logins.show_url)
        await self._show_one(server)

    async def do_logout(self, server: str) -> None:
        """logout SERVER
        Forget the login at a remote MCP server."""
        print(f"logged out of {server}" if await self._computer.alogout(server) else f"{server} has no login")

    async def do_inputs(self, action: str | None = None, input_id: str | None = None, value: str | None = None) -> None:
        """inputs [set ID [VALUE] | clear [ID]]
        List the inputs, set one, or clear their values."""
        if action == "set" and input_id is not None:
            wanted = self._computer.get_input(input_id)
            if wanted is None:
                raise UsageError(f"no such input: {input_id}")
            if value is None and self._host.resolver.prompter is not None:
                value = await self._host.resolver.prompter.ask(wanted)
            if value is None:
                raise UsageError(f"no value was given; use: {usage_of(self.do_inputs)}")
            self._computer.set_input_value(input_id, value)
        elif action == "clear":
            await self._host.resolver.forget(input_id)
        elif action is not None:
            raise UsageError("usage: " + usage_of(self.do_inputs))
        show(views.inputs(self._computer.inputs, self._computer.list_input_values()))

    # ------------------------------------------------------------------------------------------------------- the office

    async def do_join(self, office: str, url: str | None = None) -> None:
        """join OFFICE [URL]
        Join an office, with a URL on another Server."""
        url = url or self._host.url or self._host.options.url
        if url is None:
            raise UsageError("no Server: add its URL, as in join OFFICE http://127.0.0.1:8000")
        await self._connect(url, office)

    async def do_leave(self) -> None:
        """leave
        Leave the office."""
        office = self._host.client.wanted_office
        if office is None:
            raise UsageError("this Computer is not in an office")
        await self._host.client.leave_office(office)
        print(f"left office {office}")

    async def _connect(self, url: str, office: str | None) -> None:
        if not self._host.client.connected or url != self._host.url:
            await self._host.connect(url, office)
            print(f"connected to {url}")
        if office is not None:
            await self._host.client.join_office(office)
            print(f"in office {office} as {self._computer.name}")

    async def _show_one(self, name: str) -> None:
        chosen = [status for status in await self._statuses() if status.name == name]
        show(views.servers(chosen), *views.details(chosen))


def _may_hold_secret(line: str) -> bool:
    # In doubt, yes: a line that is missing from the history is a small loss, a secret in a file is not.
    try:
        words = split_words(line)
        is_recognised = replace_secrets({"args": words}, hide)["args"] != words
    except ValueError:  # an open quotation mark, or an invalid URL
        return True
    has_value = [word.lower() for word in words[:2]] == ["inputs", "set"] or "{" in line
    return is_recognised or has_value or any("=" in word and looks_secret(word.partition("=")[0]) for word in words)


def _load(name: str) -> LoadedConfig:
    return load_config(Path(name).expanduser())


class ShellCompleter(Completer):
    """Completes commands and their arguments: servers, tools, parameters and inputs."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        """Completions at the cursor, including addresses, which MCP servers provide."""
        command, _, start = document.text_before_cursor.rpartition(" ")
        if command.split(" ")[0] in ("read", "desktop"):
            for uri in await self._host.computer.acomplete_uri(start):
                yield Completion(uri, start_position=-len(start))
        for completion in self.get_completions(document, complete_event):
            yield completion

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Completions at the cursor that need no request."""
        words = document.text_before_cursor.split(" ")
        start = words[-1]
        for word in self._choices(words[:-1]):
            if word.startswith(start):
                yield Completion(word, start_position=-len(start))

    def _choices(self, before: list[str]) -> Iterable[str]:
        computer = self._host.computer
        if not before:
            return [*(usage_of(command).split()[0] for command in commands_of(Shell)), "quit"]
        match before[0]:
            case "start" | "stop" | "rm" | "tools" | "login" | "logout" | "logs" if len(before) == 1:
                return [config.name for config in computer.mcp_servers]
            case "call" if len(before) == 1:
                return list(computer.mcp_manager.book.entries)
            case "call":
                entry = computer.mcp_manager.book.entries.get(before[1])
                properties = entry.tool["params_schema"].get("properties") if entry is not None else None
                return [f"{name}=" for name in cast("dict[str, Any]", properties or {})]
            case "inputs" if len(before) == 1:
                return ["set", "clear"]
            case "inputs" if len(before) == 2:
                return [wanted.id for wanted in computer.inputs]
            case _:
                return []
