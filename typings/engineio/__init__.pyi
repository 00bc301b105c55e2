"""The part of python-engineio that this project uses, typed."""

import asyncio
from typing import Any

class AsyncSocket:
    closed: bool
    upgrading: bool
    upgraded: bool
    queue: Any
    async def send(self, pkt: Any) -> None: ...
    async def close(self, wait: bool = True, abort: bool = False, reason: Any = None) -> None: ...

class AsyncServer:
    sockets: dict[str, AsyncSocket]
    async def send_packet(self, sid: str, pkt: Any) -> None: ...
    def create_queue(self, *args: Any, **kwargs: Any) -> asyncio.Queue[Any]: ...

class Socket:
    closed: bool
    queue: Any
    def send(self, pkt: Any) -> None: ...
    def close(self, wait: bool = True, abort: bool = False, reason: Any = None) -> None: ...

class Client:
    reason: Any
    def _trigger_event(self, event: str, *args: Any, **options: Any) -> Any: ...

class Server:
    sockets: dict[str, Socket]
    def send_packet(self, sid: str, pkt: Any) -> None: ...
    def create_queue(self, *args: Any, **kwargs: Any) -> Any: ...
