"""The Engine.IO client in threads, over requests and websocket-client."""

from __future__ import annotations

import logging
import queue
from typing import Any

import engineio

from a2c_smcp.transport.base import FAREWELL_SECONDS
from a2c_smcp.transport.connect_errors import raise_understood

logger = logging.getLogger(__name__)


class _PacketQueue(queue.Queue[Any]):
    """The engine's queue of packets, which ends the writer with a None and in no other way.

    It never hands out the None together with a packet: the writer takes all packets that are waiting, and overlooks a
    None among them. It also ignores the timeout with which the writer waits for a packet, because the writer ends when
    it expires; see `AsyncEngine._write_loop`.
    """

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if block:
            return super().get()
        with self.mutex:
            if self.queue and self.queue[0] is None:
                raise queue.Empty
        return super().get(block=False)

    def get_nowait(self) -> Any:
        return super().get(block=False)


def _trusting_session(ca_file: str) -> Any:
    """An HTTP session that verifies with `ca_file`, even where REQUESTS_CA_BUNDLE names other authorities."""
    from requests import Session

    class TrustingSession(Session):
        def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
            verify = self.verify if verify is None else verify
            return super().merge_environment_settings(url, proxies, stream, verify, cert)

    session = TrustingSession()
    session.verify = ca_file
    return session


def _http_answer() -> type[Exception]:
    # Imported here, as in `async_engine`: a program may never connect.
    from websocket import WebSocketBadStatusException

    return WebSocketBadStatusException


class SyncEngine(engineio.Client):
    """An `engineio.Client` that handles messages in order, in the thread that reads them.

    The library starts a thread for each message. An ack would then wait for a thread to start, and two notices could
    overtake each other. `SyncConnection` starts a thread only for what a program's handlers get.
    """

    ca_file: str | None = None
    """The authorities that verify the Server's certificate (PEM); None for the library's default."""
    _is_answered = False
    """Whether a program answered the latest HTTP request."""

    def create_queue(self, *args: Any, **options: Any) -> queue.Queue[Any]:
        """Make the queue of packets for the Server."""
        return _PacketQueue(*args, **options)

    def disconnect(self, abort: bool = False, reason: Any = None) -> None:
        """Disconnect, after the packets in the queue have been sent; see `AsyncEngine.disconnect`."""
        if self.state == "connected" and self.current_transport == "polling" and not abort:
            with self.queue.all_tasks_done:  # as `Queue.join`, which has no timeout
                self.queue.all_tasks_done.wait_for(lambda: not self.queue.unfinished_tasks, FAREWELL_SECONDS)
        super().disconnect(abort, reason)

    def _open_session(self) -> None:
        """Give the library an HTTP session that uses `ca_file`; WebSockets take the file from the session, too."""
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
                return False  # the connection goes on over long-polling
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
        except WebSocketException as error:
            # The network accepted no data for too long. The library does not catch this, and its reader would wait for
            # a writer that is gone; it stops when `write_loop_task` is None.
            logger.info("sending failed: %s", error)
            self.write_loop_task = None

    def _trigger_event(self, event: str, *args: Any, **options: Any) -> Any:
        if event == "message":
            options["run_async"] = False
        websocket = self.ws  # read first: the handler of a disconnect starts a thread that replaces it
        outcome = super()._trigger_event(event, *args, **options)
        # The library leaves the socket of a broken connection open until it is garbage-collected. `close` would send a
        # close frame and wait for the answer of a peer that is gone; `shutdown` does neither.
        if event == "disconnect" and websocket is not None and args == (self.reason.TRANSPORT_ERROR,):
            websocket.shutdown()
        return outcome
