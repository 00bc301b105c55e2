"""The part of python-socketio that this project uses, typed."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import exceptions as exceptions
from . import packet as packet
from .base_manager import BaseManager as BaseManager
from .base_namespace import BaseServerNamespace

class AsyncServer:
    manager: BaseManager
    packet_class: type[packet.Packet]
    eio: Any
    async def _handle_eio_connect(self, eio_sid: str, environ: dict[str, Any]) -> Any: ...
    async def _handle_eio_disconnect(self, eio_sid: str, reason: Any) -> None: ...
    async def _send_packet(self, eio_sid: str, pkt: packet.Packet) -> None: ...
    environ: dict[str, dict[str, Any]]
    namespace_handlers: dict[str, BaseServerNamespace]
    def __init__(self, **options: Any) -> None: ...
    def register_namespace(self, namespace_handler: BaseServerNamespace) -> None: ...
    async def emit(
        self,
        event: str,
        data: Any = None,
        to: str | None = None,
        room: str | None = None,
        skip_sid: str | None = None,
        namespace: str | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> None: ...
    async def call(
        self,
        event: str,
        data: Any = None,
        to: str | None = None,
        sid: str | None = None,
        namespace: str | None = None,
        timeout: float = 60,
    ) -> Any: ...
    async def enter_room(self, sid: str, room: str, namespace: str | None = None) -> None: ...
    async def leave_room(self, sid: str, room: str, namespace: str | None = None) -> None: ...
    async def disconnect(self, sid: str, namespace: str | None = None) -> None: ...
    async def shutdown(self) -> None: ...
    async def handle_request(self, scope: Any, receive: Any, send: Any) -> Any: ...
    def on(self, event: str, handler: Callable[..., Any] | None = None, namespace: str | None = None) -> Any: ...

class Server:
    manager: BaseManager
    eio: Any
    def _handle_eio_connect(self, eio_sid: str, environ: dict[str, Any]) -> Any: ...
    def _handle_eio_disconnect(self, eio_sid: str, reason: Any) -> None: ...
    environ: dict[str, dict[str, Any]]
    namespace_handlers: dict[str, BaseServerNamespace]
    def __init__(self, **options: Any) -> None: ...
    def register_namespace(self, namespace_handler: BaseServerNamespace) -> None: ...
    def emit(
        self,
        event: str,
        data: Any = None,
        to: str | None = None,
        room: str | None = None,
        skip_sid: str | None = None,
        namespace: str | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> None: ...
    def enter_room(self, sid: str, room: str, namespace: str | None = None) -> None: ...
    def leave_room(self, sid: str, room: str, namespace: str | None = None) -> None: ...
    def disconnect(self, sid: str, namespace: str | None = None) -> None: ...
    def shutdown(self) -> None: ...
    def on(self, event: str, handler: Callable[..., Any] | None = None, namespace: str | None = None) -> Any: ...

class Manager(BaseManager):
    def __init__(self) -> None: ...

class AsyncManager(BaseManager):
    server: AsyncServer
    async def emit(
        self,
        event: str,
        data: Any,
        namespace: str,
        room: str | None = None,
        skip_sid: str | list[str] | None = None,
        callback: Callable[..., Any] | None = None,
        to: str | None = None,
        **kwargs: Any,
    ) -> None: ...

class AsyncNamespace(BaseServerNamespace):
    server: AsyncServer
    async def trigger_event(self, event: str, *args: Any) -> Any: ...

class Namespace(BaseServerNamespace):
    server: Server
    def trigger_event(self, event: str, *args: Any) -> Any: ...

class ASGIApp:
    def __init__(
        self, socketio_server: AsyncServer, other_asgi_app: Any = None, socketio_path: str | None = "socket.io"
    ) -> None: ...
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...

class WSGIApp:
    def __init__(
        self, socketio_app: Server, wsgi_app: Any = None, static_files: Any = None, socketio_path: str = "socket.io"
    ) -> None: ...
    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]: ...

class AsyncClient:
    connected: bool
    reconnection: bool
    _reconnect_task: Any
    async def _handle_disconnect(self, namespace: str | None) -> None: ...
    async def _handle_reconnect(self) -> None: ...
    async def shutdown(self) -> None: ...
    def start_background_task(self, target: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
    def __init__(self, **options: Any) -> None: ...
    async def connect(
        self,
        url: str,
        headers: Mapping[str, str] = ...,
        auth: Any = None,
        transports: list[str] | None = None,
        namespaces: list[str] | str | None = None,
        socketio_path: str = "socket.io",
        wait: bool = True,
        wait_timeout: float = 1,
        retry: bool = False,
    ) -> None: ...
    def on(self, event: str, handler: Callable[..., Any] | None = None, namespace: str | None = None) -> Any: ...
    def get_sid(self, namespace: str | None = None) -> str | None: ...
    async def emit(
        self,
        event: str,
        data: Any = None,
        namespace: str | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> None: ...
    async def call(self, event: str, data: Any = None, namespace: str | None = None, timeout: float = 60) -> Any: ...
    async def disconnect(self) -> None: ...
