"""Runs the processes of `a2c up`, shows their state, and stops them in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from a2c_smcp.cli.errors import INTERRUPTED
from a2c_smcp.cli.running import on_stop_signal
from a2c_smcp.cli.up.child import Writer
from a2c_smcp.cli.up.journal import Journal
from a2c_smcp.cli.up.plan import Plan
from a2c_smcp.cli.up.process import ProcessFailed, Report, SupervisedProcess, log_level
from a2c_smcp.cli.up.state import Event, OfficeState
from a2c_smcp.cli.up.view import View, how_to_attach, how_to_look, what_next
from a2c_smcp.utils.system.signals import RESIZED, on_signals
from a2c_smcp.utils.system.sockets import hand_over, inheriting

START_SECONDS = 60.0
"""Seconds that the tour waits for everything to start."""
REFRESH_SECONDS = 0.25
"""The shortest time between two drawings: many events at once must not cost more than the office itself."""
WIDE = 120


async def run(plan: Plan, listener: socket.socket, *, tour: bool) -> int:
    """Run until Ctrl-C or, for a tour without a terminal, until its end; returns the exit code."""
    signals = _Signals()
    with on_stop_signal(signals.count):
        console = Console() if sys.stdout.isatty() else Console(width=WIDE)
        up = _Up(plan, listener, console)
        up.start()  # before anything else: the processes import their modules while the display and the tour load
        failing = asyncio.ensure_future(up.failure())
        main = asyncio.ensure_future(up.attend(tour))
        stop = asyncio.ensure_future(signals.first.wait())
        code = 0
        try:
            await asyncio.wait((failing, main, stop), return_when=asyncio.FIRST_COMPLETED)
            if failing.done():
                print(f"a2c: {failing.result()}", file=sys.stderr)
                code = 1
            elif main.done():
                code = main.result()
            elif tour and not up.tour_is_over:
                code = INTERRUPTED
        finally:
            # The display ends first, so that messages below it are not overwritten.
            for task in (failing, main, stop):
                task.cancel()
            await asyncio.gather(failing, main, stop, return_exceptions=True)
            killed = await up.stop(signals.second)
        for name in killed:
            print(f"a2c: the {name} was killed, because it had not stopped", file=sys.stderr)
        return code or (1 if killed else 0)


class _Signals:
    """Counts signals: the first stops the processes in order, the second kills them."""

    def __init__(self) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()

    def count(self) -> None:
        (self.second if self.first.is_set() else self.first).set()


class _Up:
    """The two processes, their state, and its display."""

    def __init__(self, plan: Plan, listener: socket.socket, console: Console) -> None:
        self._plan = plan
        self._console = console
        self._journal = Journal(Path(plan.journal))
        self._changed = asyncio.Event()
        self._state = OfficeState(plan.computer, self._on_event, self._changed.set)
        self._printer: Writer | None = None
        self.tour_is_over = False
        part = partial(SupervisedProcess, on_report=self._take)
        self._server = part(
            "Server",
            lambda pid: replace(plan, listener=hand_over(listener, pid)).to_line(),
            options=inheriting(listener),
            on_log=self._log("Server"),
            on_death=self._state.lose_server,
        )
        self._computer = part(
            "Computer", lambda _: plan.to_line(), on_log=self._log("Computer"), on_death=self._lose_computer
        )

    def start(self) -> None:
        """Start both processes, and keep them alive until `stop`."""
        self._journaling = asyncio.create_task(self._journal.keep())
        self._running = [asyncio.create_task(part.run()) for part in (self._server, self._computer)]

    async def failure(self) -> BaseException:
        """Wait until a process cannot be kept alive; returns the reason."""
        for done in asyncio.as_completed(self._running):
            try:
                await done
            except ProcessFailed as error:
                return error
        raise RuntimeError("both processes ended without being stopped")

    async def stop(self, at_once: asyncio.Event) -> list[str]:
        """Stop the Computer, then the Server, or kill both if `at_once` is set; returns the names of killed ones."""
        # In this order, the Computer can leave the office and finish its calls while the Server still relays them.
        stopping = asyncio.ensure_future(self._stop_in_order())
        hurry = asyncio.ensure_future(at_once.wait())
        await asyncio.wait((stopping, hurry), return_when=asyncio.FIRST_COMPLETED)
        if hurry.done():
            self._computer.kill()
            self._server.kill()
        hurry.cancel()
        killed = await stopping
        self._journaling.cancel()
        await asyncio.gather(self._journaling, *self._running, return_exceptions=True)
        return killed

    async def _stop_in_order(self) -> list[str]:
        return [part.name for part in (self._computer, self._server) if await part.stop()]

    async def attend(self, tour: bool) -> int:
        """Run the tour if there is one, then show the activity."""
        on_terminal = self._console.is_terminal and not self._console.is_dumb_terminal
        if tour:
            failures = await self._tour()
            self.tour_is_over = True
            if not self._console.is_terminal:
                return 1 if failures else 0
        if on_terminal:
            await self._draw()
        else:
            await self._print()
        return 0

    async def _tour(self) -> int:
        from a2c_smcp.cli.up.tour import take_tour  # takes a second, during which the processes start

        # After the time limit the tour begins anyway: one slow MCP server must not hide the others, and a step that
        # finds nothing says so.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                with self._console.status("starting a Server, a Computer and its MCP servers …"):
                    while not self._state.is_complete:
                        self._changed.clear()
                        await self._changed.wait()
        failures = await take_tour(self._plan, self._console)
        words = "The tour is complete." if not failures else f"The tour has ended; {failures} of its steps failed."
        self._console.print(Text(words, "bold"))
        self._console.print(what_next(stays=self._console.is_terminal), soft_wrap=True)
        return failures

    async def _draw(self) -> None:
        with (
            on_signals([RESIZED], self._changed.set),
            Live(View(self._plan, self._state), console=self._console, auto_refresh=False) as live,
        ):
            while True:
                # Cleared before drawing: a change that arrives during a drawing leads to another one.
                self._changed.clear()
                live.refresh()
                await self._changed.wait()
                await asyncio.sleep(REFRESH_SECONDS)

    async def _print(self) -> None:
        self._console.print(*how_to_attach(self._plan), sep="\n")
        self._console.file.flush()
        # The reader of a pipe may stop reading. Printing in a thread keeps the supervisor running even then.
        self._printer = Writer(self._console.file.fileno())
        self._print_console(self._printer)
        for event in self._state.events:
            self._printer.write(f"{event.to_line()}\n".encode())
        await asyncio.Event().wait()

    def _take(self, report: Report) -> None:
        self._state.take(report)
        kind = report["kind"]
        if kind in ("owner", "ready"):  # `ready`: the Server has started, perhaps again
            self._tell_owner_url()
        if kind == "logout":
            self._computer.tell(logout=True)
        if kind == "console" and self._printer is not None:
            self._print_console(self._printer)

    def _lose_computer(self, why: str) -> None:
        self._state.lose_computer(why)
        self._tell_owner_url()

    def _tell_owner_url(self) -> None:
        self._server.tell(owner_login_url=self._state.owner_login_url)

    def _print_console(self, printer: Writer) -> None:
        for line in how_to_look(self._plan, self._state):
            printer.write(f"{line}\n".encode())

    def _on_event(self, event: Event) -> None:
        self._journal.add(event.to_line())
        if self._printer is not None:
            self._printer.write(f"{event.to_line()}\n".encode())

    def _log(self, name: str) -> Callable[[str, str], None]:
        def log(level: str, message: str) -> None:
            if log_level(level) >= logging.WARNING:
                self._state.happen(f"{name}: {message}", "warning")

        return log
