"""A tool call that needs several requests to the MCP server, until its result is final.

A server of 2026-07-28 may answer `tools/call` with questions (`input_required`), and gets the call again with the
answers; or with a task, which is followed until it ends. An older one may answer that addresses have to be visited
first (-32042), and then gets the same call again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, URL_ELICITATION_REQUIRED

from a2c_smcp.computer.mcp.conversation import OnProgress
from a2c_smcp.computer.mcp.questions import (
    ELICITATION,
    Answers,
    Asker,
    Consult,
    Question,
    Rejected,
    declined,
    read_question,
)
from a2c_smcp.errors import ToolFailedError
from a2c_smcp.protocol.questions import MAX_QUESTIONS, MAX_ROUNDS

logger = logging.getLogger(__name__)

TASKS = "io.modelcontextprotocol/tasks"
"""The extension of MCP 2026-07-28 that has tasks."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds before a call is sent again that a server answers with neither a question nor a result."""
POLL_SECONDS, SHORTEST_POLL, LONGEST_POLL = 1.0, 0.1, 30.0
"""Seconds between two looks at a task: without a wish of the server, and the bounds of its wish."""

Request: TypeAlias = Callable[[str, dict[str, Any], OnProgress | None], Awaitable[dict[str, Any]]]
"""Sends a request to the server and waits for its answer."""
Send: TypeAlias = Callable[[str, dict[str, Any]], None]
"""Sends a request whose answer does not matter."""


