"""`a2c` and Python programs as processes of their own that do not repeat the imports.

Imports take most of the time of a short program: 0.5 s for a Server, 0.7 s for an Agent's command and 1.6 s for a
Computer, while most of them work for less than 50 ms. A fork server of `multiprocessing` imports everything once. Each
process that it forks gets the streams, the environment, the folder and the arguments of a new program. Windows cannot
fork: there, `tests.support.process` starts a new interpreter instead.

Tests of imports, of `PYTHON…` variables and of command lines as other processes see them do not use this: they start a
new interpreter.
"""

from __future__ import annotations

import atexit
import fcntl
import multiprocessing
import os
import runpy
import shutil
import signal
import subprocess
import sys
import termios
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

from a2c_smcp.cli.main import main

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        __name__,
        "a2c_smcp.agent.client",
        "a2c_smcp.agent.sync_client",
        "a2c_smcp.agent.toolkit",
        "a2c_smcp.cli.agent.one_shot",
        "a2c_smcp.cli.agent.shell",
        "a2c_smcp.cli.computer.one_shot",
        "a2c_smcp.cli.computer.service",
        "a2c_smcp.cli.computer.shell",
        "a2c_smcp.cli.doctor.checks",
        "a2c_smcp.cli.doctor.views",
        "a2c_smcp.cli.mcp.serving",
        "a2c_smcp.computer.socketio.client",
        "a2c_smcp.gateway.mounting",
        "a2c_smcp.gateway.own_seat",
        "a2c_smcp.server.authorization.app",
        "a2c_smcp.server.serving",
        "a2c_smcp.utils.results",
        "mcp.server.mcpserver",
        "uvloop",
    ]
)


class Forked:
    """A program that runs: as much of a `Popen` as tests need.

    `command` is `a2c` and its arguments, or `python`, then a file or `-c` and a program, and its arguments. Standard
    error goes to standard output unless it is `is_apart`. With a `terminal`, which is one end of a pseudo-terminal, all
    three streams are this terminal.
    """

    def __init__(
        self, command: list[str], env: dict[str, str], cwd: Path, *, is_apart: bool = False, terminal: int | None = None
    ) -> None:
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        if terminal is not None:
            given = output = errors = Connection(os.dup(terminal))
        else:
            given, typed = _FORKS.Pipe(duplex=False)
            printed, output = _FORKS.Pipe(duplex=False)
            complained, errors = _FORKS.Pipe(duplex=False) if is_apart else (None, output)
            self.stdin = _opened(typed, "w")
            self.stdout = _opened(printed)
            self.stderr = _opened(complained) if complained is not None else None
        self._process = _FORKS.Process(target=_act, args=(command, env, cwd, given, output, errors))
        self._process.start()
        for end in {given, output, errors}:
            end.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return code

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self._process.is_alive():
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _opened(end: Connection, mode: str = "r") -> IO[str]:
    """The end of a pipe as a stream of text."""
    stream = os.fdopen(os.dup(end.fileno()), mode, encoding="utf-8", errors="replace")
    end.close()
    return stream


def _act(
    command: list[str], env: dict[str, str], cwd: Path, given: Connection, output: Connection, errors: Connection
) -> None:
    """In the new process: do what a shell does before a program begins, then run the program."""
    for number, end in ((0, given), (1, output), (2, errors)):
        os.dup2(end.fileno(), number)
    for end in {given, output, errors}:
        end.close()
    if os.isatty(0):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # its Ctrl-C interrupts the program
    # New objects: those of the fork server have its encoding, and are buffered as its own output is. A line is sent
    # when it is printed, because tests wait for it.
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding="utf-8", buffering=1, closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    program, *arguments = command
    try:
        if program == "a2c":
            sys.argv = [shutil.which(program) or program, *arguments]
            main()
        elif arguments[0] == "-c":
            sys.argv = [arguments[0], *arguments[2:]]
            exec(compile(arguments[1], "<program>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = arguments
            sys.path.insert(0, str(Path(arguments[0]).parent))
            runpy.run_path(arguments[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]  # `multiprocessing` leaves them out
