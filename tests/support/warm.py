"""`a2c` and Python programs as processes of their own that have their imports behind them.

Imports take most of the time of a short program. A fork server of `multiprocessing` does them once for all.
"""

from __future__ import annotations

from tests.support.systems import need_posix

need_posix("a fork server")

import contextlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

from a2c_smcp.cli.main import main
from tests.support.process import Command, LineProcess

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
        "a2c_smcp.computer.socketio.client",
        "a2c_smcp.server.serving",
        "a2c_smcp.utils.results",
        "uvloop",
    ]
)


class WarmProcess(LineProcess):
    """A running `a2c`, or a program in Python: `a2c` and its arguments, or `python`, `-c` and its text."""

    def _start(self, command: Command, env: dict[str, str], cwd: Path | None) -> subprocess.Popen[str]:
        self._forked = _Forked(command, env, cwd or Path.cwd())
        return cast("subprocess.Popen[str]", self._forked)

    def type(self, text: str = "") -> None:
        """The whole of its standard input, which is small."""
        with contextlib.suppress(BrokenPipeError):  # it does not have to read
            os.write(self._forked.stdin.fileno(), text.encode())
        self._forked.stdin.close()


class _Forked:
    """As much of a `Popen` as a `LineProcess` needs."""

    def __init__(self, command: Command, env: dict[str, str], cwd: Path) -> None:
        printed, output = _FORKS.Pipe(duplex=False)
        given, self.stdin = _FORKS.Pipe(duplex=False)
        self._process = _FORKS.Process(target=_act, args=(command, env, cwd, given, output))
        self._process.start()
        output.close()
        given.close()
        self.stdout = os.fdopen(os.dup(printed.fileno()), encoding="utf-8", errors="replace")
        printed.close()

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self._process.is_alive() and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.stdin.close()
        self.send_signal(signal.SIGKILL)


def _act(command: Command, env: dict[str, str], cwd: Path, given: Connection, output: Connection) -> None:
    """In the new process: what a shell does before a program begins, and the program."""
    for number, end in ((0, given), (1, output), (2, output)):
        os.dup2(end.fileno(), number)
    given.close()
    output.close()
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    program, *arguments = command
    sys.argv = [shutil.which(program) or program, *arguments]
    if program == "a2c":
        main()
    else:
        exec(compile(arguments[1], "<program>", "exec"), {"__name__": "__main__"})
