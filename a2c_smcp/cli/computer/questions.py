"""Questions for the inputs of a configuration, at a terminal."""

from __future__ import annotations

import asyncio

from prompt_toolkit.completion import WordCompleter

from a2c_smcp.cli.console import Interrupted, prompt_session
from a2c_smcp.computer.mcp_clients.model import (
    MCPServerCommandInput,
    MCPServerInput,
    MCPServerPickStringInput,
)
from a2c_smcp.utils.text import printable


class Questions:
    """Asks for inputs at a terminal, one at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self.is_interrupted = False
        """Whether somebody pressed Ctrl-C at a question."""

    async def ask(self, wanted: MCPServerInput) -> str | None:
        """What the person says; None when they press Ctrl-C or Ctrl-D."""
        async with self._turn:
            try:
                return await self._ask(wanted)
            except EOFError:
                return None
            except Interrupted:
                self.is_interrupted = True
                return None

    async def _ask(self, wanted: MCPServerInput) -> str | None:
        if isinstance(wanted, MCPServerCommandInput):
            return None
        label = printable(f"{wanted.description or wanted.id} [{wanted.id}]")
        default = wanted.default or ""
        if isinstance(wanted, MCPServerPickStringInput):
            return await self._pick(label, wanted.options, default)
        secret = bool(wanted.password)
        hint = f" ({default})" if default and not secret else ""
        answer = await prompt_session().prompt_async(f"{label}{hint}: ", is_password=secret)
        return answer or None

    async def _pick(self, label: str, options: list[str], default: str) -> str | None:
        print(f"{label}:")
        for number, option in enumerate(options, 1):
            print(f"  {number}. {option}{'  (default)' if option == default else ''}")
        session = prompt_session(completer=WordCompleter(options, sentence=True))
        while True:
            answer = (await session.prompt_async("number or text: ")).strip()
            if not answer:
                return default or None
            if answer in options:
                return answer
            if answer.isdecimal() and 1 <= int(answer) <= len(options):
                return options[int(answer) - 1]
            print("that is none of them")
