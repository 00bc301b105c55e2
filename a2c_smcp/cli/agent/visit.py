"""An Agent in an office for the time of a command, and how what goes wrong there ends it."""

from __future__ import annotations

import difflib
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from a2c_smcp.agent.auth import DefaultAgentAuthProvider
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.cli.agent.command import Options
from a2c_smcp.errors import (
    DocumentNotFoundError,
    ElementNotFoundError,
    ForbiddenError,
    InvalidDPEUriError,
    NotAuthenticatedError,
    NotConnectedError,
    NotFoundError,
    OfficeFullError,
    PageOutOfRangeError,
    SMCPError,
    TimedOutError,
    ToolNotFoundError,
    ToolTimedOutError,
)
from a2c_smcp.utils.text import printable

logger = logging.getLogger("a2c.agent")

FAILED, WRONG, NOT_IN, NOT_THERE, TIMED_OUT = 1, 2, 3, 4, 5

_NOT_THERE = (NotFoundError, ToolNotFoundError, DocumentNotFoundError, PageOutOfRangeError, ElementNotFoundError)

T = TypeVar("T")


class Visit:
    """The Agent, and what the commands share."""

    def __init__(self, options: Options) -> None:
        self.options = options
        provider = DefaultAgentAuthProvider(
            options.name, options.office, options.api_key, api_key_header=options.api_key_header
        )
        self.agent = AsyncSMCPAgentClient(provider)

    def chosen(self, computer: str | None) -> tuple[str, ...]:
        """The Computers that a command is about.

        Raises:
            NotFoundError: there is no such Computer; those of similar names are suggested.
        """
        if computer is None:
            return self.agent.computers
        if computer not in self.agent.computers:
            raise NotFoundError(f"there is no Computer {computer} in {self.options.office}{self._hint(computer)}")
        return (computer,)

    def _hint(self, computer: str) -> str:
        here = self.agent.computers
        return did_you_mean(computer, here) or (f"; there are {', '.join(here)}" if here else "; there is none")

    def tool(self, computer: str, name: str) -> dict[str, Any]:
        """The schema of a tool's parameters.

        Raises:
            ToolNotFoundError: there is no such tool; those of similar names are suggested.
        """
        tools = {tool["name"]: tool["params_schema"] for tool in self.agent.tools.get(computer, [])}
        if name not in tools:
            raise ToolNotFoundError(f"{computer} has no tool {name}{did_you_mean(name, tools)}")
        return tools[name]

    async def find(self, computer: str | None, ask: Callable[[str], Awaitable[T]]) -> tuple[str, T]:
        """Ask the Computers one after another for something that one of them has; that one, and what it answers.

        Raises:
            SMCPError: nobody has it; what the one said that knew most about it.
        """
        problem: SMCPError = NotFoundError("there is no Computer in the office")
        for candidate in self.chosen(computer):
            try:
                return candidate, await ask(candidate)
            except (DocumentNotFoundError, NotFoundError) as error:
                problem = error
        raise problem


async def visiting(options: Options, main: Callable[[Visit], Awaitable[int]]) -> int:
    """Join, do it, leave; the exit code."""
    visit = Visit(options)
    try:
        try:
            await visit.agent.connect_to_server(options.url)
            await visit.agent.join_office()
        except SMCPError as error:
            complain(_why_not_in(error, options))
            return NOT_IN
        await visit.agent.settle(options.timeout)
        return await main(visit)
    except SMCPError as error:
        complain(f"{error.message} ({error.code})")
        return exit_code(error)
    finally:
        await visit.agent.disconnect()


def exit_code(error: SMCPError) -> int:
    """What a script can tell from the exit code."""
    match error:
        case NotConnectedError():
            return NOT_IN
        case InvalidDPEUriError():
            return WRONG
        case TimedOutError() | ToolTimedOutError():
            return TIMED_OUT
        case _:
            return NOT_THERE if isinstance(error, _NOT_THERE) else FAILED


def complain(message: str) -> None:
    """One line on standard error."""
    print(f"a2c: {printable(message)}", file=sys.stderr)


def did_you_mean(word: str, choices: Any) -> str:
    """A hint at what may have been meant; empty when nothing is near."""
    near = difflib.get_close_matches(word, list(choices), 3, 0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _why_not_in(error: SMCPError, options: Options) -> str:
    match error:
        case OfficeFullError():
            return f"office {options.office} has an Agent already, and takes only one ({error.code})"
        case NotAuthenticatedError() | ForbiddenError():
            return f"{error.message}; is A2C_API_KEY right? ({error.code})"
        case _:
            return f"{error.message} ({error.code})"
