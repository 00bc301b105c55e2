"""A stdio MCP server without an SDK: it starts at once, and misbehaves in whichever way `--mode` names."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MODES = (
    "good",
    "exit",
    "exit_after_init",
    "mute",
    "garbage",
    "chatty",
    "flood_stderr",
    "flood_stdout",
    "flood_notifications",
    "no_ping",
    "bad_schema",
    "bad_property",
    "bad_list",
    "no_list",
    "late_list",
    "slow_start",
    "slow_stop",
    "stubborn",
    "fork",
    "fork_holding_pipes",
    "legacy_ping_error",
    "no_tools_capability",
)
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
DEFAULT_VERSION = "2025-06-18"
PAGE = 100
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=="

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class RpcError(Exception):
    """Answered as a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"data": data} if data is not None else {})}


class Call:
    """One `tools/call` under way."""

    def __init__(self, arguments: dict[str, Any], progress_token: str | int | None) -> None:
        self.arguments = arguments
        self.progress_token = progress_token
        self.cancelled = threading.Event()


class Tool:
    """What is listed, and what is done when it is called; an answer of None means none is sent."""

    def __init__(
        self, definition: dict[str, Any], run: Callable[[Call], dict[str, Any] | None], slow: bool = False
    ) -> None:
        self.definition = definition
        self.run = run
        self.slow = slow


