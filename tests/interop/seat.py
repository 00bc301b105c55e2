"""Processes in the seats of an office: ours, and those of each release of the official SDK."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from scripts.environments import SDK_VERSIONS, python_of
from tests.support.mcp_servers import missing
from tests.support.process import environment, lasting
from tests.support.waiting import PATIENCE

OURS = "ours"
VERSIONS = SDK_VERSIONS
Role = Literal["server", "agent", "computer"]
ROOT = Path(__file__).parent.parent.parent
PROGRAMS = Path(__file__).parent / "seats"
THINGS = PROGRAMS / "things.py"


class SeatError(Exception):
    """What a program in a seat could not do."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['type']}: {error['text']}")
        self.kind: str = error["type"]
        self.code: int | None = error["code"]


@dataclass(frozen=True)
class Heard:
    """Something that an object in a seat was told."""

    by: str
    what: str
    data: dict[str, Any]


class Seat:
    """The process of one seat, in which objects of that seat are made and used by name."""

    def __init__(self, role: Role, version: str) -> None:
        self.version = version
        is_ours = version == OURS
        python = Path(sys.executable) if is_ours else python_of(f"a2c-smcp-{version}")
        if not python.exists():
            missing(f"{python} does not exist: scripts/environments.py makes it")
        self._complaints = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [str(python), str(PROGRAMS / f"{role}.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._complaints, text=True, encoding="utf-8", cwd=PROGRAMS,
            env=environment({"PYTHONPATH": str(ROOT)} if is_ours else None),
        )  # fmt: skip
        lasting.add(self._process.pid)
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._heard: list[Heard] = []
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._ready: Future[None] = Future()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._ready.result(PATIENCE)

    def ask(self, do: str, /, *args: Any, on: str | None = None, aside: bool = False, **kwargs: Any) -> Future[Any]:
        """Have an object `on` this seat, or the program itself, `do` something."""
        number = next(self._numbers)
        command = {"id": number, "do": do, "args": args, "kwargs": kwargs, "aside": aside}
        answer = self._waiting[number] = Future()
        pipe = self._process.stdin
        assert pipe is not None
        with self._writing:
            pipe.write(json.dumps(command if on is None else {**command, "on": on}) + "\n")
            pipe.flush()
        return answer

    def heard(self, by: str, what: str) -> list[dict[str, Any]]:
        """What an object was told of one kind, in order."""
        return [each.data for each in self._heard if (each.by, each.what) == (by, what)]

    def wait_for(self, condition: Callable[[], bool], patience: float) -> None:
        """Wait until a condition holds. It is evaluated after everything that is heard."""
        with self._changed:
            if not self._changed.wait_for(condition, patience):
                raise TimeoutError("it was not heard")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(PATIENCE)
        self._complaints.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said: dict[str, Any] = json.loads(line)
            if "heard" in said:
                with self._changed:
                    self._heard.append(Heard(*said["heard"]))
                    self._changed.notify_all()
            elif "ready" in said:
                self._ready.set_result(None)
            elif "error" in said:
                self._waiting.pop(said["id"]).set_exception(SeatError(said["error"]))
            else:
                self._waiting.pop(said["id"]).set_result(said["result"])
        self._end()

    def _end(self) -> None:
        """Tell everybody who waits that nothing comes any more."""
        self._complaints.seek(0)
        gone = ConnectionError(f"the program has ended: {self._complaints.read()[-2_000:]}")
        for future in (self._ready, *self._waiting.values()):
            if not future.done():
                future.set_exception(gone)


@dataclass
class Seats:
    """The seats of all versions. Each process is started when it is first needed, and then used by all."""

    _running: dict[tuple[Role, str], Seat] = field(default_factory=dict[tuple[Role, str], Seat])
    _addresses: dict[tuple[Any, ...], str] = field(default_factory=dict[tuple[Any, ...], str])

    def of(self, role: Role, version: str) -> Seat:
        """The process of a seat in a version."""
        if (role, version) not in self._running:
            self._running[role, version] = Seat(role, version)
        return self._running[role, version]

    def server(self, version: str, form: str = "async", secret: str | None = None, checks: bool = False) -> str:
        """The address of an official Server, which may want a secret and check the clients' version."""
        key = (version, form, secret, checks)
        if key not in self._addresses:
            made = self.of("server", version).ask("make", form, secret, checks)
            self._addresses[key] = made.result(PATIENCE)
        return self._addresses[key]

    def close(self) -> None:
        for seat in self._running.values():
            seat.close()
