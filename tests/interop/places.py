"""Where tables are set: on Servers of ours and of the official SDK, which all tests of a process share."""

from __future__ import annotations

import tempfile
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Self

from a2c_smcp.server import DefaultAuthenticationProvider, DefaultSyncAuthenticationProvider
from tests.interop.meetings import Meeting
from tests.interop.seat import OURS, Seats
from tests.interop.table import Form, Table, table
from tests.support.running import running


class Places:
    """Servers and seats. Each is started when it is first needed."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._seats = Seats()
        self._ours: dict[tuple[Any, ...], str] = {}

    def __enter__(self) -> Self:
        self._stack.callback(self._seats.close)
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def server(self, version: str, form: Form, secret: str | None = None, checks: bool = False) -> str:
        """The address of a Server; without a `secret` it lets everybody in."""
        if version != OURS:
            return self._seats.server(version, form, secret, checks)
        return self.ours(form, secret)

    def ours(self, form: Form, secret: str | None = None, **options: Any) -> str:
        """The address of a Server of ours with these options."""
        key = (form, secret, *sorted(options.items()))
        if key not in self._ours:
            provider = DefaultAuthenticationProvider if form == "async" else DefaultSyncAuthenticationProvider
            server = running(form, provider(secret) if secret else None, **options)
            self._ours[key] = self._stack.enter_context(server).url
        return self._ours[key]

    def table(
        self, url: str, agent: str, computer: str, form: Form = "async", login: dict[str, Any] | None = None
    ) -> AbstractContextManager[Table]:
        """An Agent and a Computer that have not met yet."""
        return table(self._seats, url, agent, computer, self._folder, form=form, login=login)

    def meeting(self, meeting: Meeting) -> AbstractContextManager[Table]:
        """The Agent and the Computer of a meeting, at its Server."""
        url = self.server(meeting.server, meeting.server_form)
        return self.table(url, meeting.agent, meeting.computer, meeting.agent_form)
