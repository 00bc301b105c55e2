"""Child processes: started apart from our terminal, ended with everything that they start, and never left behind.

On POSIX systems, a child leads a process group. It also has a mark in its environment, which its own children inherit:
so those that leave the group are found as well. If our process is killed, a watchdog ends them. On Windows, a child
gets a job object, which holds everything that it starts, and which ends with our process.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any


def describe_exit(code: int) -> str:
    """How a process ended, as a predicate: `exited with code 1`."""
    if code >= 0:
        return f"exited with code {code if code < 0x8000_0000 else hex(code)}"  # Windows' NTSTATUS, as 0xc0000005
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"


def end_with_parent(last: Callable[[], object] | None = None) -> None:
    """End this process when the one that started it has ended, even in the middle of a library that never returns.

    `last` is called before, such as to delete files. It must not fail.
    """

    def end(parent: int) -> None:
        _wait_for(parent)
        if last is not None:
            last()
        # `sys.exit` would end this thread only.
        os._exit(1)

    threading.Thread(target=end, args=[os.getppid()], daemon=True).start()


if sys.platform == "win32":
    from a2c_smcp.utils.system.jobs import Job, wait_for_process

    APART: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    """The options of a child that Ctrl-C in our terminal does not reach: we pass it on, in order."""
    LEAST_ENVIRONMENT = {"SYSTEMROOT": os.environ.get("SYSTEMROOT", r"C:\Windows")}  # without it Python does not start

    def program(command: str, environment: Mapping[str, str]) -> str:
        """What to start for a command: `npx` is `npx.cmd`, which only a shell would find."""
        return shutil.which(command, path=environment.get("PATH")) or command

    def shell_line(command: str, arguments: Sequence[str]) -> str:
        """A command for the system's shell, with arguments that it takes as they are."""
        return " ".join((command, subprocess.list2cmdline(arguments)))

    def give_way() -> None:
        """Let other processes have the processors first."""
        kernel = ctypes.windll.kernel32
        kernel.SetPriorityClass(kernel.GetCurrentProcess(), 0x4000)  # BELOW_NORMAL_PRIORITY_CLASS

    def _wait_for(parent: int) -> None:
        with suppress(OSError):  # it has ended already
            wait_for_process(parent)

    class ProcessTree:
        """A child that was started `APART`, and everything that it starts."""

        def __init__(self, pid: int) -> None:
            self._pid = pid
            self._job = Job()
            # The child runs already: what it starts in the microseconds before this line stays outside. Starting it
            # suspended would need its main thread's handle, which `subprocess` closes.
            with suppress(OSError):  # it has ended
                self._job.add(pid)

        def terminate(self) -> bool:
            """Ask all of them that share our console to end; return whether there are any processes at all."""
            with suppress(OSError):
                os.kill(self._pid, signal.CTRL_BREAK_EVENT)
            return self.is_alive()

        def kill(self) -> None:
            """End all of them."""
            self._job.kill()

        def is_alive(self) -> bool:
            """Whether any of them runs."""
            return self._job.count() > 0

        def close(self) -> None:
            """Close the job. Processes that still run end."""
            self._job.close()

    class Guard:
        """Ends the trees of our children if we are killed. Windows does it, by closing our jobs."""

        def mark(self) -> dict[str, str]:
            """The variables that the environment of the next child needs."""
            return {}

        def adopt(self, pid: int, mark: Mapping[str, str]) -> ProcessTree:
            """Guard a child that has been started."""
            return ProcessTree(pid)

        def close(self) -> None:
            """Stop guarding, once all children have ended. This blocks for a moment."""

else:
    from a2c_smcp.utils.system import watchdog

    APART: dict[str, Any] = {"start_new_session": True}
    """The options of a child that Ctrl-C in our terminal does not reach: we pass it on, in order."""
    LEAST_ENVIRONMENT: dict[str, str] = {}

    def program(command: str, environment: Mapping[str, str]) -> str:
        """What to start for a command."""
        return command

    def shell_line(command: str, arguments: Sequence[str]) -> str:
        """A command for the system's shell, with arguments that it takes as they are."""
        return " ".join((command, *map(shlex.quote, arguments)))

    def give_way() -> None:
        """Let other processes have the processors first."""
        with suppress(OSError):  # forbidden in a sandbox
            os.nice(10)

    def _wait_for(parent: int) -> None:
        while os.getppid() == parent:  # an orphan gets another parent
            time.sleep(1)

    class ProcessTree:
        """A child that was started `APART`, and everything that it starts."""

        def __init__(self, pid: int, mark: str | None = None, guard: Guard | None = None) -> None:
            self._pid = pid
            self._mark = mark
            self._guard = guard

        def terminate(self) -> bool:
            """Ask all of them to end; return whether there are any."""
            return watchdog.send(signal.SIGTERM, {self._pid}, self._mark)

        def kill(self) -> None:
            """End all of them."""
            watchdog.send(signal.SIGKILL, {self._pid}, self._mark)

        def is_alive(self) -> bool:
            """Whether any of them runs."""
            return watchdog.send(0, {self._pid}, self._mark)

        def close(self) -> None:
            """Stop guarding the child, after it has ended."""
            if self._guard is not None:
                self._guard.forget(self._pid)

    class Guard:
        """Ends the trees of our children if we are killed: a watchdog process does it."""

        def __init__(self) -> None:
            self._token = secrets.token_hex(8)
            self._numbers = itertools.count(1)
            self._watchdog: subprocess.Popen[bytes] | None = None

        def mark(self) -> dict[str, str]:
            """The variables that the environment of the next child needs."""
            # Started with the first child, because a Computer may have none. Its own session keeps Ctrl-C away from it.
            # Without `site` it starts faster, and in "/" it does not keep a folder from being unmounted.
            if self._watchdog is None or self._watchdog.poll() is not None:
                self._watchdog = subprocess.Popen(
                    [sys.executable, "-I", "-S", watchdog.__file__, self._token],
                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, bufsize=0, cwd="/",
                    start_new_session=True,
                )  # fmt: skip
            # The dot at the end matters: marks are compared by their beginning, and child 1 must not match child 10.
            return {watchdog.MARK: f"{self._token}.{next(self._numbers)}."}

        def adopt(self, pid: int, mark: Mapping[str, str]) -> ProcessTree:
            """Guard a child that has been started."""
            self._tell(f"+{pid}\n")
            return ProcessTree(pid, mark[watchdog.MARK], self)

        def forget(self, pid: int) -> None:
            """Stop guarding a child that has ended."""
            # Otherwise the watchdog could later kill another process group that gets the same number.
            self._tell(f"-{pid}\n")

        def close(self) -> None:
            """Stop guarding, once all children have ended. This blocks for a moment."""
            dog, self._watchdog = self._watchdog, None
            if dog is not None and dog.stdin is not None:
                dog.stdin.close()
                dog.wait()

        def _tell(self, line: str) -> None:
            if self._watchdog is not None and self._watchdog.stdin is not None:
                with suppress(OSError, ValueError):  # it has ended, or been closed; children must run all the same
                    self._watchdog.stdin.write(line.encode())
