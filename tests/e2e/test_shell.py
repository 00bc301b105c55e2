"""The prompt of `a2c computer` on a real pseudo-terminal, seen as a person sees it: by what is on the screen."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_server_command import people_of
from tests.support.computers import pids_in, raw, stdio, watching, write_config
from tests.support.peer import crowd, tool_call
from tests.support.process import A2C, server_process
from tests.support.running import PATIENCE

WIDTH, HEIGHT = 100, 60
TAB, ENTER, CTRL_C, CTRL_D, CTRL_U = "\t", "\r", "\x03", "\x04", "\x15"
IN_THE_TERMINAL = [
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])",
]
"""Makes the terminal the one whose Ctrl-C interrupts the program."""
PASSWORD = "pass-w0rd-77"
_SEQUENCE = re.compile(
    r"\x1b(?:\[(?P<params>[?>0-9;]*)(?P<final>[@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()].|[=>78cDEM])"
)


class Screen:
    """What a terminal shows: as much of one as prompt_toolkit and rich make use of."""

    def __init__(self) -> None:
        self._rows = [[" "] * WIDTH for _ in range(HEIGHT)]
        self._row = self._column = 0
        self._rest = ""
        self.scrolled: list[str] = []

    @property
    def lines(self) -> list[str]:
        """Everything that was ever above, and what stands now; the last line is the one with the cursor."""
        shown = ["".join(row).rstrip() for row in self._rows]
        return [*self.scrolled, *shown[: self._row + 1]]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def feed(self, text: str) -> str:
        """Take output in; what the terminal answers to it."""
        text, answers, position = self._rest + text, "", 0
        self._rest = ""
        while position < len(text):
            if text[position] != "\x1b":
                self._put(text[position])
                position += 1
                continue
            found = _SEQUENCE.match(text, position)
            if found is None:  # the rest of it comes later
                self._rest = text[position:]
                break
            answers += self._obey(found["final"], found["params"] or "")
            position = found.end()
        return answers

    def _put(self, character: str) -> None:
        match character:
            case "\r":
                self._column = 0
            case "\n":
                self._line_feed()
            case "\b":
                self._column = max(self._column - 1, 0)
            case _ if character >= " ":
                if self._column == WIDTH:
                    self._column = 0
                    self._line_feed()
                self._rows[self._row][self._column] = character
                self._column += 1
            case _:
                pass

    def _line_feed(self) -> None:
        self._row += 1
        if self._row == HEIGHT:
            self.scrolled.append("".join(self._rows.pop(0)).rstrip())
            self._rows.append([" "] * WIDTH)
            self._row -= 1

    def _obey(self, final: str | None, params: str) -> str:
        numbers = [int(number) for number in params.split(";") if number.isdigit()]
        count = max(numbers[0] if numbers else 1, 1)
        match final:
            case "A":
                self._row = max(self._row - count, 0)
            case "B":
                self._row = min(self._row + count, HEIGHT - 1)
            case "C":
                self._column = min(self._column + count, WIDTH - 1)
            case "D":
                self._column = max(self._column - count, 0)
            case "G":
                self._column = count - 1
            case "H":
                self._row, self._column = (count - 1, numbers[1] - 1 if len(numbers) > 1 else 0)
            case "J":
                if not numbers or numbers[0] == 0:
                    self._erase(self._column, WIDTH)
                    self._rows[self._row + 1 :] = [[" "] * WIDTH for _ in range(HEIGHT - self._row - 1)]
                else:
                    self._rows = [[" "] * WIDTH for _ in range(HEIGHT)]
            case "K":
                mode = numbers[0] if numbers else 0
                self._erase(self._column if mode == 0 else 0, self._column + 1 if mode == 1 else WIDTH)
            case "n" if params == "6":
                return f"\x1b[{self._row + 1};{self._column + 1}R"
            case _:
                pass
        return ""

    def _erase(self, start: int, end: int) -> None:
        self._rows[self._row][start:end] = [" "] * (end - start)


class TerminalProcess:
    """`a2c computer` in a terminal. What a person types is typed; what they see is in `screen`."""

    def __init__(self, *flags: str, home: Path, env: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        clean = {key: value for key, value in os.environ.items() if not key.startswith("A2C_")}
        settings = {"TERM": "xterm-256color", "XDG_STATE_HOME": str(home), "NO_COLOR": "", "COLUMNS": "", "LINES": ""}
        environment = {**clean, **settings, **env}
        self.process = subprocess.Popen(
            [*IN_THE_TERMINAL, *A2C, "computer", "--name", "pc", *flags],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={key: value for key, value in environment.items() if value},
        )  # fmt: skip
        os.close(slave)
        self.screen = Screen()
        self.raw = ""
        self._ended = False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def see(self, pattern: str, after: int = 0) -> re.Match[str]:
        """Wait until this is on the screen; the lines up to `after` do not count."""

        def find() -> re.Match[str] | None:
            return re.search(pattern, "\n".join(self.screen.lines[after:]), re.MULTILINE)

        with self._changed:
            self._changed.wait_for(lambda: find() or self._ended, PATIENCE)
            found = find()
        assert found, f"no {pattern!r} on the screen:\n{self.screen.text}"
        return found

    def mark(self) -> int:
        """Where the screen ends now, for `see`."""
        with self._changed:
            return len(self.screen.lines) - 1

    def see_prompt(self, typed: str = "") -> None:
        """Wait until the prompt is the last line, with this typed into it."""
        self.see(rf"^pc> {re.escape(typed)}\Z" if typed else r"^pc>\Z")

    def run(self, command: str, expected: str) -> str:
        """Type a command at the prompt and wait until it has shown this; everything that it has shown."""
        self.see_prompt()
        start = self.mark()
        self.type(command + ENTER)
        self.see(expected, start + 1)
        self.see(r"^pc>\Z", start + 1)
        return "\n".join(self.screen.lines[start + 1 : -1])

    def leave(self) -> int:
        """Press Ctrl-D and wait for the exit code."""
        self.type(CTRL_D)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        os.close(self._master)

    def _read(self) -> None:
        while True:
            select.select([self._master], [], [])
            try:
                data = os.read(self._master, 65536)
            except OSError:  # nobody has the other end any more
                data = b""
            with self._changed:
                text = data.decode("utf-8", "replace")
                self.raw += text
                answer = self.screen.feed(text)
                self._ended = not data
                self._changed.notify_all()
            if not data:
                return
            if answer:
                with contextlib.suppress(OSError):
                    os.write(self._master, answer.encode())


@contextlib.contextmanager
def terminal(folder: Path, *flags: str, env: dict[str, str] | None = None) -> Generator[TerminalProcess]:
    with contextlib.closing(TerminalProcess(*flags, home=folder / "state", env=env or {})) as process:
        yield process


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """One raw server whose tools ask first."""
    return write_config(tmp_path, {"raw": {**stdio(raw()), "default_tool_meta": None}})


def test_inputs_are_asked_for_at_the_start_and_a_password_is_not_shown(tmp_path: Path) -> None:
    env = {"PASSWORD": "${input:password}", "COLOUR": "${input:colour}", "SIZE": "${input:size}"}
    inputs = [
        {"id": "password", "type": "promptString", "description": "The password", "password": True},
        {"id": "colour", "type": "promptString", "description": "A colour", "default": "green"},
        {"id": "size", "type": "pickString", "description": "A size", "options": ["small", "large"]},
    ]
    config = write_config(tmp_path, {"raw": stdio(raw(), env=env)}, inputs)
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see(r"The password \[password\]: *\Z")
        shell.type(PASSWORD + ENTER)
        shell.see(r"A colour \[colour\] \(green\): *\Z")
        shell.type(ENTER)
        shell.see(r"1\. small")
        shell.see(r"number or text: *\Z")
        shell.type("medium" + ENTER)
        shell.see("that is none of them")
        shell.type("2" + ENTER)
        shell.see("1 of 1 MCP servers ready, 15 tools")
        assert PASSWORD not in shell.raw
        shell.run("call env name=COLOUR", "^green$")
        shell.run("call env name=SIZE", "^large$")
        shown = shell.run("inputs", "A size")
        assert re.search(r"password +promptString +••• +The password", shown)
        assert re.search(r"colour +promptString +green +A colour", shown)
        shell.run("config", r"\$\{input:password\}")
        assert PASSWORD not in shell.raw
        shell.run("call env name=PASSWORD", f"^{PASSWORD}$")  # who asks for it gets it
        assert shell.leave() == 0
    history = (tmp_path / "state" / "a2c" / "computer-history").read_text("utf-8")
    assert "call env name=COLOUR" in history
    assert PASSWORD not in history


def test_starting_shows_progress_and_what_went_wrong(tmp_path: Path) -> None:
    servers = {
        "good": stdio(raw()),
        "late": stdio(raw("--mode", "slow_start", "--prefix", "late_")),
        "bad": {"command": "no-such-command"},
        "off": stdio(raw(), disabled=True),
    }
    with terminal(tmp_path, "--config", str(write_config(tmp_path, servers))) as shell:
        shell.see("MCP servers: 3 of 4")
        shell.see("late")
        shell.see("✓ good 15 tools")
        shell.see_prompt()
        assert shell.screen.lines[:4] == [
            "✗ bad is failed: command not found: no-such-command",
            "– off is disabled",
            "2 of 4 MCP servers ready, 30 tools.",
            "Type help for the commands, Ctrl-D to leave.",
        ]
        assert shell.leave() == 0


def test_commands_at_the_prompt(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see("Type help for the commands, Ctrl-D to leave.")
        shown = shell.run("help", "quit")
        assert "call TOOL" in shown
        assert "Stop everything and leave." in shown
        shown = shell.run("status", "ready")
        assert "pc: offline" in shown
        assert re.search(r"✓ +raw +stdio +ready", shown)
        assert shell.run("call echo text=hello", "^hello$") == "hello"
        assert "asks first" in shell.run("tools", "The tool describe")
        shell.run("nonsense", "no such command; type help")
        shell.run("call", "usage: call")
        shell.run("history", r"echo +raw +ok +\{\"text\": \"hello\"\}")
        shell.run("", "")
        shell.type("quit" + ENTER)
        assert shell.process.wait(PATIENCE) == 0
    assert "Traceback" not in shell.raw
    assert "CPR" not in shell.raw


def test_tab_completes_commands_tools_and_parameters(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see_prompt()
        shell.type("hist" + TAB)
        shell.see_prompt("history")
        shell.type(CTRL_U)
        shell.see_prompt()
        shell.type("call des" + TAB)
        shell.see_prompt("call describe")
        shell.type(CTRL_U)
        shell.see_prompt()
        shell.type("call ech" + TAB)
        shell.see_prompt("call echo")
        shell.type(" te" + TAB)
        shell.see_prompt("call echo text=")
        start = shell.mark()
        shell.type("completed" + ENTER)
        shell.see("^completed$", start)
        shell.see_prompt()
        assert shell.leave() == 0


def test_ctrl_c_clears_the_line_and_ctrl_d_leaves(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see_prompt()
        shell.type("call echo text=unfinished")
        shell.see_prompt("call echo text=unfinished")
        shell.type(CTRL_C)
        shell.see_prompt()
        assert shell.process.poll() is None
        shell.run("call echo text=still", "^still$")
        assert shell.leave() == 0
    assert "Traceback" not in shell.raw


def test_ctrl_c_ends_the_command_that_runs_and_not_the_computer(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config), "--log-level", "info") as shell:
        shell.see_prompt()
        start = shell.mark()
        shell.type("call sleep seconds=60" + ENTER)
        shell.see("progress 1 of 2", start)
        shell.type(CTRL_C)
        shell.see(r"^pc>\Z", start + 1)
        shell.run("call echo text=still", "^still$")
        assert shell.leave() == 0
    assert "Traceback" not in shell.raw


def test_adding_a_server_that_does_not_answer_does_not_take_the_prompt_away(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see_prompt()
        start = shell.mark()
        shell.type(f"add mute {' '.join(raw('--mode', 'mute'))}" + ENTER)
        shell.see("starting", start + 1)
        shell.see_prompt()
        assert shell.leave() == 0


@pytest.mark.anyio
async def test_an_agents_call_asks_the_owner_who_says_yes_no_or_always(config: Path, tmp_path: Path) -> None:
    with server_process() as server:
        async with crowd(people_of(server)) as people:
            agent = await people.member("agent", "agent", "office")
            flags = ["--config", str(config), "--url", server.url, "--office", "office"]
            with terminal(tmp_path, *flags) as shell:
                await asyncio.to_thread(shell.see, "in office office as pc")
                await asyncio.to_thread(shell.see_prompt)

                async def asked(answer: str, req_id: str, typed: str = "", **fields: Any) -> Any:
                    """A call of the Agent, the question on the screen, and the owner's answer."""
                    start = shell.mark()
                    call = asyncio.create_task(agent.ask("client:tool_call", tool_call(req_id=req_id, **fields)))
                    question = r'echo of raw(?s:.*)"text": "hi"(?s:.*)yes / no / always.*: *\Z'
                    await asyncio.to_thread(shell.see, question, start)
                    shell.type(answer + ENTER)
                    async with asyncio.timeout(PATIENCE):
                        result = await call
                    await asyncio.to_thread(shell.see_prompt, typed)
                    return result

                refused = await asked("no", "r1")
                assert refused["isError"] is True
                assert refused["meta"]["error_code"] == 4005
                assert "did not allow" in refused["content"][0]["text"]
                assert (await asked("yes", "r2"))["content"][0]["text"] == "hi"

                shell.type("call echo text=half")
                await asyncio.to_thread(shell.see_prompt, "call echo text=half")
                assert (await asked("y", "r3", typed="call echo text=half"))["content"][0]["text"] == "hi"
                shell.type("-typed" + ENTER)
                await asyncio.to_thread(shell.see, "^half-typed$")
                await asyncio.to_thread(shell.see_prompt)

                assert (await asked("maybe" + ENTER + "always", "r4"))["content"][0]["text"] == "hi"
                start = shell.mark()
                unasked = await agent.ask("client:tool_call", tool_call(req_id="r5"))
                assert unasked["content"][0]["text"] == "hi"
                assert "always" not in "\n".join(shell.screen.lines[start + 1 :])
                await asyncio.to_thread(shell.see_prompt)
                assert await asyncio.to_thread(shell.leave) == 0
    assert "Traceback" not in shell.raw


