# Generated from a2c_smcp/agent/client.py by scripts/generate_sync.py: change that, and run the script.
"""The Agent for programs without an event loop."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Condition
from typing import TYPE_CHECKING, Any, Self

from a2c_smcp.agent.auth import AgentAuthProvider, DefaultAgentAuthProvider
from a2c_smcp.agent.background import SyncBackground
from a2c_smcp.agent.base import LEAST_SECONDS, SETTLE_SECONDS, typed
from a2c_smcp.agent.blob_files import SaveTo
from a2c_smcp.agent.calling import CALL_SECONDS, REQUEST_SECONDS, OnDownload, OnLog, OnProgress, OnQuestion
from a2c_smcp.agent.change_queue import ChangeQueue
from a2c_smcp.agent.sync_search import SyncDocumentSearch
from a2c_smcp.agent.sync_skills import SyncSkills
from a2c_smcp.agent.types import AgentEventHandler, AsyncAgentEventHandler
from a2c_smcp.errors import OfficeRefusedError, TimedOutError
from a2c_smcp.protocol import requests
from a2c_smcp.protocol.blob_restore import RESTORED_BYTES
from a2c_smcp.protocol.questions import Asked, Continuation
from a2c_smcp.protocol.seat import check_seconds
from a2c_smcp.protocol.upkeep import Change, Kind
from a2c_smcp.smcp import (
    SMCP_NAMESPACE,
    GetComputerConfigRet,
    GetDeskTopRet,
    GetToolsRet,
    SessionInfo,
)

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)


class SMCPAgentClient(SyncDocumentSearch, SyncSkills):
    """An Agent that blocks, for any number of threads: it uses what the Computers of its office offer.

    `keep` names what is fetched whenever it changes, beside the tools: "config", "desktop", "finder". The latter two
    are also kept if the event handler has a method for them. `on_question` answers questions of tools; see the method
    of this name. Large pictures, recordings and files arrive beside the answers, and are put back into them, up to
    `max_restored_bytes` in each; `on_download` is called with a `Download` for each part, and must not wait. Further
    options are those of python-socketio's client.
    """

    def __init__(
        self,
        auth_provider: AgentAuthProvider,
        event_handler: AsyncAgentEventHandler | AgentEventHandler | Any = None,
        *,
        keep: Iterable[Kind] = (),
        on_question: OnQuestion | None = None,
        max_restored_bytes: int = RESTORED_BYTES,
        on_download: OnDownload | None = None,
        **socketio_kwargs: Any,
    ) -> None:
        super().__init__(**socketio_kwargs)
        self._initialize_agent(auth_provider, event_handler, keep, on_question)
        self._max_restored_bytes = max_restored_bytes
        self._on_download = on_download
        self._progress = Condition()
        self._background = SyncBackground()
        self._handled: Changes | None = None
        """The changes for the event handler."""

    # ------------------------------------------------------------------------------------------- connecting and joining

    @classmethod
    @contextmanager
    def in_office(
        cls,
        url: str,
        office_id: str,
        name: str,
        *,
        api_key: str | None = None,
        event_handler: AsyncAgentEventHandler | AgentEventHandler | Any = None,
        **options: Any,
    ) -> Generator[Self]:
        """Connect to a Server and join an office for as long as the block runs.

        When the block begins, the tools of all Computers in the office are known. `options` are those of the class.

        Raises:
            NotConnectedError: the Server cannot be reached.
            NotAuthenticatedError, ForbiddenError: the Server requires another key.
            OfficeFullError: the office already has an Agent.
            SMCPError: the Server rejects the connection or the join for another reason.
        """
        client = cls(DefaultAgentAuthProvider(name, office_id, api_key), event_handler, **options)
        try:
            client.connect_to_server(url)
            client.join_office()
            # A Computer that does not answer must not keep the program from all others.
            with contextlib.suppress(TimedOutError):
                client.wait_for(timeout=SETTLE_SECONDS)
            yield client
        finally:
            client.disconnect()

    def connect_to_server(self, url: str, namespace: str = SMCP_NAMESPACE, **kwargs: Any) -> None:
        """Connect to a Server. Further options are those of `socketio.Client.connect`.

        Raises:
            NotAuthenticatedError, ForbiddenError: the Server requires another key.
            NotConnectedError: the Server cannot be reached.
        """
        self.namespace = namespace
        self.reach(url, **self._connect_options(kwargs))

    def join_office(
        self, office_id: str | None = None, agent_name: str | None = None, namespace: str | None = None
    ) -> None:
        """Join an office, and join it again after every reconnection. The defaults are those of the auth provider.

        `namespace` is accepted for compatibility, and ignored.

        Raises:
            OfficeFullError: the office already has an Agent.
            SMCPError: the Server rejects the join for another reason, or does not answer.
        """
        office, name = self._seat_for(office_id, agent_name)
        try:
            self._join(office, name)
        except OfficeRefusedError as error:
            raise typed(error) from None
        self.name = name  # every request carries it, so it changes only after the Server has accepted it
        self._run(self._looking_around(office))

    def leave_office(self, office_id: str | None = None, namespace: str | None = None) -> None:
        """Leave the office. The Agent is outside afterwards, even if the Server answers an error.

        Raises:
            NotInOfficeError: the Agent is in no office.
            CrossOfficeError: the Agent is in another office than `office_id`.
            SMCPError: the Server answers another error.
        """
        office = self._office_to_leave(office_id)
        try:
            self._leave(office)
        except OfficeRefusedError as error:
            raise typed(error) from None
        finally:
            # In any case the Agent is outside. Callers of `wait_for` wake up and get an error, instead of waiting for a
            # Computer that cannot appear.
            with self._progress:
                self._upkeep.leave()
                self._progress.notify_all()

    def disconnect(self) -> None:
        """Disconnect from the Server and do not reconnect. Requests that wait for an answer fail."""
        # Forget the office first: a fetch that starts while the connection closes then finds that it is not wanted.
        with self._progress:
            self._upkeep.leave()
        super().disconnect()
        # The hook runs at the end of a connection. A client that is reconnecting, or never connected, has none, but
        # iterators over its changes have to end all the same.
        self._on_given_up()
        self._background.stop()

    def wait_for(self, computer: str | None = None, tool: str | None = None, timeout: float = CALL_SECONDS) -> None:
        """Wait until a Computer is in the office, and has a tool if one is named. Without a Computer, wait until the
        tools of all Computers in the office are known.

        A Computer joins before all its MCP servers have started; this waits for the one that is needed.

        Raises:
            TimedOutError: the Computer or tool is not there after `timeout` seconds.
            NotInOfficeError: this Agent is in no office.
        """
        seconds = check_seconds(timeout)
        with self._progress:
            if not self._progress.wait_for(partial(self._is_there, computer, tool), seconds):
                raise self._missing(computer, tool, timeout)

    # --------------------------------------------------------------------------------------------------------- requests

    def _ask(self, event: str, data: Any, timeout: float) -> Any:
        # An official Server answers no request for a Computer that it does not know: the program would wait in vain.
        return (self._ask_doubtful if self._is_doubtful(data) else super()._ask)(event, data, timeout)

    def _ask_doubtful(self, event: str, data: Any, timeout: float) -> Any:
        """Make sure that the Computer is there, and send the request."""
        ends_at = time.monotonic() + timeout
        self._run(self._locating(data["computer"], timeout))
        return super()._ask(event, data, max(ends_at - time.monotonic(), LEAST_SECONDS))

    def emit_tool_call(
        self,
        computer: str,
        tool_name: str,
        params: Mapping[str, Any],
        timeout: float,
        *,
        on_progress: OnProgress | None = None,
        on_question: OnQuestion | None = None,
        traceparent: str | None = None,
        save_to: SaveTo | None = None,
    ) -> CallToolResult:
        """Call a tool, and wait at most `timeout` seconds for its result.

        A call that reaches the Computer returns a result, even if the tool is unknown, forbidden, not confirmed, fails
        or takes too long: `is_error` and `error_code` of the result say so. A call that takes longer than `timeout` is
        cancelled where it runs, and so is one whose caller is cancelled or interrupted.

        `on_progress` is called with a `Progress` for reports of the tool, where the connection is read, and must not
        wait. Reports do not extend the timeout. Questions of the tool go to `on_question`, or to the function that is
        set for all calls; the time that it takes does not count. Without one, they are declined, and the tool goes on.

        `traceparent` (W3C Trace Context) is the trace that the call belongs to; the MCP server gets it. Without it, the
        span counts that is active in OpenTelemetry.

        Large pictures, recordings and files are fetched after the call, and are not part of its timeout. With
        `save_to`, all of them are written to files, and not kept in memory: into a folder that exists, or whose path
        ends with `/`; or to a new file. The `_meta` of each item then has the path, as `a2c_saved_to`. A file that
        exists is not replaced.

        Raises:
            MalformedRequestError: `params` is not a JSON object, or `timeout` is not a number of seconds.
            NotFoundError: there is no such Computer in the office, or it left during the call.
            NotConnectedError: there is no connection to the Server, or it broke during the call.
            TooLargeError, RateLimitedError: the Server does not accept the request.
            BlobUnavailableError: the Computer does not have a large binary of the result any more.
            OSError: `save_to` cannot be written; `FileExistsError`: the file exists.
            SMCPError: the Server rejects the request for another reason, or the answer cannot be read.
        """
        return self._run(
            self._calling(computer, tool_name, params, timeout, on_progress, on_question, traceparent, save_to)
        )

    def call_tool(
        self,
        computer: str,
        tool: str,
        params: Mapping[str, Any] | None = None,
        timeout: float = CALL_SECONDS,
        *,
        on_progress: OnProgress | None = None,
        on_question: OnQuestion | None = None,
        traceparent: str | None = None,
        save_to: SaveTo | None = None,
    ) -> CallToolResult:
        """Call a tool: `emit_tool_call` with defaults. It returns and raises the same."""
        return self.emit_tool_call(
            computer,
            tool,
            params or {},
            timeout,
            on_progress=on_progress,
            on_question=on_question,
            traceparent=traceparent,
            save_to=save_to,
        )

    def call_tool_once(
        self,
        computer: str,
        tool: str,
        params: Mapping[str, Any],
        timeout: float = CALL_SECONDS,
        *,
        on_progress: OnProgress | None = None,
        on_log: OnLog | None = None,
        log_level: str = "info",
        continuation: Continuation | None = None,
        principal: str | None = None,
        traceparent: str | None = None,
    ) -> CallToolResult | Asked:
        """Call a tool, and return its questions instead of waiting for the answers.

        If the outcome is `Asked`, call again with the same arguments and `continuation=asked.answered(replies)`, or
        give it up with `cancel_call`. This is for programs that have their own way to ask, at another time or in
        another process. `principal` names the user that the call is made for, if the program makes calls for several:
        it is logged, and keeps the questions of one user's calls from another user. `traceparent` is that of
        `emit_tool_call`, whose exceptions this raises, too.

        `on_log` is called with a `LogMessage` for what the MCP server logs during the call, from `log_level` on, as far
        as the owner of the Computer keeps such messages. It must not wait.
        """
        calling = self._calling_once(
            computer, tool, params, timeout, on_progress, on_log, log_level, continuation, principal, traceparent
        )
        return self._run(calling)

    def cancel_call(self, asked: Asked) -> None:
        """Cancel a call that waits for the answers to its questions."""
        self._run(requests.cancel_call(self.name, asked.req_id))

    def get_tools_from_computer(
        self, computer: str, timeout: float = REQUEST_SECONDS, *, known_digest: str | None = None
    ) -> GetToolsRet:
        """Fetch the tools of a Computer. `tools` has the ones that are known already.

        `known_digest` is the `digest` of an earlier answer. If the tools are the same, the answer has `unchanged`, and
        no tools.

        Raises:
            NotFoundError: there is no such Computer in the office.
            TimedOutError: there is no answer within `timeout` seconds.
            SMCPError: the request fails for another reason.
        """
        return self._run(requests.get_tools(self.name, computer, timeout, known_digest))

    def get_config_from_computer(self, computer: str, timeout: float = REQUEST_SECONDS) -> GetComputerConfigRet:
        """Fetch the configuration of a Computer, without its secrets.

        Raises:
            NotFoundError: there is no such Computer in the office.
            TimedOutError: there is no answer within `timeout` seconds.
            SMCPError: the request fails for another reason.
        """
        return self._run(requests.get_config(self.name, computer, timeout))

    def get_desktop_from_computer(
        self, computer: str, *, size: int | None = None, window: str | None = None, timeout: float = REQUEST_SECONDS
    ) -> GetDeskTopRet:
        """Fetch the windows of a Computer: all of them, at most `size`, or the one at the address `window`.

        Raises:
            NotFoundError: there is no such Computer in the office.
            TimedOutError: there is no answer within `timeout` seconds.
            SMCPError: the request fails for another reason.
        """
        return self._run(requests.get_desktop(self.name, computer, size, window, timeout))

    def get_computers_in_office(self, office_id: str, timeout: float = REQUEST_SECONDS) -> list[SessionInfo]:
        """Fetch the Computers in this Agent's office. `computers` has the names that are known already.

        Raises:
            CrossOfficeError: `office_id` is another office.
            SMCPError: the request fails for another reason.
        """
        return self._run(requests.list_computers(self.name, office_id, timeout))

    # ---------------------------------------------------------------------------------------------------------- changes

    def changes(self) -> Changes:
        """Iterate over the changes from now until this Agent disconnects: `for change in agent.changes()`."""
        listener = Changes()
        with self._progress:
            self._listeners.add(listener)
        return listener

    def _tell_handler_all(self, changes: Changes) -> None:
        """Call the program's handler for one change after another."""
        # Not where the change is noticed, in the task or thread that reads the connection: a handler may call a tool,
        # and its answer could then not be read. And not several at once: a handler relies on the order of changes.
        for change in changes:
            try:
                self._background.finish(self._tell_handler(change))
            except Exception:
                logger.exception("the event handler failed at %s", change.kind)

    def _on_admitted(self) -> None:
        self._has_ended = False
        # Started here, and not by the constructor, which may run before there is an event loop. A client that has
        # disconnected and connects again needs a new iterator. It exists before the seat is taken: the first
        # notifications may precede the ack of the join.
        if self._handled is None or self._handled.is_closed:
            self._handled = self.changes()
            self._background.keep_running(partial(self._tell_handler_all, self._handled))
        super()._on_admitted()


class Changes:
    """An iterator over the changes of an office. `close` ends it after the changes that are in the queue.

    The Agent holds it weakly: a program that drops it does not have to close it.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self._queue = ChangeQueue()
        self._news = Condition()

    def put(self, change: Change) -> None:
        """Add a change."""
        with self._news:
            self._queue.put(change)
            self._news.notify_all()

    def close(self) -> None:
        """End the iteration after the changes that are in the queue."""
        with self._news:
            self.is_closed = True
            self._news.notify_all()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Change:
        with self._news:
            self._news.wait_for(lambda: len(self._queue) or self.is_closed)
            change = self._queue.take()
        if change is None:
            raise StopIteration
        return change
