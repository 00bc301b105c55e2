"""Asks for the inputs of a configuration, at a terminal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping

from prompt_toolkit.completion import WordCompleter

from a2c_smcp.cli.console import prompt_session
from a2c_smcp.computer.config.input_sources import InputMissing
from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.model import (
    MCPServerCommandInput,
    MCPServerConfig,
    MCPServerInput,
    MCPServerPickStringInput,
)
from a2c_smcp.computer.config.placeholders import input_ids
from a2c_smcp.utils.text import printable

logger = logging.getLogger("a2c.computer")


async def ask_inputs(resolver: InputResolver, servers: Iterable[MCPServerConfig]) -> None:
    """Resolve the inputs of all servers before the first one starts. Each question is asked once.

    Raises:
        Interrupted: Ctrl-C at a question.
    """
    # Servers start concurrently and with a time limit. Questions in the middle of that would overlap with the progress
    # display, and a person who looks for a password would cost the server its start. Without a prompter afterwards, an
    # input that was skipped here fails its server instead of being asked again.
    resolver.prompter = Questions()
    missing: set[str] = set()
    for config in servers:
        for input_id in input_ids(config.parameters()) if not config.disabled else ():
            if resolver.get(input_id) is not None and input_id not in missing:
                try:
                    await resolver.resolve(input_id, config.name)
                except InputMissing as error:
                    missing.add(input_id)
                    logger.warning("%s", error)
    resolver.prompter = None


class Questions:
    """Asks for inputs at a terminal, one at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def ask(self, wanted: MCPServerInput) -> str | None:
        """The answer; None after Ctrl-D.

        Raises:
            Interrupted: Ctrl-C.
        """
        async with self._turn:
            try:
                return await self._ask(wanted)
            except EOFError:
                return None

    async def _ask(self, wanted: MCPServerInput) -> str | None:
        if isinstance(wanted, MCPServerCommandInput):
            return None
        label = printable(f"{wanted.description or wanted.id} [{wanted.id}]")
        default = wanted.default or ""
        if isinstance(wanted, MCPServerPickStringInput):
            return await self._pick(label, wanted.labels, default)
        secret = bool(wanted.password)
        hint = f" ({default})" if default and not secret else ""
        answer = await prompt_session().prompt_async(f"{label}{hint}: ", is_password=secret)
        return answer or None

    async def _pick(self, label: str, options: Mapping[str, str], default: str) -> str | None:
        """The value of an option, given as its number, its label or itself; `options` has the labels by value."""
        values = list(options)
        print(f"{label}:")
        for number, (value, shown) in enumerate(options.items(), 1):
            print(f"  {number}. {printable(shown)}{'  (default)' if value == default else ''}")
        session = prompt_session(completer=WordCompleter(list(options.values()), sentence=True))
        while True:
            answer = (await session.prompt_async("number or text: ")).strip()
            if not answer:
                return default or None
            named = [value for value, shown in options.items() if shown == answer]
            # A value counts before a label: it is what the configuration and the environment name.
            if answer in options or len(named) == 1:
                return answer if answer in options else named[0]
            if answer.isdecimal() and 1 <= int(answer) <= len(options):
                return values[int(answer) - 1]
            print(f"{answer}: not one of the options")
