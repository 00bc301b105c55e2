"""An Agent in an office for the time of a command, and the exit codes of its errors."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from a2c_smcp.agent.auth import DefaultAgentAuthProvider
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.cli.agent.asking import Person
from a2c_smcp.cli.agent.command import Options
from a2c_smcp.cli.errors import did_you_mean
from a2c_smcp.cli.progress import CallShown, wait_shown
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
from a2c_smcp.protocol.blob_download import Download
from a2c_smcp.smcp import SMCPTool
from a2c_smcp.utils.text import one_line, printable

logger = logging.getLogger("a2c.agent")

FAILED, WRONG, NOT_IN, NOT_THERE, TIMED_OUT = 1, 2, 3, 4, 5

_NOT_HERE = (NotFoundError, DocumentNotFoundError)
"""The errors after which another Computer may still have the resource."""
_NOT_THERE = (NotFoundError, ToolNotFoundError, DocumentNotFoundError, PageOutOfRangeError, ElementNotFoundError)

T = TypeVar("T")


class Session:
    """The Agent, and requests that several commands need."""

    def __init__(self, options: Options) -> None:
        self.options = options
        provider = DefaultAgentAuthProvider(
            options.name, options.office, options.api_key, api_key_header=options.api_key_header
        )
        self._shown: CallShown | None = None
        self.agent = AsyncSMCPAgentClient(
            provider, ca_file=options.ca_file, dialect=options.dialect, on_download=self._on_download
        )
        self.person = Person()
        """Who answers the questions of tools."""

    @contextlib.contextmanager
    def downloads_shown(self, shown: CallShown) -> Generator[None]:
        """Show downloads while the block runs."""
        before, self._shown = self._shown, shown
        try:
            yield
        finally:
            self._shown = before

    def _on_download(self, download: Download) -> None:
        if self._shown is not None:
            self._shown.download(download.done, download.total, download.mime_type)

    def chosen(self, computer: str | None) -> tuple[str, ...]:
        """The given Computer, or all of them.

        Raises:
            NotFoundError: the Computer is not in the office, or the office has no Computer.
        """
        if computer is None:
            if not self.agent.computers:
                raise NotFoundError(f"no Computer is in the office {self.options.office}")
            return self.agent.computers
        if computer not in self.agent.computers:
            raise NotFoundError(f"no Computer {computer} in office {self.options.office}{self._hint(computer)}")
        return (computer,)

    def _hint(self, computer: str) -> str:
        here = self.agent.computers
        return did_you_mean(computer, here) or (f"; it has {', '.join(here)}" if here else "; it has no Computers")

    async def wait(self, computer: str | None, tool: str | None) -> None:
        """Wait for a Computer and its tool, or for any Computer, for as long as --wait says.

        Raises:
            TimedOutError: it did not appear in time.
        """
        seconds = self.options.wait
        if not seconds:
            return
        what = f"tool {tool} of {computer}" if tool is not None else computer or "a Computer"
        async with wait_shown(printable(f"waiting for {what} in {self.options.office}; press Ctrl-C to stop")):
            if computer is not None:
                await self.agent.wait_for(computer, tool, seconds)
                return
            try:
                # Subscribed before the list is checked: a Computer that joins in between would be missed.
                changes = self.agent.changes()
                async with asyncio.timeout(seconds):
                    while not self.agent.computers:
                        await anext(changes)
            except StopAsyncIteration:
                raise NotConnectedError from None
            except TimeoutError:
                raise TimedOutError(f"no Computer joined {self.options.office} within {seconds:g} s") from None

    async def tools(self, computer: str) -> list[SMCPTool]:
        """The current tools of a Computer."""
        return (await self.agent.get_tools_from_computer(computer, self.options.timeout))["tools"]

    async def tool(self, computer: str, name: str) -> SMCPTool:
        """One tool of a Computer.

        Raises:
            ToolNotFoundError: the Computer has no such tool.
        """
        # The list that the Agent keeps may be behind, so only a tool that it has needs no request.
        known = _by_name(self.agent.tools.get(computer, []))
        if name not in known:
            known = _by_name(await self.tools(computer))
        if name not in known:
            raise ToolNotFoundError(f"{computer} has no tool {name}{did_you_mean(name, known)}")
        return known[name]

    async def find(self, computer: str | None, uri: str, ask: Callable[[str], Awaitable[T]]) -> tuple[str, T]:
        """Send a request to all Computers; returns the first that has the resource, and its answer.

        Raises:
            SMCPError: no Computer has the resource, or one that may have it did not answer.
        """
        chosen = self.chosen(computer)
        problems: list[SMCPError] = []
        # Requested concurrently but awaited in order: if several have the address, the result does not depend on which
        # of them is the fastest.
        asked = [asyncio.ensure_future(ask(each)) for each in chosen]
        try:
            for each, answer in zip(chosen, asked, strict=True):
                try:
                    return each, await answer
                except SMCPError as error:
                    problems.append(error)
        finally:
            for answer in asked:
                answer.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        # "Not found" is certain only if all Computers say so. Otherwise the reason why one did not answer comes first.
        problem = next((each for each in problems if not isinstance(each, _NOT_HERE)), problems[0])
        if len(problems) > 1 and isinstance(problem, _NOT_HERE):
            raise type(problem)(f"no Computer in {self.options.office} has {uri}")
        raise problem


def folder_of(save_to: Path | None) -> str | None:
    """The folder of `--save-to`, as the Agent wants it."""
    return None if save_to is None else f"{save_to.expanduser()}/"


async def in_session(
    options: Options, main: Callable[[Session], Awaitable[int]], computer: str | None = None, tool: str | None = None
) -> int:
    """Join the office, wait as --wait says, run `main`, and leave; returns the exit code."""
    session = Session(options)
    try:
        try:
            await session.agent.connect_to_server(options.url)
            await session.agent.join_office()
        except SMCPError as error:
            complain(_why_not_in(error, options))
            return NOT_IN
        await session.wait(computer, tool)
        return await main(session)
    except SMCPError as error:
        complain(f"{error.message} ({error.code})")
        return exit_code(error)
    except OSError as error:
        if error.filename is None:  # standard output cannot be written
            raise
        complain(f"{error.filename}: {error.strerror or error}")
        return FAILED
    finally:
        # An office admits one Agent. If this one did not leave, the next command would be rejected until the Server
        # notices the lost connection.
        await session.agent.disconnect()


async def of_each(session: Session, computer: str | None, ask: Any) -> tuple[dict[str, Any], int]:
    """The answers of the Computers, requested concurrently. An error is printed, and the exit code is then 1."""
    # With one Computer, its error is the outcome of the command, with the exit code that belongs to the error.
    chosen = session.chosen(computer)
    outcomes = await asyncio.gather(*map(ask, chosen), return_exceptions=True)
    found: dict[str, Any] = {}
    for each, outcome in zip(chosen, outcomes, strict=True):
        if not isinstance(outcome, BaseException):
            found[each] = outcome
        elif len(chosen) == 1 or not isinstance(outcome, SMCPError):
            raise outcome
        else:
            complain(f"{each}: {outcome.message} ({outcome.code})")
    return found, 0 if len(found) == len(chosen) else FAILED


def exit_code(error: SMCPError) -> int:
    """The exit code of an error, as the help of `a2c agent` lists them."""
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
    """Print an error."""
    print(f"a2c: {one_line(message)}", file=sys.stderr)


def _by_name(tools: list[SMCPTool]) -> dict[str, SMCPTool]:
    return {tool["name"]: tool for tool in tools}


def _why_not_in(error: SMCPError, options: Options) -> str:
    match error:
        case NotAuthenticatedError() | ForbiddenError():
            return f"{error.message}; check A2C_API_KEY ({error.code})"
        case OfficeFullError():
            from a2c_smcp.gateway.nodes import AGENT_NAME  # it loads the library of MCP's servers

            if repr(AGENT_NAME) in error.message:
                hosts = "MCP hosts use the office: quit them, and wait a minute"
                return f"{error.message}; {hosts} ({error.code})"
            return f"{error.message} ({error.code})"
        case _:
            return f"{error.message} ({error.code})"
