"""The requests that both Agents make of tools and binaries: what a call reports and asks, what is fetched and uploaded.

Nothing here waits, except in flows, which either form runs.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Generator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from a2c_smcp.agent.blob_files import Destination, SaveTo, destination
from a2c_smcp.agent.upload_file import FileToUpload
from a2c_smcp.protocol import requests
from a2c_smcp.protocol.blob_download import AsBytes, Blob, Download, Facts, Pace, Sink, download
from a2c_smcp.protocol.blob_items import INLINE_BYTES
from a2c_smcp.protocol.blob_restore import RESTORED_BYTES, UNLIMITED, Binaries
from a2c_smcp.protocol.client_effects import ClientBackend, Work
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.handshake import ServerInfo
from a2c_smcp.protocol.questions import Asked, Continuation, LogMessage, Progress, Question, read_log, read_progress
from a2c_smcp.protocol.seat import check_seconds
from a2c_smcp.protocol.upload import Upload, upload
from a2c_smcp.smcp import TOOL_CALL_LOG_NOTIFICATION, ReadResourceRet
from a2c_smcp.transport.base import OfficeClientBase
from a2c_smcp.utils.tracing import active_traceparent

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)

OnProgress: TypeAlias = Callable[[Progress], None]
"""Called with each report about the progress of a call, where the connection is read. Must not wait."""
OnLog: TypeAlias = Callable[[LogMessage], None]
"""Called with each log message during a call, where the connection is read. Must not wait."""
OnUpload: TypeAlias = Callable[[Upload], None]
"""Called with each part of an upload that has arrived. Must not wait."""
OnDownload: TypeAlias = Callable[[Download], None]
"""Called with each part of a large binary that arrives, on the event loop or in the thread that fetches it. Must not
wait."""
OnQuestion: TypeAlias = Callable[[Question], Any]
"""Answers a question of a tool; see `AgentBase.on_question`."""
OnQuestionT = TypeVar("OnQuestionT", bound=OnQuestion)

CALL_SECONDS = 60.0
"""The default time limit of a tool call."""
REQUEST_SECONDS = 20.0
"""The default time limit of any other request."""


class CallingAgent(OfficeClientBase):
    """An Agent, as far as it calls tools and transfers binaries."""

    name: str
    event_handler: Any
    _background: Any
    """An `AsyncBackground` or a `SyncBackground`."""
    _max_restored_bytes: int = RESTORED_BYTES
    _usual_binaries: tuple[ServerInfo | None, Binaries | None] = None, None
    """What happens with the binaries of most answers, at this Server."""
    _on_download: OnDownload | None = None

    def _initialize_calls(self, on_question: OnQuestion | None) -> None:
        self._question_handler = on_question
        self._reports: dict[str, Callable[[str, dict[str, Any]], None]] = {}
        """What takes the progress and the log messages of each running call, by its `req_id`."""

    # ---------------------------------------------------------------------------------------------------- during a call

    def on_question(self, handler: OnQuestionT) -> OnQuestionT:
        """Answer the questions of tools with this function, which gets a `Question`; usable as a decorator.

        It returns `question.accept(…)`, `question.decline()` or `question.cancel()`; a mapping accepts a form with its
        values, None declines. It may be plain or async, and may wait for a person until the question expires and
        is declined. A plain function runs in a thread of its own. Without such a function, and without a method
        `on_question(question, client)` of the event handler, every question is declined at once.
        """
        self._question_handler = handler
        return handler

    def _calling(
        self,
        computer: str,
        tool: str,
        params: Mapping[str, Any],
        timeout: float,
        on_progress: OnProgress | None,
        on_question: OnQuestion | None,
        traceparent: str | None,
        save_to: SaveTo | None,
    ) -> Flow[ClientBackend, CallToolResult]:
        """Call a tool, with its progress and its questions."""

        def call(files: Destination | None) -> Flow[ClientBackend, CallToolResult]:
            return requests.call_tool(
                self.name,
                computer,
                tool,
                params,
                timeout,
                answer=self._answering(on_question or self._question_handler),
                listen=self._listening_to(computer, tool, on_progress),
                traceparent=traceparent if traceparent is not None else active_traceparent(),
                binaries=self._binaries(files),
            )

        if save_to is None:  # nearly every call; a flow around the flow would cost each of them time
            return call(None)

        def call_and_save(save_to: SaveTo) -> Flow[ClientBackend, CallToolResult]:
            return (yield from call((yield from destination(save_to))))

        return call_and_save(save_to)

    def _answering(self, handler: OnQuestion | None) -> requests.AnswerQuestion | None:
        """What answers the questions of a call: a function, or the event handler; None if nobody does."""
        more: tuple[Any, ...] = ()
        if handler is None:
            handler, more = getattr(self.event_handler, "on_question", None), (self,)
            if handler is None:
                return None

        def answer(question: Question, seconds: float) -> Any:
            return self._background.consult(seconds, handler, question, *more)

        return answer

    def _calling_once(
        self,
        computer: str,
        tool: str,
        params: Mapping[str, Any],
        timeout: float,
        on_progress: OnProgress | None,
        on_log: OnLog | None,
        log_level: str,
        continuation: Continuation | None,
        principal: str | None,
        traceparent: str | None,
    ) -> Flow[ClientBackend, CallToolResult | Asked]:
        """Call a tool, up to its questions."""
        return requests.call_tool_once(
            self.name,
            computer,
            tool,
            params,
            timeout,
            continuation=continuation,
            principal=principal,
            log_level=log_level if on_log is not None else None,
            listen=self._listening_to(computer, tool, on_progress, on_log),
            traceparent=traceparent if traceparent is not None else active_traceparent(),
            binaries=self._binaries(None),
        )

    def _listening_to(
        self, computer: str, tool: str, on_progress: OnProgress | None, on_log: OnLog | None = None
    ) -> requests.Listen | None:
        """What receives the progress and the log messages of a call; None if the program wants neither."""
        if on_progress is None and on_log is None:
            return None
        return partial(self._listening, computer, tool, on_progress, on_log)

    @contextlib.contextmanager
    def _listening(
        self, computer: str, tool: str, on_progress: OnProgress | None, on_log: OnLog | None, req_id: str
    ) -> Generator[None]:
        def take(event: str, report: dict[str, Any]) -> None:
            # The `req_id` is random, and known to one Computer only; a report of another is forged.
            if report.get("computer") != computer:
                return
            if event == TOOL_CALL_LOG_NOTIFICATION:
                if on_log is not None:
                    for message in read_log(report, tool):
                        on_log(message)
            elif on_progress is not None and (progress := read_progress(report, tool)) is not None:
                on_progress(progress)

        self._reports[req_id] = take
        try:
            yield
        finally:
            del self._reports[req_id]

    def _on_report(self, event: str, data: list[Any]) -> None:
        report = cast("dict[str, Any]", data[0]) if data and isinstance(data[0], dict) else {}
        req_id = report.get("req_id")
        take = self._reports.get(req_id) if isinstance(req_id, str) else None
        if take is None:  # of a call that has ended
            return
        try:
            take(event, report)
        except Exception:
            logger.exception("a function that hears of a call failed")

    # -------------------------------------------------------------------------------------------------------- binaries

    def _binaries(self, files: Destination | None) -> Binaries:
        """What happens with the binaries of an answer."""
        server, usual = self._usual_binaries
        # Kept: every call needs one, and nothing in it changes but by what is known of the Server.
        if files is None and usual is not None and server is self.server_info:
            return usual
        # At a Server that may not know what a limit means, nothing is said about it.
        inline = INLINE_BYTES if self.server_info.passes_blobs else None
        binaries = Binaries(self._max_restored_bytes, files, self._on_download, inline)
        if files is None:
            self._usual_binaries = self.server_info, binaries
        return binaries

    def _reading(
        self, computer: str, uri: str, timeout: float, mcp_server: str | None, save_to: SaveTo | None
    ) -> Flow[ClientBackend, ReadResourceRet]:
        """Read a resource, with its binaries."""
        files = yield from destination(save_to)
        return (
            yield from requests.read_resource_contents(
                self.name, computer, uri, timeout, mcp_server, self._binaries(files)
            )
        )

    def _fetching_blob(
        self, computer: str, handle: str, timeout: float, max_bytes: int | None
    ) -> Flow[ClientBackend, bytes]:
        """Fetch a binary into memory."""
        most = self._max_restored_bytes if max_bytes is None else max_bytes
        pace = Pace(most, check_seconds(timeout), self._on_download)
        return (yield from download(Blob(self.name, computer, handle), AsBytes, pace))

    def _saving_blob(self, computer: str, handle: str, save_to: SaveTo, timeout: float) -> Flow[ClientBackend, Path]:
        """Fetch a binary into a file."""
        files = yield from Work(partial(Destination, save_to))

        def open_file(facts: Facts) -> Sink[str]:
            return files(facts, None, "file")

        pace = Pace(UNLIMITED, check_seconds(timeout), self._on_download)
        return Path((yield from download(Blob(self.name, computer, handle), open_file, pace)))

    def _uploading(
        self,
        computer: str,
        path: str | os.PathLike[str],
        name: str | None,
        on_progress: OnUpload | None,
        timeout: float,
    ) -> Flow[ClientBackend, str]:
        """Upload a file."""
        with FileToUpload(path, name) as file:
            return (yield from upload(self.name, computer, file, check_seconds(timeout), on_progress))
