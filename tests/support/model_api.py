"""A model behind HTTP that follows a plan and rejects what the real APIs reject: the parts of OpenAI's Responses and
Chat Completions APIs and of Anthropic's Messages API that Agents use. It makes the calls of its plan, round by round,
and then answers with the results of the tools."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Call: TypeAlias = tuple[str, dict[str, Any]]
"""A tool and its arguments."""
Round: TypeAlias = Sequence[Call]


class Refused(Exception):
    """The API rejects a request with an HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass
class ModelApi:
    """The API at `url`; `requests` are the bodies that it received."""

    url: str
    plan: Sequence[Round]
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    was_asked: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)
    """Until it is set, requests get no answer."""

    @property
    def offered(self) -> list[str]:
        """The tools it was offered last."""
        return [tool["name"] for tool in self.requests[-1]["tools"]]

    @property
    def conversation(self) -> list[Any]:
        """What it was sent last, without the tools."""
        return self.requests[-1].get("input") or self.requests[-1]["messages"]

    def answer(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(body)
        self.was_asked.set()
        self.may_answer.wait()
        key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        _check(key == "a-key", 401, "that is not the key")
        apis = {"/v1/responses": self._respond, "/v1/chat/completions": self._complete, "/v1/messages": self._message}
        _check(path in apis, 404, "no such API")
        return apis[path](body)

    def _respond(self, body: dict[str, Any]) -> dict[str, Any]:
        made = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
        results = {
            item["call_id"]: _words(item["output"])
            for item in body["input"]
            if item.get("type") == "function_call_output"
        }
        _check(made == list(results), 400, "every call wants its output")
        calls = self._next(len(results))
        output: list[dict[str, Any]] = [
            {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": json.dumps(arguments)}
            for id, (name, arguments) in calls.items()
        ]
        if not calls:
            content = [{"type": "output_text", "text": _said(results)}]
            output = [{"type": "message", "id": "msg_1", "role": "assistant", "content": content}]
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": body["model"],
            "output": [{**item, "status": "completed"} for item in output],
            "tools": body["tools"],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
        }

    def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        results: dict[str, str] = {}
        wanted: list[str] = []
        conversation: list[dict[str, Any]] = [*body["messages"], {"role": "the model's turn"}]
        for message in conversation:
            if message["role"] == "tool":
                _check(message["tool_call_id"] in wanted, 400, "a tool message without its call before it")
                wanted.remove(message["tool_call_id"])
                results[message["tool_call_id"]] = message["content"]
                continue
            _check(not wanted, 400, "an assistant message with tool_calls must be followed by tool messages")
            wanted = [call["id"] for call in message.get("tool_calls") or ()]
        calls = self._next(len(results))
        made: list[dict[str, Any]] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id, (name, arguments) in calls.items()
        ]
        answer = {"role": "assistant", "tool_calls": made} if made else {"role": "assistant", "content": _said(results)}
        return {
            "id": "chat_1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": answer, "finish_reason": "tool_calls" if made else "stop"}],
        }

    def _message(self, body: dict[str, Any]) -> dict[str, Any]:
        results: dict[str, str] = {}
        wanted: list[str] = []
        for message in body["messages"]:
            blocks: list[Any] = [] if isinstance(message["content"], str) else message["content"]
            given = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
            _check(wanted == list(given), 400, "every tool_use wants its tool_result in the next message")
            for id, block in given.items():
                kinds = {part["type"] for part in block["content"]}
                _check(not block["is_error"] or kinds == {"text"}, 400, "what fails, fails in words")
                results[id] = _words(block["content"])
            wanted = [block["id"] for block in blocks if block["type"] == "tool_use"]
        calls = self._next(len(results))
        content: list[dict[str, Any]] = [
            {"type": "tool_use", "id": id, "name": name, "input": arguments} for id, (name, arguments) in calls.items()
        ]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content or [{"type": "text", "text": _said(results)}],
            "stop_reason": "tool_use" if calls else "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def _next(self, answered: int) -> dict[str, Call]:
        """The calls of the round that comes after so many results, by their ids."""
        made = 0
        for calls in self.plan:
            if made == answered:
                return {f"call_{made + number}": call for number, call in enumerate(calls)}
            made += len(calls)
        return {}


def _check(condition: bool, status: int, reason: str) -> None:
    if not condition:
        raise Refused(status, reason)


def _words(parts: Sequence[Mapping[str, Any]]) -> str:
    return "".join(part.get("text", "") for part in parts)


def _said(results: Mapping[str, str]) -> str:
    return f"The tools say: {' and '.join(results.values())}"


@contextlib.contextmanager
def model_api(*plan: Round) -> Generator[ModelApi]:
    """A model with a plan."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(self.rfile.read(int(headers["content-length"])))
            try:
                status, answer = 200, api.answer(self.path, headers, body)
            except Refused as refusal:
                status, answer = refusal.status, {"error": {"type": "refused", "message": str(refusal)}}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        api = ModelApi(f"http://127.0.0.1:{server.server_port}", plan)
        api.may_answer.set()
        thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
        thread.start()
        try:
            yield api
        finally:
            api.may_answer.set()
            server.shutdown()
            thread.join()
