"""A reader's terminal: runs the commands and programs of a page in order, and checks their outcome."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.certificates import self_signed
from tests.support.pages import ROOT
from tests.support.process import LineProcess, WarmProcess, free_port

USUAL = "http://127.0.0.1:8000"
"""The address of the Server in the pages."""
ELSEWHERE = "https://hub.example.com"
"""The address of another Server in the pages."""


class Terminal:
    """A terminal in its own folder. `my-laptop` is in the office `demo` of one Server; another Server is empty."""

    def __init__(self, folder: Path, demo_url: str, quiet_url: str) -> None:
        self._folder = folder
        self._url = demo_url
        self._quiet_url = quiet_url
        self._up = contextlib.ExitStack()
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("A2C_")},
            "A2C_URL": demo_url,
            "HOME": str(folder),
            # The files of the reader's hosts are in that folder, too.
            **dict.fromkeys(("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"), ""),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHON": sys.executable,
        }
        self._furnish()

    def _furnish(self) -> None:
        """Make the files that the pages assume."""
        pair = self_signed(self._folder, "127.0.0.1")
        pair.certificate.rename(self._folder / "cert.pem")
        pair.key.rename(self._folder / "key.pem")
        for name in ("Documents", ".cursor"):
            (self._folder / name).mkdir()
        self.save("Documents/notes.md", "# Notes\n\nMilk is out.\n")
        self.save("server.toml", 'log_level = "info"\n')
        hello = {"command": "${A2C_PYTHON}", "args": [str(ROOT / "examples" / "hello_server.py")]}
        servers = {"hello": {**hello, "default_tool_meta": {"auto_apply": True}}}
        for name in ("mcp.json", "claude_desktop_config.json", ".cursor/mcp.json"):
            self.save(name, json.dumps({"mcpServers": servers}))
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
                self._complete_line(line)

    def run(self, program: str) -> None:
        """Run a program in Python; what follows `print(…)  # ` is what it prints."""
        printed = self._complete(["python", "-c", program.replace(USUAL, self._url)])
        lines = iter(printed.splitlines())
        for promised in re.findall(r"print\(.*\)  # (.*)$", program, re.MULTILINE):
            assert promised in lines, f"not printed, or not in this order: {promised}\n{printed}"

    def _complete_line(self, line: str) -> None:
        """Run a command that ends by itself; `echo WORDS |` before it gives it the words as input."""
        typed, _, command = line.rpartition(" | ")
        program, *arguments = shlex.split(command, comments=True)
        assert program == "a2c", f"there is no check for: {line}"
        assert not typed or typed.startswith("echo "), f"there is no check for: {line}"
        self._complete([program, *arguments], typed.removeprefix("echo "))

    def _complete(self, command: list[str], typed: str = "") -> str:
        """The output of a command that ends by itself, with exit code 0."""
        with self._started(command) as process:
            process.type(f"{typed}\n" if typed else "")
            code = process.end()
        assert code == 0, f"{command}\n{process.text}"
        return process.text

    def _started(self, command: list[str]) -> contextlib.closing[WarmProcess]:
        return contextlib.closing(WarmProcess(command, env=self._environment, cwd=self._folder))

    def _start_up(self, flags: list[str]) -> None:
        """A terminal that stays open, and shows what a reader copies into the next one."""
        self._up.close()
        flags = [flag.replace("~", str(self._folder)) for flag in flags]
        process = self._up.enter_context(self._started(["a2c", "up", *flags, "--port", str(free_port())]))
        self._up.callback(process.stop, signal.SIGTERM)
        process.wait_for("MCP server documents is ready")
        for line in re.findall(r"^ *export (.*)$", process.text, re.MULTILINE):
            self._environment |= dict(word.split("=", 1) for word in shlex.split(line))
        self._url = self._environment["A2C_URL"]

    def _serve(self, flags: list[str]) -> None:
        """It starts, and ends well on SIGTERM."""
        flags = [flag for flag in flags if flag not in ("--port", "9000")]
        with self._started(["a2c", "server", "--port", "0", *flags]) as server:
            server.wait_for(r"at https?://")
            assert server.stop(signal.SIGTERM) == 0

    def _serve_with_gunicorn(self, flags: list[str]) -> None:
        command = [sys.executable, "-m", "gunicorn", "--bind", "127.0.0.1:0", *flags]
        with contextlib.closing(LineProcess(command)) as process:
            process.wait_for("Booting worker")
            assert process.stop(signal.SIGTERM) == 0

    def _join(self, arguments: list[str]) -> None:
        """It joins its office, at the prompt or as a service, and leaves in good order."""
        flags = [self._quiet_url if flag in (self._url, ELSEWHERE) else flag for flag in arguments]
        office = flags[flags.index("--office") + 1]
        with self._started(["a2c", *flags]) as computer:
            computer.wait_for(f"in office {office}")
            if "--no-interactive" in flags:
                computer.process.terminate()
            else:
                computer.type()
            assert computer.end() == 0, computer.text

    def _watch(self, arguments: list[str]) -> None:
        """It sees another Computer come."""
        flags = ("--config", "mcp.json", "--url", self._url, "--office", "demo", "--name", "other")
        with self._started(["a2c", "agent", "--log-level", "info", *arguments[1:]]) as watching:
            watching.wait_for("watching")
            with self._started(["a2c", "computer", "--no-interactive", *flags]):
                watching.wait_for("other joined")
            assert watching.end() == 0
