"""Where the values of inputs come from: the environment, a command, a keyring, a person."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shlex
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator
from typing import Any, Protocol

from a2c_smcp.computer.mcp_clients.model import MCPServerCommandInput, MCPServerInput

logger = logging.getLogger(__name__)

KEYRING_SECONDS = 20.0


class InputMissing(ValueError):
    """An input has no value, and there is nobody to ask."""


class Prompter(Protocol):
    """Asks a person."""

    async def ask(self, wanted: MCPServerInput) -> str | None:
        """What the person says; None when they give no answer."""
        ...


def environment_names(prefix: str, input_id: str, server: str | None = None, tool: str | None = None) -> Iterator[str]:
    """The environment variables that may hold a value, the most specific first."""
    parts = [input_id, server or "", tool or ""]
    for count in range(3, 0, -1):
        if not all(parts[:count]):
            continue
        name = (prefix + "_".join(parts[:count])).upper()
        yield name
        plain = re.sub(r"[^A-Z0-9_]", "_", name)
        if plain != name:
            yield plain


def from_environment(prefix: str, input_id: str, server: str | None = None, tool: str | None = None) -> str | None:
    """The value that the environment gives."""
    names = environment_names(prefix, input_id, server, tool)
    return next((os.environ[name] for name in names if name in os.environ), None)


async def from_command(wanted: MCPServerCommandInput) -> str:
    """What a command prints, stripped.

    Raises:
        InputMissing: it failed, or did not finish in time. Nothing of what it printed is in the message.
    """
    arguments: list[str] = []
    if isinstance(wanted.args, dict):
        arguments = [text for name, value in wanted.args.items() for text in (f"--{name}", value)]
    elif wanted.args is not None:
        arguments = wanted.args
    if wanted.shell:
        argv = ["/bin/sh", "-c", " ".join((wanted.command, *map(shlex.quote, arguments)))]
    elif shutil.which(wanted.command):
        argv = [wanted.command, *arguments]
    else:
        argv = [*shlex.split(wanted.command), *arguments]
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise InputMissing(f"input {wanted.id}: cannot run {argv[0]}: {error}") from None
    try:
        async with asyncio.timeout(wanted.timeout):
            output, _ = await process.communicate()
    except TimeoutError:
        raise InputMissing(f"input {wanted.id}: {argv[0]} did not finish within {wanted.timeout:g} s") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode != 0:
        raise InputMissing(f"input {wanted.id}: {argv[0]} ended with exit code {process.returncode}")
    return output.decode("utf-8", "replace").strip()


class Keyring:
    """Passwords in the system's keyring. Without a usable one it remembers nothing, and says so once."""

    def __init__(self, service: str = "a2c-stack") -> None:
        self._service = service
        self._usable = True

    async def get(self, input_id: str) -> str | None:
        """The password that was stored, if any."""
        return await self._use("get_password", input_id)

    async def set(self, input_id: str, value: str) -> None:
        """Store a password."""
        await self._use("set_password", input_id, value)

    async def delete(self, input_id: str) -> None:
        """Remove a password."""
        if await self.get(input_id) is not None:
            await self._use("delete_password", input_id)

    async def _use(self, method: str, *arguments: str) -> Any:
        if not self._usable:
            return None
        try:
            import keyring  # an extra

            async with asyncio.timeout(KEYRING_SECONDS):
                return await asyncio.to_thread(getattr(keyring, method), self._service, *arguments)
        except Exception as error:  # each backend has exceptions of its own
            self._usable = False
            logger.warning("no usable keyring (%s): passwords are not remembered", type(error).__name__)
            return None
