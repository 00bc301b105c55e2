"""Questions of tools, asked as a form on the terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit

from a2c_smcp.agent.types import FormField, Question, Reply
from a2c_smcp.cli.errors import Interrupted
from a2c_smcp.cli.quoting import BAR, INDENT, quoted, width_of
from a2c_smcp.utils.text import one_line

MAX_NAME = 60
"""Characters of a name in a line of this program."""
MAX_LABEL = 200
"""Characters of the title, the default or an option of a field."""
MAX_OPTIONS = 100
"""Options of a field that are listed."""

Prompt: TypeAlias = Callable[[str], Awaitable[str]]
"""Shows a text, and reads a line."""
Interrupt: TypeAlias = Callable[[Callable[[], Awaitable[Reply]]], Awaitable[Reply]]
"""Asks as soon as the terminal is free."""


class Person:
    """The person at the terminal. Without a terminal, every question is declined with a message."""

    def __init__(self) -> None:
        self.interrupt: Interrupt = _at_once
        """The prompt sets it: a question must not appear between the letters that a person types."""

    async def answer(self, question: Question) -> Reply:
        """Ask a question, for as long as its answer is useful."""
        whose = f"MCP server {one_line(question.mcp_server, MAX_NAME)} of {one_line(question.computer, MAX_NAME)}"
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            _say(f"a2c: {whose} asks a question, which is declined: standard input is no terminal")
            return question.decline()
        try:
            async with asyncio.timeout(question.expires_in):
                return await self.interrupt(lambda: _ask(question, whose, _reader()))
        except (Interrupted, EOFError):
            return question.cancel()
        except TimeoutError:
            _say("a2c: the question expired")
            return question.decline()


async def _at_once(ask: Callable[[], Awaitable[Reply]]) -> Reply:
    return await ask()


async def _ask(question: Question, whose: str, prompt: Prompt) -> Reply:
    # Every line of the server has a bar before it, so that none can pass for a line of this program. The prompts, at
    # which a person types, have no words of the server.
    _say(f"{whose} asks, for the tool {one_line(question.tool, MAX_NAME)}:")
    _quote(question.message)
    if question.problem is not None:
        _say("The answer before did not fit:")
        _quote(question.problem)
    _say(f"You have {_duration(question.expires_in)} to answer.")
    if question.url is not None:
        _say("It asks to visit this address, which is not opened for you:")
        _show_address(question.url)
        return question.accept() if await _is_yes("Have you visited it? [y/N] ", prompt) else question.decline()
    fields = question.fields
    if fields:
        _say("Enter keeps the value in brackets; Ctrl-C cancels.")
    content: dict[str, Any] = {}
    for number, field in enumerate(fields, 1):
        mark = " (required)" if field.is_required else ""
        value = await _value(field, f"Value {number} of {len(fields)}{mark}: ", prompt)
        if value is not None:
            content[field.name] = value
    return question.accept(content) if await _is_yes("Send this answer? [y/N] ", prompt) else question.decline()


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


async def _value(field: FormField, words: str, prompt: Prompt) -> Any:
    """A value for a field, asked for until it fits; None if the field is left out."""
    default = "" if field.default is None else f" [{one_line(_shown(field.default), MAX_LABEL)}]"
    _quote(f"{one_line(field.title, MAX_LABEL)}{default}")
    if field.description:
        _quote(field.description)
    for number, option in enumerate(field.options[:MAX_OPTIONS], 1):
        _quote(f"{number}  {one_line(option.title, MAX_LABEL)}")
    if len(field.options) > MAX_OPTIONS:
        _say(f"  and {len(field.options) - MAX_OPTIONS} more")
    while True:
        typed = (await prompt(words)).strip()
        if not typed:
            if field.default is not None or not field.is_required:
                return field.default
            _say("  a value is required")
            continue
        try:
            return _read(field, typed)
        except ValueError as error:
            _say(f"  {error}")


def _read(field: FormField, typed: str) -> Any:
    """The value that a person typed.

    Raises:
        ValueError: it does not fit the field. The message says what does.
    """
    match field.type:
        case "boolean":
            if typed.lower() not in _WORDS:
                raise ValueError("y or n is expected")
            return _WORDS[typed.lower()]
        case "integer":
            return _number(int, typed, "a whole number")
        case "number":
            return _number(float, typed, "a number")
        case "array":
            return [_chosen(field, part.strip()) for part in typed.split(",") if part.strip()]
        case "string":
            return _chosen(field, typed)


_WORDS = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


def _number(kind: Callable[[str], Any], typed: str, what: str) -> Any:
    try:
        return kind(typed)
    except ValueError:
        raise ValueError(f"{what} is expected") from None


def _chosen(field: FormField, typed: str) -> str:
    """The value of an option, given by its value, its title or its number; without options, the text itself."""
    if not field.options:
        return typed
    for number, option in enumerate(field.options, 1):
        if typed in (option.value, option.title, str(number)):
            return option.value
    raise ValueError(f"choose one of 1 to {len(field.options)}")


def _shown(value: Any) -> str:
    match value:
        case bool():
            return "y" if value else "n"
        case list():
            return ", ".join(map(str, cast("list[Any]", value)))
        case _:
            return str(value)


async def _is_yes(text: str, prompt: Prompt) -> bool:
    return (await prompt(text)).strip().lower() in ("y", "yes")


def _reader() -> Prompt:
    # Imported here: only a question needs it. On standard error, because standard output is for the result.
    from prompt_toolkit.output import create_output

    from a2c_smcp.cli.console import prompt_session

    return prompt_session(output=create_output(sys.stderr)).prompt_async


def _show_address(url: str) -> None:
    # In one line, so that it can be copied. If the terminal wraps it, the rest has no bar, but no spaces either, as all
    # lines of this program have. Other characters may look like a space.
    if url.isascii() and " " not in url:
        _say(f"{INDENT}{BAR}{one_line(url)}")
    else:
        _quote(url)
    # The host is easily overlooked, as in https://bank.example@evil.example/.
    _quote(f"(its host is {urlsplit(url).hostname})")


def _quote(text: str) -> None:
    for line in quoted(text, width=width_of(sys.stderr)):
        _say(line)


def _say(text: str) -> None:
    print(text, file=sys.stderr)
