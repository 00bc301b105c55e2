"""Calls of tools that a person makes in the console.

The answer to the request is a stream with progress, questions and the result. The call belongs to the stream: if the
browser closes it, the call is cancelled where it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from a2c_smcp.agent.types import Progress, Question
from a2c_smcp.console.hub.offers import OfficeRooms
from a2c_smcp.console.web.requests import Asked as AskedRequest
from a2c_smcp.console.web.streams import HEARTBEAT_SECONDS, WRITE_SECONDS, event_text, hung_up
from a2c_smcp.errors import InternalError, InvalidAnswerError, NotFoundError, RateLimitedError, SMCPError
from a2c_smcp.gateway.office import Office
from a2c_smcp.protocol.questions import MAX_ROUNDS, Asked, Reply
from a2c_smcp.utils.results import CallToolResult, to_wire

logger = logging.getLogger(__name__)

CALL_SECONDS = 60.0
MOST_CALLS = 20
"""Calls of one user at a time."""
MOST_REPORTS = 100
"""Reports that wait for a browser that reads slowly. Of more, the oldest are left out."""


class Trials:
    """The calls that run now."""

    def __init__(self, rooms: OfficeRooms) -> None:
        self._rooms = rooms
        self._running: dict[str, Trial] = {}
        self._users: Counter[str] = Counter()

    async def call(self, asked: AskedRequest) -> Response:
        """Call a tool; the answer is a stream.

        Raises:
            RateLimitedError: the user makes too many calls at a time.
        """
        office = await self._rooms.office(asked, asked.path["office"])
        user = asked.sender.name
        if self._users[user] >= MOST_CALLS:
            raise RateLimitedError(f"{MOST_CALLS} calls run at a time, which is the limit", details={"retry_after": 1})
        return Trial(office, asked.body, user, asked.holds, self._begin, self._end)

    async def reply(self, asked: AskedRequest) -> None:
        """Answer the questions of a call.

        Raises:
            NotFoundError: the call does not run, or does not ask.
        """
        trial = self._running.get(asked.path["id"])
        if trial is None or trial.user != asked.sender.name or trial.office.id != asked.path["office"]:
            raise NotFoundError("this call does not run any more")
        trial.reply({key: Reply(each["action"], each.get("content")) for key, each in asked.body["replies"].items()})

    def _begin(self, trial: Trial) -> None:
        self._running[trial.id] = trial
        self._users[trial.user] += 1

    def _end(self, trial: Trial) -> None:
        self._running.pop(trial.id, None)
        self._users[trial.user] -= 1
        if not self._users[trial.user]:
            del self._users[trial.user]


class Trial(Response):
    """One call, and the stream of what happens to it."""

    media_type = "text/event-stream"

    def __init__(
        self,
        office: Office,
        form: Mapping[str, Any],
        user: str,
        holds: Callable[[], bool],
        begin: Callable[[Trial], None],
        end: Callable[[Trial], None],
    ) -> None:
        super().__init__(None, 200, {"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self.id = secrets.token_urlsafe(16)
        self.office = office
        self.user = user
        self._form = form
        self._holds = holds
        self._begin, self._end = begin, end
        self._events: deque[tuple[str, Any]] = deque()
        self._reports: deque[tuple[str, Any]] = deque(maxlen=MOST_REPORTS)
        self._news = asyncio.Event()
        self._replies: asyncio.Future[Mapping[str, Reply]] | None = None
        self._is_over = False

    def reply(self, replies: Mapping[str, Reply]) -> None:
        """Take the answers to the questions.

        Raises:
            NotFoundError: there are no questions now.
        """
        if self._replies is None or self._replies.done():
            raise NotFoundError("this call asks nothing now")
        self._replies.set_result(replies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the call, and send what happens."""
        self._begin(self)
        calling = asyncio.create_task(self._run(), name=f"console: call of {self._form['tool']}")
        leaving = asyncio.ensure_future(hung_up(receive))
        writing = asyncio.ensure_future(self._write(send))
        try:
            await asyncio.wait((leaving, writing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._end(self)
            for task in (calling, leaving, writing):
                task.cancel()
            await asyncio.gather(calling, leaving, writing, return_exceptions=True)

    # ------------------------------------------------------------------------------------------------------------ call

    async def _run(self) -> None:
        try:
            async with self.office.seat.used():
                outcome = await self._call()
            self._tell("result", to_wire(outcome))
        except SMCPError as error:
            self._tell("failed", {"code": error.code, "message": error.message, "details": error.details or {}})
        except Exception:  # the outermost edge of the call: the browser gets an answer in any case
            logger.exception("a call in the console failed")
            self._tell("failed", {"code": InternalError.code, "message": "internal fault", "details": {}})
        finally:
            self._is_over = True
            self._news.set()

    async def _call(self) -> CallToolResult:
        agent = await self.office.agent()
        form, continuation = self._form, None
        seconds = min(form.get("timeout", CALL_SECONDS), agent.server_info.max_tool_timeout or CALL_SECONDS * 60)
        for _ in range(MAX_ROUNDS + 1):
            outcome = await agent.call_tool_once(
                form["computer"],
                form["tool"],
                form.get("arguments", {}),
                seconds,
                on_progress=self._report,
                continuation=continuation,
                principal=self.user,
            )
            if isinstance(outcome, CallToolResult):
                return outcome
            try:
                continuation = outcome.answered(await self._ask(outcome))
            except asyncio.CancelledError:
                await agent.cancel_call(outcome)
                raise
        raise InvalidAnswerError(f"{form['computer']} asks more than {MAX_ROUNDS} times in one call")

    async def _ask(self, asked: Asked) -> Mapping[str, Reply]:
        """The answers of the person; without one in time, the questions are declined."""
        askable = {key: question for key, question in asked.questions.items() if question is not None}
        given: Mapping[str, Reply] = {}
        if askable:
            self._replies = asyncio.get_running_loop().create_future()
            self._tell("questions", {key: _described(question) for key, question in askable.items()})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(asked.expires_in):
                    given = await self._replies
            self._replies = None
        return {
            key: given.get(key, Reply("decline")) if key in askable else Reply("decline") for key in asked.questions
        }

    def _report(self, report: Progress) -> None:
        values = {"progress": report.progress, "total": report.total, "message": report.message}
        self._reports.append(("progress", values))
        self._news.set()

    def _tell(self, kind: str, data: Any) -> None:
        self._events.extend(self._reports)  # what was reported before comes before
        self._reports.clear()
        self._events.append((kind, data))
        self._news.set()

    # ---------------------------------------------------------------------------------------------------------- stream

    async def _write(self, send: Send) -> None:
        async def write(text: str, *, more: bool = True) -> None:
            async with asyncio.timeout(WRITE_SECONDS):
                await send({"type": "http.response.body", "body": text.encode(), "more_body": more})

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await write(_event("started", {"id": self.id}))
        while not (self._is_over and not self._events and not self._reports):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self._news.wait()
            self._news.clear()
            if not self._holds():
                await write(_event("failed", {"code": 401, "message": "you are logged out", "details": {}}), more=False)
                return
            found = [*self._events, *self._reports]
            self._events.clear()
            self._reports.clear()
            await write("".join(_event(kind, data) for kind, data in found) or ": heartbeat\n\n")
        await write("", more=False)


def _described(question: Question) -> dict[str, Any]:
    return {
        "mcp_server": question.mcp_server,
        "computer": question.computer,
        "message": question.message,
        "url": question.url,
        "schema": question.schema,
        "problem": question.problem,
        "expires_in": question.expires_in,
    }


def _event(kind: str, data: Any) -> str:
    return event_text(kind, json.dumps(data, separators=(",", ":")))
