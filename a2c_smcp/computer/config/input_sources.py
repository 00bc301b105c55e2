"""Where the values of inputs come from: the environment, a command, a keyring, a person."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import tempfile
from asyncio.subprocess import DEVNULL
from collections.abc import Iterator
from typing import Any, Protocol

from a2c_smcp.computer.config.model import MCPServerCommandInput, MCPServerInput
from a2c_smcp.utils.system.processes import APART, ProcessTree, program, shell_line
from a2c_smcp.utils.system.terminals import split_words
from a2c_smcp.utils.threads import in_thread

logger = logging.getLogger(__name__)

KEYRING_SECONDS = 20.0
MAX_PRINTED = 1_000_000


class InputMissing(ValueError):
    """An input has no value, and no person can be asked for one."""


class Prompter(Protocol):
    """Asks a person for the value of an input."""

    async def ask(self, wanted: MCPServerInput) -> str | None:
        """The answer of the person; None if there is none."""
        ...


def environment_names(prefix: str, input_id: str, server: str | None = None, tool: str | None = None) -> Iterator[str]:
    """The environment variables that may hold a value, the most specific first."""
    parts = [input_id, server or "", tool or ""]
    for count in range(3, 0, -1):
        if not all(parts[:count]):
            continue
        name = prefix + "_".join(parts[:count])
        # A shell cannot set a variable with other characters, such as the hyphen of an input `api-key`. The first
        # spelling is that of other implementations, which keep the case of the id.
        kept, upper = re.sub(r"[^A-Za-z0-9_]", "_", name), name.upper()
        yield from dict.fromkeys((kept, upper, re.sub(r"[^A-Z0-9_]", "_", upper)))


def from_environment(prefix: str, input_id: str, server: str | None = None, tool: str | None = None) -> str | None:
    """The value that the environment gives."""
    names = environment_names(prefix, input_id, server, tool)
    return next((os.environ[name] for name in names if name in os.environ), None)


async def from_command(wanted: MCPServerCommandInput) -> str:
    """What a command prints, stripped.

    Raises:
        InputMissing: it failed, or did not finish in time. Nothing of what it printed is in the message.
    """
    try:
        argv = _argv(wanted)
        name = os.path.basename(argv[0]) if not wanted.shell else "the shell"
    except (ValueError, IndexError) as error:
        raise InputMissing(f"input {wanted.id}: its command cannot be read: {error}") from None
    try:
        # A file, not a pipe: a process that the command leaves in the background would hold a pipe open, and the end of
        # the output would never come.
        with tempfile.TemporaryFile() as printed:
            start = asyncio.create_subprocess_shell if wanted.shell else asyncio.create_subprocess_exec
            process = await start(*argv, stdin=DEVNULL, stdout=printed, stderr=DEVNULL, **APART)
            tree = ProcessTree(process.pid)
            try:
                async with asyncio.timeout(wanted.timeout):
                    await process.wait()
            except TimeoutError:
                raise InputMissing(f"input {wanted.id}: {name} did not finish within {wanted.timeout:g} s") from None
            finally:
                tree.kill()  # also what the command has left running
                await process.wait()
                tree.close()
            printed.seek(0)
            output = printed.read(MAX_PRINTED + 1)
    except InputMissing:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputMissing(f"input {wanted.id}: {name} cannot be run: {reason}") from None
    if process.returncode != 0:
        raise InputMissing(f"input {wanted.id}: {name} ended with exit code {process.returncode}")
    if len(output) > MAX_PRINTED:
        raise InputMissing(f"input {wanted.id}: {name} printed more than {MAX_PRINTED} bytes")
    return output.decode("utf-8", "replace").strip()


def _argv(wanted: MCPServerCommandInput) -> list[str]:
    arguments: list[str] = []
    if isinstance(wanted.args, dict):
        arguments = [text for name, value in wanted.args.items() for text in (f"--{name}", value)]
    elif wanted.args is not None:
        arguments = wanted.args
    if wanted.shell:
        return [shell_line(wanted.command, arguments)]
    # A command that exists as it is may have spaces in its path. Only otherwise is it a command line with arguments.
    if shutil.which(wanted.command):
        return [program(wanted.command, os.environ), *arguments]
    return [*split_words(wanted.command), *arguments]


class Keyring:
    """Passwords in the keyring of the system. Without a usable keyring, it logs that once and stores nothing.

    `scope` keeps apart inputs of the same name in different configurations.
    """

    def __init__(
        self, scope: str = "", consequence: str = "passwords are not remembered", level: int = logging.WARNING
    ) -> None:
        self._service = f"a2c-stack {scope}".strip()
        self._consequence = consequence
        self._level = level
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

            # In a thread, with a limit: some backends open a dialog to unlock the keyring, or wait for a D-Bus service
            # that does not exist on a machine without a desktop.
            async with asyncio.timeout(KEYRING_SECONDS):
                return await in_thread(getattr(keyring, method), self._service, *arguments)
        except Exception as error:  # each backend has exceptions of its own
            self._usable = False
            logger.log(self._level, "no usable keyring (%s): %s", type(error).__name__, self._consequence)
            return None