class Server:
    """Reads in the main thread and answers there, unless that takes time: such a call has a thread of its own."""

    def __init__(self, mode: str, tools: int, prefix: str, log: str | None, marker: str) -> None:
        self.mode = mode
        self.prefix = prefix
        self.marker = marker
        # Each write to a file opened this way is appended whole, whichever thread makes it.
        self.log_file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if log else None
        self.writing = threading.Lock()
        self.silent = mode in ("mute", "garbage")
        self.calls: dict[str | int, Call] = {}
        self.changing = threading.Lock()
        self.tools: dict[str, Tool] = {}
        for tool in self.own_tools():
            self.tools[tool.definition["name"]] = tool
        for number in range(tools):
            name = f"{prefix}tool_{number:04}"
            self.tools[name] = echo_tool(name)
        # The first is no schema to anybody; the second only to those who look inside.
        schema = {
            "bad_schema": {"type": "nonsense", "properties": 7},
            "bad_property": {"type": "object", "properties": {"text": {"type": "nonsense"}}},
        }.get(mode)
        if schema is not None:
            broken = echo_tool(f"{prefix}{mode}")
            broken.definition["inputSchema"] = schema
            self.tools[broken.definition["name"]] = broken

    def run(self) -> int:
        """Serve until standard input ends."""
        self.log(event="start", pid=os.getpid())
        if self.mode == "exit":
            write_all(2, b"raw: cannot start\nraw: giving up\n")
            return 3
        if self.mode == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if self.mode in ("fork", "fork_holding_pipes"):
            self.fork(hold_pipes=self.mode == "fork_holding_pipes")
        flood = {
            "garbage": self.write_garbage,
            "flood_stderr": self.flood_stderr,
            "flood_stdout": self.flood_stdout,
            "flood_notifications": self.flood_notifications,
        }.get(self.mode)
        if flood is not None:
            start_thread(flood)
        for line in sys.stdin.buffer:
            self.receive(json.loads(line))
        self.log(event="eof")
        if self.mode == "slow_stop":
            time.sleep(1.5)
        while self.mode == "stubborn":
            time.sleep(60)
        return 0

    # Messages

    def receive(self, message: dict[str, Any]) -> None:
        """Log and answer one message."""
        method = message.get("method")
        request_id = message.get("id")
        params: dict[str, Any] = message.get("params") or {}
        self.log(method=method, id=request_id, params=params)
        if method == "notifications/cancelled":
            call = self.calls.get(params["requestId"])
            if call is not None:
                call.cancelled.set()
        if method is None or request_id is None:
            return
        if method == "tools/call":
            call = Call(params.get("arguments") or {}, params.get("_meta", {}).get("progressToken"))
            self.calls[request_id] = call
            self.start_call(request_id, params["name"], call)
        elif method == "initialize" and self.mode == "slow_start":
            start_thread(lambda: (time.sleep(3), self.answer(request_id, lambda: self.initialize(params))))
        else:
            if method == "ping" and self.mode == "no_ping":
                self.silent = True
            self.answer(request_id, lambda: self.handle(method, params))
            if method == "initialize" and self.mode == "exit_after_init":
                os._exit(4)

    def answer(self, request_id: str | int, work: Callable[[], dict[str, Any] | None]) -> None:
        """Send what `work` gives, as a result or as an error."""
        try:
            result = work()
        except RpcError as error:
            self.send(id=request_id, error=error.error)
        except Exception as error:
            self.send(id=request_id, error={"code": INVALID_PARAMS, "message": repr(error)})
        else:
            if result is not None:
                self.send(id=request_id, result=result)
        finally:
            self.calls.pop(request_id, None)

    def handle(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Give the result of any request but a tool call."""
        match method:
            case "initialize":
                return self.initialize(params)
            case "ping" if self.mode != "legacy_ping_error":
                return {}
            case "tools/list" if self.mode == "bad_list":
                return {"tools": "nonsense"}
            case "tools/list" if self.mode == "no_list":
                raise RpcError(INTERNAL_ERROR, "not now")
            case "tools/list" if self.mode == "late_list":
                self.mode = "good"
                raise RpcError(INTERNAL_ERROR, "not yet")
            case "tools/list" if self.mode != "no_tools_capability":
                return self.list_tools(params.get("cursor"))
            case "resources/list":
                return {"resources": []}
            case "logging/setLevel":
                return {}
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        """Agree on a version and say what there is."""
        wanted = params.get("protocolVersion")
        capabilities: dict[str, Any] = {"resources": {}, "logging": {}}
        if self.mode != "no_tools_capability":
            capabilities["tools"] = {"listChanged": True}
        return {
            "protocolVersion": wanted if wanted in VERSIONS else DEFAULT_VERSION,
            "capabilities": capabilities,
            "serverInfo": {"name": "raw", "version": "1.0.0"},
        }

    def list_tools(self, cursor: str | None) -> dict[str, Any]:
        """Give one page."""
        start = int(cursor or 0)
        with self.changing:
            everything = list(self.tools.values())
        result: dict[str, Any] = {"tools": [tool.definition for tool in everything[start : start + PAGE]]}
        if start + PAGE < len(everything):
            result["nextCursor"] = str(start + PAGE)
        return result

    def start_call(self, request_id: str | int, name: str, call: Call) -> None:
        """Run a tool by its listed name, and answer."""
        tool = self.tools.get(name)

        def work() -> dict[str, Any] | None:
            if tool is None:
                raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
            return tool.run(call)

        if tool is not None and tool.slow:
            start_thread(lambda: self.answer(request_id, work))
        else:
            self.answer(request_id, work)

    # Tools

    def own_tools(self) -> list[Tool]:
        """Give those that are always present."""
        number = {"type": "number"}
        integer = {"type": "integer"}
        string = {"type": "string"}
        add = self.tool("add", self.add, a=number, b=number)
        add.definition["outputSchema"] = {"type": "object", "properties": {"result": number}, "required": ["result"]}
        broken = self.tool("broken_schema", lambda _: {**text("x"), "structuredContent": {"x": "no"}})
        broken.definition["outputSchema"] = {"type": "object", "required": ["x"], "properties": {"x": integer}}
        describe = self.tool("describe", lambda _: text("described"))
        describe.definition["annotations"] = {"title": "Describe it", "readOnlyHint": True, "destructiveHint": False}
        describe.definition["_meta"] = {"vendor": "x", "nested": {"a": 1}, "list": [1, 2]}
        return [
            echo_tool(f"{self.prefix}echo"),
            add,
            self.slow_tool("sleep", self.sleep, seconds=number),
            self.tool("fail", lambda call: failure(**call.arguments), message=string),
            self.tool("raise", self.fault, code=integer, message=string),
            self.tool("env", lambda call: text(os.environ.get(call.arguments["name"], "")), name=string),
            self.tool("cwd", lambda _: text(os.getcwd())),
            self.tool("media", lambda _: media()),
            self.slow_tool("big", lambda call: text("x" * int(call.arguments["bytes"])), bytes=integer),
            self.tool("exit", self.exit, code=integer),
            broken,
            self.tool("grow", self.grow, name=string),
            self.tool("shrink", self.shrink, name=string),
            self.slow_tool("storm", self.storm, count=integer),
            describe,
        ]

    def tool(self, name: str, run: Callable[[Call], dict[str, Any] | None], /, **properties: dict[str, Any]) -> Tool:
        """Make a tool all of whose arguments are required."""
        return Tool(definition(f"{self.prefix}{name}", properties), run)

    def slow_tool(
        self, name: str, run: Callable[[Call], dict[str, Any] | None], /, **properties: dict[str, Any]
    ) -> Tool:
        """Make a tool that may take a while, or write more than a pipe holds."""
        return Tool(definition(f"{self.prefix}{name}", properties), run, slow=True)

    def add(self, call: Call) -> dict[str, Any]:
        """Answer in both forms."""
        total = call.arguments["a"] + call.arguments["b"]
        return {**text(str(total)), "structuredContent": {"result": total}}

    def sleep(self, call: Call) -> dict[str, Any] | None:
        """Report progress at the start and half way; end without an answer when cancelled."""
        seconds = float(call.arguments["seconds"])
        for done in (1, 2):
            if call.progress_token is not None:
                self.notify("progress", progressToken=call.progress_token, progress=done, total=2)
            if call.cancelled.wait(seconds / 2):
                return None
        return text(f"slept {seconds}")

    def fault(self, call: Call) -> dict[str, Any]:
        """Answer with a JSON-RPC error."""
        raise RpcError(int(call.arguments["code"]), call.arguments["message"])

    def exit(self, call: Call) -> dict[str, Any]:
        """Die before the answer."""
        write_all(2, b"about to exit\n")
        os._exit(int(call.arguments["code"]))

    def grow(self, call: Call) -> dict[str, Any]:
        """Add a tool, under exactly the name given."""
        name = call.arguments["name"]
        with self.changing:
            self.tools[name] = echo_tool(name)
        self.notify("tools/list_changed")
        return text(name)

    def shrink(self, call: Call) -> dict[str, Any]:
        """Take a tool away."""
        name = call.arguments["name"]
        with self.changing:
            self.tools.pop(name, None)
        self.notify("tools/list_changed")
        return text(name)

    def storm(self, call: Call) -> dict[str, Any]:
        """Cry wolf."""
        for _ in range(int(call.arguments["count"])):
            self.notify("tools/list_changed")
        return text("calm")

    # Output

    def notify(self, name: str, **params: Any) -> bool:
        """Send a notification."""
        return self.send(method=f"notifications/{name}", params=params)

    def send(self, **message: Any) -> bool:
        """Write one message, and say whether anybody could still read it."""
        if self.silent:
            return True
        data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        if self.mode == "chatty":
            data = b"raw: here comes a message\n" + data
        with self.writing:
            return write_all(1, data)

    def log(self, **entry: Any) -> None:
        """Append to the log, where there is one."""
        if self.log_file is not None:
            os.write(self.log_file, json.dumps(entry).encode() + b"\n")

    # Faults

    def write_garbage(self) -> None:
        """Write about a thousand lines per second."""
        while write_all(1, b"this is not JSON\n"):
            time.sleep(0.001)

    def flood_stderr(self) -> None:
        """Write as fast as it is read."""
        while write_all(2, b"raw: nothing to see here\n"):
            pass

    def flood_stdout(self) -> None:
        """Write as fast as it is read, between messages."""
        while True:
            with self.writing:
                if not write_all(1, b"this is not JSON\n"):
                    return

    def flood_notifications(self) -> None:
        """Write messages that are valid and worth nothing."""
        while self.notify("message", level="info", data="nothing to see here"):
            pass

    def fork(self, hold_pipes: bool) -> None:
        """Leave two processes behind, one of them in a session of its own."""
        import subprocess  # costs more to import than all of the rest

        stream = None if hold_pipes else subprocess.DEVNULL
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        if self.marker:
            command.append(self.marker)
        for apart in (False, True):
            child = subprocess.Popen(command, stdin=stream, stdout=stream, stderr=stream, start_new_session=apart)
            self.log(event="child", pid=child.pid)


def definition(name: str, properties: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Describe a tool."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema}


def echo_tool(name: str) -> Tool:
    """Make a tool that answers what it is given."""
    return Tool(definition(name, {"text": {"type": "string"}}), lambda call: text(call.arguments["text"]))


def text(value: str) -> dict[str, Any]:
    """Make a result of one text."""
    return {"content": [{"type": "text", "text": value}]}


def media() -> dict[str, Any]:
    """Make a result with every kind of content there is."""
    return {
        "content": [
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "audio", "data": WAV, "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "raw://note", "mimeType": "text/plain", "text": "a note"}},
            {"type": "resource_link", "uri": "raw://linked", "name": "linked", "mimeType": "text/plain"},
            {"type": "text", "text": "for you", "annotations": {"audience": ["user"], "priority": 0.5}},
        ],
        "structuredContent": {"nothing": None, "nested": [[1, 2], [{"deep": None}]]},
        "_meta": {"origin": "raw"},
    }


def failure(message: str, everywhere: bool = False) -> dict[str, Any]:
    """Make a result that says what went wrong, as a text or wherever that can be said."""
    if not everywhere:
        return {**text(message), "isError": True}
    resource = {"uri": "raw://log", "mimeType": "text/plain", "text": message}
    return {
        "content": [
            {"type": "text", "text": message, "annotations": {"audience": ["user"]}},
            {"type": "resource", "resource": resource},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        ],
        "structuredContent": {message: [{"why": message}]},
        "_meta": {"why": message},
        "isError": True,
    }


def write_all(descriptor: int, data: bytes) -> bool:
    """Write past Python's buffers; False when the other end is gone."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:
        return False
    return True


def start_thread(work: Callable[[], object]) -> None:
    """Run aside."""
    threading.Thread(target=work, daemon=True).start()


def main() -> int:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=MODES, default="good")
    parser.add_argument("--tools", type=int, default=0, help="so many more tools")
    parser.add_argument("--prefix", default="", help="put before the name of every tool")
    parser.add_argument("--log", help="file to append what is received to, as lines of JSON")
    parser.add_argument("--marker", default="", help="ignored: to be found in a list of processes")
    options = parser.parse_args()
    return Server(options.mode, options.tools, options.prefix, options.log, options.marker).run()


if __name__ == "__main__":
    code = main()
    # At once: a thread in the middle of a write would hold up an orderly end.
    os._exit(code)