@pytest.mark.anyio
async def test_ctrl_c_at_the_question_is_a_no(config: Path, tmp_path: Path) -> None:
    with server_process() as server:
        async with crowd(people_of(server)) as people:
            agent = await people.member("agent", "agent", "office")
            with terminal(tmp_path, "--config", str(config), "--url", server.url, "--office", "office") as shell:
                await asyncio.to_thread(shell.see_prompt)
                start = shell.mark()
                call = asyncio.create_task(agent.ask("client:tool_call", tool_call()))
                await asyncio.to_thread(shell.see, r"yes / no / always.*: *\Z", start)
                shell.type(CTRL_C)
                async with asyncio.timeout(PATIENCE):
                    result = await call
                assert result["isError"] is True
                assert result["meta"]["error_code"] == 4005
                await asyncio.to_thread(shell.see_prompt)
                assert await asyncio.to_thread(shell.leave) == 0


@pytest.mark.anyio
async def test_a_question_nobody_needs_an_answer_to_any_more_goes_away(config: Path, tmp_path: Path) -> None:
    with server_process() as server:
        async with crowd(people_of(server)) as people:
            agent = await people.member("agent", "agent", "office")
            flags = ["--config", str(config), "--url", server.url, "--office", "office"]
            with terminal(tmp_path, *flags) as shell:
                await asyncio.to_thread(shell.see_prompt)
                start = shell.mark()
                call = asyncio.create_task(agent.ask("client:tool_call", tool_call(req_id="r1")))
                await asyncio.to_thread(shell.see, r"yes / no / always.*: *\Z", start)
                await agent.tell("server:tool_call_cancel", {"agent": "agent", "req_id": "r1"})
                async with asyncio.timeout(PATIENCE):
                    assert (await call)["isError"] is True
                await asyncio.to_thread(shell.see_prompt)
                assert await asyncio.to_thread(shell.leave) == 0


