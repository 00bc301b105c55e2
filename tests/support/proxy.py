"""A TCP proxy between a client and the Server: a network that can be cut, or lead elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import cycle


class Network:
    """Leads to `target`. While it is `down`, it rejects connections. Until it `listens`, it holds what clients send."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.url = ""
        self.down = False
        self.listens = asyncio.Event()
        self.listens.set()
        self.is_holding = False
        """Whether it holds data of a client."""
        self._wires: set[asyncio.StreamWriter] = set()
        self.serving: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """Abort every connection."""
        for wire in list(self._wires):
            wire.transport.abort()

    def freeze(self) -> None:
        """Stop passing on what open connections send; new connections work."""
        self.listens.clear()
        self.listens = asyncio.Event()
        self.listens.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        task.add_done_callback(self.serving.discard)
        if self.down:
            writer.transport.abort()
            return
        host, _, port = self.target.rpartition("/")[2].partition(":")
        try:
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.transport.abort()
            return
        self._wires |= {writer, far_writer}
        try:
            # The end of the network cancels this. asyncio would report a cancelled task as an error.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(self._pump(reader, far_writer, self.listens), self._pump(far_reader, writer))
        finally:
            self._wires -= {writer, far_writer}
            writer.transport.abort()
            far_writer.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event | None = None
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if gate is not None and not gate.is_set():
                    self.is_holding = True
                    await gate.wait()
                    self.is_holding = False
                writer.write(data)
                await writer.drain()
        writer.transport.abort()


class Spread(Network):
    """Leads every connection to the next of several Servers, like a load balancer without affinity."""

    def __init__(self, targets: list[str]) -> None:
        super().__init__("")
        self._targets = cycle(targets)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.target = next(self._targets)
        await super().serve(reader, writer)


@asynccontextmanager
async def network(target: str | list[str]) -> AsyncGenerator[Network]:
    """A network to the Server at `target`, or to several; clients use its `url`."""
    wires = Network(target) if isinstance(target, str) else Spread(target)
    server = await asyncio.start_server(wires.serve, "127.0.0.1", 0)
    wires.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield wires
    finally:
        server.close()
        wires.cut()
        for task in wires.serving:
            task.cancel()
        if wires.serving:
            await asyncio.wait(wires.serving)
