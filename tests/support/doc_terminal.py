"""A reader's terminals: commands and programs of a page, one after another, and whether they do what they should."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.certificates import self_signed
from tests.support.computers import LineProcess, computer_process, free_port
from tests.support.pages import ROOT
from tests.support.process import A2C, ServerProcess, server_process

USUAL = "http://127.0.0.1:8000"
"""Where the pages have their Server."""
ELSEWHERE = "https://hub.example.com"
"""Where others have theirs."""
SECONDS = 60


class Terminal:
    """In a folder of its own, with a Server and `my-laptop` in the office `demo` running elsewhere."""

    def __init__(self, folder: Path, demo_url: str) -> None:
        self._folder = folder
        self._url = demo_url
        self._up = contextlib.ExitStack()
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("A2C_")},
            "A2C_URL": demo_url,
            "HOME": str(folder),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHON": sys.executable,
        }
        self._furnish()

    def _furnish(self) -> None:
        """The files that pages take for granted."""
        pair = self_signed(self._folder, "127.0.0.1")
        pair.certificate.rename(self._folder / "cert.pem")
        pair.key.rename(self._folder / "key.pem")
        for name in ("Documents", ".cursor"):
            (self._folder / name).mkdir()
        self.save("Documents/notes.md", "# Notes\n\nMilk is out.\n")
        self.save("server.toml", 'log_level = "info"\n')
        for name in ("mcp.json", "claude_desktop_config.json", ".cursor/mcp.json"):
            self.save(name, (ROOT / "examples" / "mcp.json").read_text("utf-8"))
        (self._folder / "examples").symlink_to(ROOT / "examples")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._up.close()

    def save(self, name: str, text: str) -> None:
        """Make a file."""
        (self._folder / name).write_text(text, "utf-8")

    def type(self, line: str) -> None:
        """Run a line; programs that stay are started, seen to work, and stopped, `a2c up` not before the next."""
        line = line.replace(USUAL, self._url)
        program, *arguments = shlex.split(line, comments=True) or [""]
        command = arguments[0] if program == "a2c" else program
        match command:
            case "":
                return
            case "make":
                target = rf"^{arguments[0]}:"
                assert re.search(target, (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), line
            case "export":
                self._environment |= dict(word.split("=", 1) for word in arguments)
            case "up":
                self._start_up(arguments[1:])
            case "server":
                self._serve(arguments[1:])
            case "gunicorn":
                self._serve_with_gunicorn(arguments)
            case "computer" if "--url" in arguments:
                self._join(arguments)
            case "agent" if "watch" in arguments:
                self._watch(arguments)
            case _:
                self._type_into_shell(line)

    def run(self, program: str) -> None:
        """Run a program in Python; what follows `print(…)  # ` is what it prints."""
        printed = self._complete([sys.executable, "-c", program.replace(USUAL, self._url)])
        lines = iter(printed.splitlines())
        for promised in re.findall(r"print\(.*\)  # (.*)$", program, re.MULTILINE):
            assert promised in lines, f"not printed, or not in this order: {promised}\n{printed}"

    def _type_into_shell(self, line: str) -> None:
        assert re.match(r"(a2c|echo) ", line), f"nobody knows how to check: {line}"
        self._complete(["bash", "-euo", "pipefail", "-c", line])

    def _complete(self, command: list[str]) -> str:
        """What a command prints that ends by itself, and well."""
        outcome = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
        )
        assert outcome.returncode == 0, f"{outcome.stdout}\n{outcome.stderr}"
        return outcome.stdout

    def _start_up(self, flags: list[str]) -> None:
        """A terminal that stays open, and shows what a reader copies into the next one."""
        self._up.close()
        flags = [flag.replace("~", str(self._folder)) for flag in flags]
        command = [*A2C, "up", *flags, "--port", str(free_port())]
        process = LineProcess(command, env=self._environment, cwd=self._folder)
        self._up.enter_context(contextlib.closing(process))
        self._up.callback(process.stop, signal.SIGTERM)
        process.wait_for("MCP server documents is ready", patience=SECONDS)
        for line in re.findall(r"^ *export (.*)$", process.text, re.MULTILINE):
            self._environment |= dict(word.split("=", 1) for word in shlex.split(line))
        self._url = self._environment["A2C_URL"]

    def _serve(self, flags: list[str]) -> None:
        """It starts, and ends well on SIGTERM."""
        server = ServerProcess(*[flag for flag in flags if flag not in ("--port", "9000")], cwd=self._folder)
        try:
            assert server.stop(signal.SIGTERM) == 0
        finally:
            server.close()

    def _serve_with_gunicorn(self, flags: list[str]) -> None:
        command = [sys.executable, "-m", "gunicorn", "--bind", "127.0.0.1:0", *flags]
        with contextlib.closing(LineProcess(command)) as process:
            process.wait_for("Booting worker")
            process.process.terminate()
            assert process.process.wait(SECONDS) == 0

    def _join(self, arguments: list[str]) -> None:
        """It joins its office, at the prompt or as a service, and leaves in good order."""
        with server_process() as server:
            flags = [server.url if flag in (self._url, ELSEWHERE) else flag for flag in arguments]
            office = flags[flags.index("--office") + 1]
            process = subprocess.Popen(
                [*A2C, *flags],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                assert any(f"in office {office}" in line for line in process.stdout)
                if "--no-interactive" in flags:
                    process.terminate()
                process.communicate(timeout=SECONDS)
                assert process.returncode == 0
            finally:
                process.kill()
                process.wait()

    def _watch(self, arguments: list[str]) -> None:
        """It sees another Computer come."""
        with contextlib.closing(LineProcess([*A2C, *arguments], env=self._environment)) as watching:
            flags = ("--config", "examples/mcp.json", "--url", self._url, "--office", "demo", "--name", "other")
            with computer_process(*flags, cwd=ROOT, env={"PYTHON": sys.executable}):
                watching.wait_for("other came")
            assert watching.process.wait(SECONDS) == 0