class Rounds:
    """One call. `consult` asks a person for as long as there is a connection; without an `asker`, nobody is asked."""

    def __init__(
        self, request: Request, send: Send, on_progress: OnProgress, asker: Asker | None, consult: Consult
    ) -> None:
        self._request = request
        self._send = send
        self._on_progress = on_progress
        self._asker = asker
        self._consult = consult

    async def finish(self, params: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
        """The final result of a `tools/call` with these params, whose first result was `result`.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
            ToolFailedError: the server asks for something that is not offered here, or its task was cancelled.
        """
        pause = FIRST_PAUSE
        while True:
            match result.get("resultType"):
                case "task":
                    return await self._follow(result)
                case "input_required":
                    further: dict[str, Any] = {}
                    if not (requests := result.get("inputRequests")) and result.get("requestState") is None:
                        raise ToolFailedError("the MCP server's answer requires input and does not say which")
                    if requests:
                        further["inputResponses"] = await self._answer(requests)
                        pause = FIRST_PAUSE
                    else:
                        await asyncio.sleep(pause)
                        pause = min(pause * 2, LONGEST_PAUSE)
                    if (state := result.get("requestState")) is not None:
                        further["requestState"] = state
                    result = await self._request("tools/call", {**params, **further}, self._on_progress)
                case _:
                    return result

    async def visit(self, error: MCPError) -> None:
        """Ask a person to visit the addresses that a server requires before a call (-32042).

        Raises:
            MCPError: the error itself, if a person does not visit them, or cannot be asked.
        """
        data: Any = error.error.data
        listed = cast("dict[str, Any]", data).get("elicitations") if isinstance(data, dict) else None
        wanted = cast("list[Any]", listed) if isinstance(listed, list) else []
        if error.code != URL_ELICITATION_REQUIRED or self._asker is None or not 0 < len(wanted) <= MAX_QUESTIONS:
            raise error
        _count(self._asker)
        questions: dict[str, Question] = {}
        for number, params in enumerate(wanted, 1):
            try:
                question = read_question(params)
                if question.url is None:
                    raise Rejected("requires an answer to a form before the call")
            except Rejected as rejection:
                self._asker.reject(str(rejection))
                raise error from None
            questions[f"url-{number}"] = question
        answers = await self._consult(questions)
        if any(answer["action"] != "accept" for answer in answers.values()):
            raise error

    async def _answer(self, requests: Any) -> Answers:
        """Ask what a server of 2026-07-28 wants to know. Of more than `MAX_QUESTIONS`, the rest is declined.

        Raises:
            ToolFailedError: it asks for something else than a question to a person, or too often.
        """
        if self._asker is None or not isinstance(requests, dict):
            raise ToolFailedError("the tool asks for input from a person, and there is nobody to ask")
        _count(self._asker)
        questions: dict[str, Question] = {}
        answers: Answers = {}
        for key, wanted in cast("dict[str, Any]", requests).items():
            request = cast("dict[str, Any]", wanted) if isinstance(wanted, dict) else {}
            method = request.get("method")
            # The protocol has no way to decline these: a server must not send what a client does not declare.
            if method != ELICITATION:
                raise ToolFailedError(f"the tool asks for {str(method)[:60]!r}, which is not offered here")
            try:
                if len(questions) == MAX_QUESTIONS:
                    raise Rejected(f"asks more than {MAX_QUESTIONS} questions at a time")
                questions[key] = read_question(request.get("params"))
            except Rejected as rejection:
                self._asker.reject(str(rejection))
                answers |= declined([key])
        if questions:
            answers |= await self._consult(questions)
        return answers

    # ------------------------------------------------------------------------------------------------------------ tasks

    async def _follow(self, task: dict[str, Any]) -> dict[str, Any]:
        """Follow a task to its result. If this ends before the task, because the call is cancelled or times out, or the
        task asks for what is not offered, the task is cancelled, too."""
        task_id = task.get("taskId")
        if not isinstance(task_id, str):
            raise MCPError(code=INTERNAL_ERROR, message="the server's answer is a task without an id")
        steps, shown = 0, None
        answered: set[str] = set()
        has_ended = False
        try:
            while True:
                status, words = task.get("status"), task.get("statusMessage")
                if (status, words) != shown:
                    # Tasks have no number for their progress, so the changes of their status are counted.
                    shown, steps = (status, words), steps + 1
                    self._on_progress(steps, None, words if isinstance(words, str) else str(status))
                has_ended = status in ("completed", "failed", "cancelled")
                match status:
                    case "completed":
                        return _result_of(task)
                    case "failed":
                        raise _error_of(task)
                    case "cancelled":
                        raise ToolFailedError("the MCP server cancelled the task")
                    case "input_required":
                        await self._update(task_id, task.get("inputRequests"), answered)
                    case _:
                        pass
                await asyncio.sleep(_interval(task))
                task = await self._request("tasks/get", {"taskId": task_id}, None)
        finally:
            if not has_ended:
                self._give_up(task_id)

    def _give_up(self, task_id: str) -> None:
        """Cancel a task. This does not wait for the server, and hides no error that is being raised."""
        try:
            self._send("tasks/cancel", {"taskId": task_id})
        except Exception:
            logger.exception("a task of the MCP server could not be cancelled")

    async def _update(self, task_id: str, requests: Any, answered: set[str]) -> None:
        """Answer the questions of a task that have not been answered."""
        # A task may show a question again that has been answered: its status changes a little later.
        listed = cast("dict[str, Any]", requests) if isinstance(requests, dict) else {}
        if new := {key: request for key, request in listed.items() if key not in answered}:
            answers = await self._answer(new)
            answered.update(answers)
            await self._request("tasks/update", {"taskId": task_id, "inputResponses": answers}, None)


def _count(asker: Asker) -> None:
    if not asker.admit():
        raise ToolFailedError(f"the MCP server asks more than {MAX_ROUNDS} times in one call")


def _result_of(task: dict[str, Any]) -> dict[str, Any]:
    result = task.get("result")
    if not isinstance(result, dict):
        raise MCPError(code=INTERNAL_ERROR, message="the server's task is completed and has no result")
    return cast("dict[str, Any]", result)


def _error_of(task: dict[str, Any]) -> MCPError:
    error = task.get("error")
    details = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    code, words = details.get("code"), details.get("message")
    return MCPError(
        code=code if type(code) is int else INTERNAL_ERROR,
        message=words if isinstance(words, str) else "the task failed",
    )


def _interval(task: dict[str, Any]) -> float:
    wish = task.get("pollIntervalMs")
    seconds = wish / 1000 if isinstance(wish, int | float) and not isinstance(wish, bool) else POLL_SECONDS
    return min(max(seconds, SHORTEST_POLL), LONGEST_POLL)
