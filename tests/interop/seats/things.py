"""An MCP server over stdio without an SDK: tools to call, wait for and add, one that reports its progress and one that
asks a question, a large picture, and a window."""

from __future__ import annotations

import base64
import json
import random
import sys
import threading
from pathlib import Path
from typing import Any

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
WINDOW = "window://things/board"
QUESTION = "Which colour?"
REPORTS = 300
TOOLS: dict[str, dict[str, str]] = {
    "ask": {},
    "echo": {"text": "string"},
    "fail": {"text": "string"},
    "grow": {"name": "string"},
    "measure": {"text": "string"},
    "picture": {"bytes": "integer"},
    "report": {},
    "sleep": {"seconds": "number"},
}

_writing = threading.Lock()
_cancelled: dict[Any, threading.Event] = {}
_client: dict[str, Any] = {}
"""What the client offers."""
_waiting: dict[str, Any] = {}
"""The calls that wait for an answer, by the id of their question."""


def picture(size: int) -> bytes:
    """Bytes that do not repeat; the same for the same size."""
    return random.Random(size).randbytes(size)


def main() -> None:
    """Serve until standard input ends."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        params: dict[str, Any] = message.get("params") or {}
        if method == "notifications/cancelled":
            _cancelled.setdefault(params["requestId"], threading.Event()).set()
        elif method is None and number in _waiting:
            outcome = message.get("result", {}).get("action", "error")
            send(id=_waiting.pop(number), result=text(f"the answer is {outcome}"))
        elif method is not None and number is not None:
            if method == "tools/call" and params["name"] == "sleep":
                _cancelled.setdefault(number, threading.Event())
                threading.Thread(target=sleep, args=[number, params["arguments"]], daemon=True).start()
            elif method == "tools/call" and params["name"] == "ask":
                ask(number)
            else:
                answer(number, method, params)


def answer(number: Any, method: str, params: dict[str, Any]) -> None:
    """Answer a request that takes no time."""
    result = answered(method, params)
    if result is not None:
        send(id=number, result=result)
    else:
        send(id=number, error={"code": -32601, "message": f"Method not found: {method}"})


def answered(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None if it is not known."""
    window = {"uri": WINDOW, "mimeType": "text/plain"}
    match method:
        case "initialize":
            return initialize(params)
        case "ping" | "resources/subscribe" | "resources/unsubscribe":
            return {}
        case "resources/list":
            return {"resources": [{**window, "name": "board"}]}
        case "resources/read":
            return {"contents": [{**window, "text": "on the board"}]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "tools/call":
            return call(params)
        case "tools/list":
            return {"tools": [described(name, fields) for name, fields in TOOLS.items()]}
        case _:
            return None


def initialize(params: dict[str, Any]) -> dict[str, Any]:
    """Agree on a version and say what there is."""
    wanted = params.get("protocolVersion")
    _client.update(params.get("capabilities") or {})
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True}},
        "serverInfo": {"name": "things", "version": "1.0.0"},
    }


def described(name: str, fields: dict[str, str]) -> dict[str, Any]:
    """A tool as it is listed."""
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in fields.items()},
        "required": list(fields),
    }
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema}


def call(params: dict[str, Any]) -> dict[str, Any]:
    """Run a tool."""
    arguments: dict[str, Any] = params.get("arguments") or {}
    match params["name"]:
        case "picture":
            data = base64.b64encode(picture(int(arguments["bytes"]))).decode()
            return {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
        case "measure":
            return text(str(len(arguments["text"])))
        case "report":
            meta: dict[str, Any] = params.get("_meta") or {}
            report(meta.get("progressToken"))
            return text("reported")
        case "fail":
            return {**text(arguments["text"]), "isError": True}
        case "grow":
            TOOLS[arguments["name"]] = {"text": "string"}
            send(method="notifications/tools/list_changed")
            return text(arguments["name"])
        case _:
            return text(str(arguments.get("text")))


def ask(number: Any) -> None:
    """Ask a question, whose answer ends the call; without a client that can ask, end it at once."""
    if "elicitation" not in _client:
        send(id=number, result=text("nobody can be asked"))
        return
    question = f"question-{number}"
    _waiting[question] = number
    schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
    send(id=question, method="elicitation/create", params={"message": QUESTION, "requestedSchema": schema})


def report(token: Any) -> None:
    """Report progress many times, if the client wants that."""
    for step in range(1, REPORTS + 1) if token is not None else ():
        progress = {"progressToken": token, "progress": step, "total": REPORTS, "message": f"step {step}"}
        send(method="notifications/progress", params=progress)


def sleep(number: Any, arguments: dict[str, Any]) -> None:
    """Answer later, unless it is cancelled; a `note` is a file to make when the wait begins."""
    if "note" in arguments:
        Path(arguments["note"]).touch()
    if not _cancelled[number].wait(float(arguments["seconds"])):
        send(id=number, result=text("slept"))


def text(value: str) -> dict[str, Any]:
    """A result of one text."""
    return {"content": [{"type": "text", "text": value}]}


def send(**message: Any) -> None:
    """Write a message."""
    data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    with _writing:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
