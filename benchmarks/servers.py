"""The two servers that are compared, each in a process of its own: `python -m benchmarks.servers ours|node|floor|lean`.

The floor is the least that python-socketio can do on uvicorn: it relays, and checks nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import orjson
import psutil
import socketio
import uvicorn
from socketio.packet import Packet

from a2c_smcp import smcp
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server.app import create_app, transport_limit
from a2c_smcp.server.serving import uvicorn_config
from a2c_smcp.server.settings import ServerSettings
from a2c_smcp.utils.system.resources import keep_freed_memory

HOST = "127.0.0.1"
ROOT = Path(__file__).parent.parent
_LIMITS = Limits(requests_per_second=0)
_UNLIMITED = {"requests_per_second": 0}


class _Json:
    loads = staticmethod(orjson.loads)

    @staticmethod
    def dumps(value: Any, **_: Any) -> str:
        return orjson.dumps(value).decode()


class OrjsonPacket(Packet):
    json = _Json


class LeanPacket(OrjsonPacket):
    @classmethod
    def data_is_binary(cls, data: Any) -> bool:
        return False


FLOORS: dict[str, type[Packet]] = {"floor": OrjsonPacket, "lean": LeanPacket}
"""The floor, and one that is told, like ours, not to look for binary data in every value of every payload."""


def floor_app(packet_class: type[Packet]) -> socketio.ASGIApp:
    """A relay with the JSON library and the transport options of ours, and nothing else of it."""
    sio = socketio.AsyncServer(
        async_mode="asgi",
        serializer=packet_class,
        max_http_buffer_size=transport_limit(_LIMITS),
        http_compression=False,
    )
    computers: dict[str, str] = {}

    async def join(sid: str, data: dict[str, Any]) -> tuple[bool, None]:
        if data["role"] == "computer":
            computers[data["name"]] = sid
        office = data["office_id"]
        await sio.enter_room(sid, office, namespace=smcp.SMCP_NAMESPACE)
        notice = {"office_id": office, data["role"]: data["name"]}
        await sio.emit(smcp.ENTER_OFFICE_NOTIFICATION, notice, room=office, skip_sid=sid, namespace=smcp.SMCP_NAMESPACE)
        return True, None

    async def relay(sid: str, data: dict[str, Any]) -> Any:
        return await sio.call(
            smcp.TOOL_CALL_EVENT,
            data,
            to=computers[data["computer"]],
            namespace=smcp.SMCP_NAMESPACE,
            timeout=data["timeout"],
        )

    sio.on(smcp.JOIN_OFFICE_EVENT, join, namespace=smcp.SMCP_NAMESPACE)
    sio.on(smcp.TOOL_CALL_EVENT, relay, namespace=smcp.SMCP_NAMESPACE)
    return socketio.ASGIApp(sio)


def serve(kind: str, *options: str) -> None:
    """Serve on a free port, and print it. The options of a `node` are the URL of Redis and the prefix of its keys."""
    complaints = logging.StreamHandler(sys.stderr)
    complaints.setLevel(logging.WARNING)
    unread = logging.StreamHandler(open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # what a Server logs costs time
    logging.basicConfig(level=logging.INFO, handlers=[complaints, unread])
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    if kind == "node":
        app: Any = create_app(limits=_LIMITS, redis=options[0], redis_prefix=options[1])
    else:
        # The console stops to watch with its last reader, so that rounds with and without it can take turns.
        ours = partial(create_app, limits=_LIMITS, mcp_options=_UNLIMITED, console_options={"linger_seconds": 0})
        app = ours() if kind == "ours" else floor_app(FLOORS[kind])
    settings = ServerSettings.load({"host": HOST, "max_message_bytes": _LIMITS.message_bytes})
    config = uvicorn_config(app, settings)
    if kind in FLOORS:
        config.ws = cast("Any", "websockets-sansio")  # uvicorn's fastest; ours has a WebSocket of its own
    else:
        keep_freed_memory()  # as `GracefulServer` does
    with socket.create_server((HOST, 0), backlog=2048) as listener:
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(config).run(sockets=[listener])


def cpu_seconds(pid: int) -> float:
    """User and system time. A tick of 10 ms, which is what /proc counts in, would be too coarse for a round."""
    if sys.platform == "linux":
        return time.clock_gettime((~pid << 3) | 2)  # the process's CPU clock, see clock_getcpuclockid(3)
    times = cast("Any", psutil.Process(pid)).cpu_times()
    return times.user + times.system


def resident_bytes(pid: int) -> int:
    """The memory that a process has in use."""
    return cast("Any", psutil.Process(pid)).memory_info().rss


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server, and what it used so far."""

    kind: str
    port: int
    pid: int

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def resident_bytes(self) -> int:
        return resident_bytes(self.pid)


@contextlib.contextmanager
def running(kind: str, *options: str, root: Path = ROOT) -> Generator[ServerProcess]:
    """Start a server in a process of its own, from the source in a folder, and end it."""
    command = [sys.executable, "-m", "benchmarks.servers", kind, *options]
    env = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        command, cwd=root, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError(f"the {kind} server did not start")
            yield ServerProcess(kind, int(port), process.pid)
        finally:
            process.kill()  # nothing is left to lose, and a graceful stop would announce every leave


def _end_with_parent() -> None:
    """Do not outlive a benchmark that was killed: its end of the pipe closes, however it ends."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    serve(*sys.argv[1:])