@pytest.mark.anyio
async def test_two_calls_are_asked_about_one_after_the_other(config: Path, tmp_path: Path) -> None:
    with server_process() as server:
        async with crowd(people_of(server)) as people:
            agent = await people.member("agent", "agent", "office")
            flags = ["--config", str(config), "--url", server.url, "--office", "office"]
            with terminal(tmp_path, *flags) as shell:
                await asyncio.to_thread(shell.see_prompt)
                start = shell.mark()
                calls = [
                    asyncio.create_task(agent.ask("client:tool_call", tool_call(req_id=text, params={"text": text})))
                    for text in ("first", "second")
                ]
                await asyncio.to_thread(shell.see, r'"first"(?s:.*)always.*: *\Z', start)
                assert '"second"' not in "\n".join(shell.screen.lines[start:])
                shell.type("yes" + ENTER)
                await asyncio.to_thread(shell.see, r'"second"(?s:.*)always.*: *\Z', start)
                shell.type("no" + ENTER)
                async with asyncio.timeout(PATIENCE):
                    first, second = [await call for call in calls]
                assert (first["isError"], second["isError"]) == (False, True)
                await asyncio.to_thread(shell.see_prompt)
                assert await asyncio.to_thread(shell.leave) == 0


@pytest.mark.anyio
async def test_an_agents_arguments_cannot_disguise_the_question(config: Path, tmp_path: Path) -> None:
    with server_process() as server:
        async with crowd(people_of(server)) as people:
            agent = await people.member("agent", "agent", "office")
            with terminal(tmp_path, "--config", str(config), "--url", server.url, "--office", "office") as shell:
                await asyncio.to_thread(shell.see_prompt)
                start, before = shell.mark(), len(shell.raw)
                params = {"text": "\u009b2J \u202egnihtyreve eteled \x1b[2J" + "x" * 300_000}
                call = asyncio.create_task(agent.ask("client:tool_call", tool_call(params=params)))
                await asyncio.to_thread(shell.see, r"yes / no / always.*: *\Z", start)
                shell.type("no" + ENTER)
                async with asyncio.timeout(PATIENCE):
                    await call
                await asyncio.to_thread(shell.see_prompt)
                shown = shell.raw[before:]
                assert not [mark for mark in ("\u009b", "\u202e", "\x1b[2J") if mark in shown]
                assert "echo of raw" in "\n".join(shell.screen.lines[-HEIGHT:]), "what is asked has not scrolled away"
                assert await asyncio.to_thread(shell.leave) == 0


def test_what_a_tool_says_cannot_command_the_terminal(config: Path, tmp_path: Path) -> None:
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.run(r"""call echo '{"text": "\u001b]0;evil\u001b\\ and so on"}'""", "and so on")
        assert "\x1b]0;evil" not in shell.raw
        assert shell.leave() == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_leaves_nothing_behind(how: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, {"raw": stdio(raw("--mode", "fork", "--log", str(log)))})
    with terminal(tmp_path, "--config", str(config)) as shell:
        shell.see_prompt()
        with watching(pids_in(log)) as watch:
            shell.process.send_signal(how)
            shell.process.wait(PATIENCE)
            assert not watch.still_alive()
