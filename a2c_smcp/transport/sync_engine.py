"""The Engine.IO client in threads, over requests and websocket-client."""

from __future__ import annotations

import logging
import queue
from typing import Any

import engineio

from a2c_smcp.transport.async_engine import FAREWELL_SECONDS
from a2c_smcp.transport.connect_errors import raise_understood

logger = logging.getLogger(__name__)


class _PacketQueue(queue.Queue[Any]):
    """The engine's queue of packets. The None that ends the writer is not taken together with a packet before it: the
    writer would overlook it, and the end of the connection be noticed half a minute later."""

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if not block:
            with self.mutex:
                if self.queue and self.queue[0] is None:
                    raise queue.Empty
        return super().get(block, timeout)

    def get_nowait(self) -> Any:
        return super().get(block=False)


def _trusting_session(ca_file: str) -> Any:
    """A session whose `verify` counts, also where the environment (REQUESTS_CA_BUNDLE) names other authorities."""
    from requests import Session

    class TrustingSession(Session):
        def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
            verify = self.verify if verify is None else verify
            return super().merge_environment_settings(url, proxies, stream, verify, cert)

    session = TrustingSession()
    session.verify = ca_file
    return session


def _http_answer() -> type[Exception]:
    from websocket import WebSocketBadStatusException

    return WebSocketBadStatusException


class SyncEngine(engineio.Client):
    """Hands messages over in order, in the thread that reads them."""

    ca_file: str | None = None
    """For the Server's certificate; None for what the library does by itself."""
    _is_answered = False

    def create_queue(self, *args: Any, **options: Any) -> queue.Queue[Any]:
        """The packets for the Server."""
        return _PacketQueue(*args, **options)

    def disconnect(self, abort: bool = False, reason: Any = None) -> None:
        """Disconnect. What is on its way is sent first, as above."""
        if self.state == "connected" and self.current_transport == "polling" and not abort:
            with self.queue.all_tasks_done:
                self.queue.all_tasks_done.wait_for(lambda: not self.queue.unfinished_tasks, FAREWELL_SECONDS)
        super().disconnect(abort, reason)

    def _open_session(self) -> None:
        """As above."""
        if self.ca_file is not None and self.http is None:
            self.http = _trusting_session(self.ca_file)

    def _connect_polling(self, url: str, headers: Any, engineio_path: str) -> None:
        self._is_answered = False
        self._open_session()
        try:
            super()._connect_polling(url, headers, engineio_path)
        except Exception as error:
            self._reset()
            raise_understood(error, _http_answer(), self._is_answered)

    def _connect_websocket(self, url: str, headers: Any, engineio_path: str) -> Any:
        is_upgrade = bool(self.sid)
        self._open_session()
        try:
            return super()._connect_websocket(url, headers, engineio_path)
        except Exception as error:
            if is_upgrade:
                return False
            self._reset()
            raise_understood(error, _http_answer())

    def _send_request(self, *args: Any, **options: Any) -> Any:
        response = super()._send_request(*args, **options)
        self._is_answered = response is not None and not isinstance(response, str)
        return response

    def _write_loop(self) -> None:
        from websocket import WebSocketException

        try:
            super()._write_loop()
        except WebSocketException as error:  # the network took nothing for too long; the library overlooks it
            logger.info("sending failed: %s", error)
            self.write_loop_task = None

    def _trigger_event(self, event: str, *args: Any, **options: Any) -> Any:
        if event == "message":
            options["run_async"] = False
        websocket = self.ws
        outcome = super()._trigger_event(event, *args, **options)
        if event == "disconnect" and websocket is not None and args == (self.reason.TRANSPORT_ERROR,):
            websocket.shutdown()  # the library leaves it to be collected
        return outcome
