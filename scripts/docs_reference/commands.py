"""The page of the `a2c` command: the help of every command, and the commands of its prompts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer.main

from a2c_smcp.cli.agent.shell import Shell as AgentShell
from a2c_smcp.cli.computer.shell import Shell as ComputerShell
from a2c_smcp.cli.main import app
from a2c_smcp.cli.shell import commands_of, described

from .markdown import code, prose, table

INTRODUCTION = """\
# The a2c command

This page lists every command and option. `a2c COMMAND --help` shows the same at a terminal. Commands that print data
accept `--json`. A command that fails prints one line on standard error and exits with a code other than 0. It prints a
traceback only with `a2c --debug COMMAND`.
"""
PROMPTS = {"a2c computer": ComputerShell, "a2c agent": AgentShell}


@dataclass(frozen=True)
class Option:
    """An option or an argument of a command."""

    name: str
    flags: tuple[str, ...]
    """How it is typed; for an argument, its name."""
    help: str
    panel: str | None
    variable: str
    default: str
    is_argument: bool

    @classmethod
    def of(cls, parameter: Any) -> Option:
        """Create it from a parameter of typer."""
        is_argument = parameter.param_type_name == "argument"
        return cls(
            name=parameter.name,
            flags=(_typed(parameter),) if is_argument else (*parameter.opts, *parameter.secondary_opts),
            help=parameter.help or "",
            panel=parameter.rich_help_panel,
            variable=parameter.envvar if isinstance(parameter.envvar, str) else "",
            default=_default(parameter),
            is_argument=is_argument,
        )


@dataclass(frozen=True)
class Command:
    """A command with its options and arguments."""

    path: str
    help: str
    options: tuple[Option, ...]
    has_commands: bool


def _typed(argument: Any) -> str:
    """Return an argument as it appears in a usage line."""
    name = (argument.metavar or argument.name.upper()).strip("[].")
    name = name if argument.nargs == 1 else f"{name}…"
    return name if argument.required else f"[{name}]"


def _default(parameter: Any) -> str:
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    if parameter.required:
        return "**required**"
    if parameter.default in (None, False) or not parameter.show_default:
        return ""
    return str(parameter.default) if not parameter.is_bool_flag else parameter.opts[0]


def walk() -> Iterator[Command]:
    """Yield every command, in the order of the help."""
    yield from _walk("a2c", typer.main.get_command(app))


def _walk(path: str, command: Any) -> Iterator[Command]:
    below: dict[str, Any] = getattr(command, "commands", {})
    shown = [each for each in command.params if each.name != "help" and not getattr(each, "hidden", False)]
    options = tuple(map(Option.of, shown))
    yield Command(path, command.help or "", options, bool(below))
    for name, each in below.items():
        yield from _walk(f"{path} {name}", each)


def command_at(name: str) -> Command:
    """Return the command `a2c NAME`."""
    return next(command for command in walk() if command.path == f"a2c {name}")


def page() -> str:
    """Return the page."""
    return "\n".join([INTRODUCTION, *(_section(command) for command in walk())])


def _section(command: Command) -> str:
    depth = min(command.path.count(" ") + 1, 3)
    title = f"{'#' * max(depth, 2)} {command.path}\n"
    if command.path == "a2c":
        title = "## Options of every command\n"
    arguments = [option for option in command.options if option.is_argument]
    words = [command.path, *(option.flags[0] for option in arguments), "[OPTIONS]", "COMMAND …"]
    usage = " ".join(words if command.has_commands else words[:-1])
    parts = [title, prose(command.help), f"<!-- not run: a usage line -->\n\n```text\n{usage}\n```\n"]
    if arguments:
        rows = [(code(option.flags[0]), option.help, option.default) for option in arguments]
        parts.append(table(("argument", "meaning", "default"), rows))
    panels: dict[str | None, list[Option]] = {}
    for option in command.options:
        if not option.is_argument:
            panels.setdefault(option.panel, []).append(option)
    for panel, options in panels.items():
        parts.append(_options(panel or "option", options))
    if (shell := PROMPTS.get(command.path)) is not None:
        rows = [(code(usage), text) for usage, text in map(described, commands_of(shell))]
        parts += ["At its prompt:\n", table(("command", "meaning"), [*rows, (code("quit"), shell.farewell)])]
    return "\n".join(parts)


def _options(title: str, options: list[Option]) -> str:
    columns = {
        _uncapitalized(title): ["<br>".join(map(code, option.flags)) for option in options],
        "meaning": [option.help for option in options],
        "default": [option.default for option in options],
        "environment": [code(option.variable) for option in options],
    }
    filled = {name: cells for name, cells in columns.items() if any(cells)}
    return table(list(filled), zip(*filled.values(), strict=True))


def _uncapitalized(title: str) -> str:
    """A title as the header of a table; an abbreviation such as MCP keeps its case."""
    return title if title[:2].isupper() else title[0].lower() + title[1:]
