"""`a2c server` as a process of its own, as an operator runs it."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path

from tests.support.running import PATIENCE

A2C = [sys.executable, "-m", "a2c_smcp.cli"]


class ServerProcess:
    """A running `a2c server`; `log` grows as it writes to standard error."""

    def __init__(self, *flags: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("A2C_")}
        self.process = subprocess.Popen(
            [*A2C, "server", "--port", "0", *flags],
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, cwd=cwd, env={**clean, **(env or {})},
        )  # fmt: skip
        self.log: list[str] = []
        self.url = ""
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self.wait_for(r"at (https?://\S+?),").group(1)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first log line that matches, whenever it comes."""

        def find() -> re.Match[str] | None:
            return next((found for line in self.log if (found := re.search(pattern, line))), None)

        with self._changed:
            found = self._changed.wait_for(find, PATIENCE)
        assert found, "".join(self.log)
        return found

    def stop(self, signal: int) -> int:
        """Send a signal and wait for the exit code."""
        self.process.send_signal(signal)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._changed:
                self.log.append(line)
                self._changed.notify_all()


@contextlib.contextmanager
def server_process(*flags: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> Generator[ServerProcess]:
    server = ServerProcess(*flags, env=env, cwd=cwd)
    try:
        yield server
    finally:
        server.close()


def a2c(
    *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that ends by itself."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("A2C_")}
    return subprocess.run(
        [*A2C, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=cwd,
        env={**clean, **(env or {})},
    )
