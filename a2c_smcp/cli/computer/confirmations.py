"""The owner's answers to calls that need confirmation, at a terminal."""

from __future__ import annotations

import asyncio
import json
import re
from enum import Enum
from typing import Any

from a2c_smcp.cli.console import Terminal, prompt_session
from a2c_smcp.cli.errors import Interrupted
from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.offer.calls import LONGEST_PRINCIPAL
from a2c_smcp.computer.offer.confirmation import CallToConfirm, call_to_confirm
from a2c_smcp.utils.text import one_line, printable

MAX_SHOWN = 4_000
"""Characters of a call's arguments that the question shows."""


class _Answer(Enum):
    YES = "yes"
    NO = "no"
    ALWAYS = "always"
    SAVE = "always, and save"


_WORDS = {
    **{word: _Answer.YES for word in ("y", "yes")},
    **{word: _Answer.NO for word in ("n", "no")},
    **{word: _Answer.ALWAYS for word in ("a", "always")},
    **{word: _Answer.SAVE for word in ("s", "save", "always save", "always and save")},
}
"""What may be typed, without commas."""


class Confirmations:
    """Asks the owner whether a tool may run. Without a terminal, only the owner's own calls may."""

    def __init__(self, computer: Computer, terminal: Terminal | None) -> None:
        self._computer = computer
        self._terminal = terminal
        self._always: dict[tuple[str, str], MCPServerConfig] = {}
        self._saving = asyncio.Lock()
        self._updates: set[asyncio.Task[None]] = set()
        self.own_calls: set[str] = set()
        """The ids of calls that the owner makes at the prompt. They are random, so that no Agent can guess one."""

    async def confirm(self, req_id: str, server: str, tool: str, parameters: dict[str, Any]) -> bool:
        """Whether the call may run; `always` also allows later calls of the tool."""
        if req_id in self.own_calls or self._is_always_allowed(server, tool):
            return True
        if self._terminal is None:
            return False
        call = call_to_confirm()
        try:
            # A call that times out or is cancelled cancels this wait, and with it the question.
            answer = await self._terminal.interrupt(
                lambda: self._ask(call, server, tool, parameters), lambda: _why_withdrawn(call)
            )
        except Interrupted:
            return False
        # Looked up again: the configuration may have changed while the question was open.
        config = self._config(server)
        if config is not None and answer in (_Answer.ALWAYS, _Answer.SAVE):
            self._always[server, tool] = config
        if config is not None and answer is _Answer.SAVE:
            await self._save(config, tool)
        return answer is not _Answer.NO

    async def _ask(self, call: CallToConfirm, server: str, tool: str, parameters: dict[str, Any]) -> _Answer:
        if self._is_always_allowed(server, tool):  # answered while this question waited for its turn
            return _Answer.YES
        config = self._config(server)
        file = config.origin.source.path if config is not None and config.origin is not None else None
        answers = [answer for answer in _Answer if answer is not _Answer.SAVE or file is not None]
        choices = " / ".join(answer.value for answer in answers)
        # Keys typed before the question was shown must not answer it. An Agent could otherwise time its calls to a
        # person who is typing.
        if self._terminal is not None:
            self._terminal.drop_typed_ahead()
        # The names and arguments come from the Agent and the MCP server: `one_line` and `printable` keep them from
        # imitating the question or moving the cursor over it.
        print(one_line(f"{_name_of(call)} wants to call {tool} of {server} with:"))
        print(printable(json.dumps(parameters, indent=2, ensure_ascii=False), MAX_SHOWN))
        session = prompt_session()
        while True:
            typed = await session.prompt_async(lambda: f"Allow it? {choices}{_time_left(call)}: ", refresh_interval=1)
            answer = _WORDS.get(" ".join(re.split(r"[\s,]+", typed.strip().lower())))
            if answer in answers:
                return answer
            and_save = f"; always, and save: also in {file}" if file is not None else ""
            print(one_line(f"always: {tool} of {server}, until this Computer stops{and_save}"))

    async def _save(self, config: MCPServerConfig, tool: str) -> None:
        """Allow the tool in the file that its server came from."""
        entry = self._computer.mcp_manager.book.entries.get(tool)
        if config.origin is None or entry is None:
            return
        source, place = config.origin.source, config.origin.place
        what = one_line(f"{tool} of {config.name}")
        async with self._saving:
            try:
                change = (*place, "tool_meta", entry.original_name, "auto_apply")
                await asyncio.to_thread(source.change, change, True)
            except OSError as error:
                print(f"{what} runs without confirmation until this Computer stops")
                print(f"not saved: {error.strerror or error} ({source.path})")
                return
        print(f"{what} runs without confirmation; saved to {source.path}")
        # In a task of its own: while its configuration changes under it, the call that is being confirmed would fail.
        update = asyncio.create_task(self._update(config, config.allowing(entry.original_name)))
        self._updates.add(update)
        update.add_done_callback(self._updates.discard)

    async def _update(self, old: MCPServerConfig, new: MCPServerConfig) -> None:
        """Give the running server the configuration that its file has now; earlier permissions stay."""
        if self._config(old.name) != old:
            return
        self._always |= {key: new for key, allowed in self._always.items() if allowed == old}
        await self._computer.aadd_or_aupdate_server(new)

    def _is_always_allowed(self, server: str, tool: str) -> bool:
        """Whether the tool was allowed, for the current configuration of its server."""
        # By configuration, not by name: a server that is replaced by another program under the same name asks again.
        config = self._always.get((server, tool))
        return config is not None and config == self._config(server)

    def _config(self, server: str) -> MCPServerConfig | None:
        return next((config for config in self._computer.mcp_servers if config.name == server), None)


def _name_of(call: CallToConfirm) -> str:
    caller = call.caller
    if not caller.agent:
        return "This program"
    user = f" for {one_line(caller.principal, LONGEST_PRINCIPAL)}" if caller.principal is not None else ""
    return f"Agent {caller.agent}{user} in office {caller.office_id}"


def _time_left(call: CallToConfirm) -> str:
    seconds = call.remaining()
    if seconds is None:
        return ""
    return f" ({seconds:.0f} s left)" if seconds < 120 else f" ({seconds / 60:.0f} min left)"


def _why_withdrawn(call: CallToConfirm) -> str:
    seconds = call.remaining()
    is_late = seconds is not None and seconds < 0.5  # timers are not exact
    return "the call timed out and did not run" if is_late else "the call was cancelled and did not run"
