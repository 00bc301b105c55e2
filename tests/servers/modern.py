"""A stdio MCP server without an SDK that speaks protocol 2026-07-28 and none before: it refuses `initialize`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

VERSION = "2026-07-28"
KEY = "io.modelcontextprotocol/"
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
UNSUPPORTED_VERSION = -32022


class RpcError(Exception):
    """Answered as a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class Server:
    """One message at a time."""

    def __init__(self, log: str | None) -> None:
        self.log_file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if log else None
        self.tools = ["echo", "grow", "set_window"]
        self.listeners: set[str | int] = set()
        self.windows: dict[str, str] = {}
        self.watchers: dict[str | int, list[str]] = {}

    def run(self) -> None:
        """Serve until standard input ends."""
        self.log(event="start", pid=os.getpid())
        for line in sys.stdin.buffer:
            self.receive(json.loads(line))
        # A listen request is answered when it ends.
        for listener in self.listeners:
            self.answer(listener, {"_meta": subscription(listener)})
        self.log(event="eof")

    def receive(self, message: dict[str, Any]) -> None:
        """Log and answer one message."""
        method = message.get("method")
        request_id = message.get("id")
        params: dict[str, Any] = message.get("params") or {}
        self.log(method=method, id=request_id, params=params)
        if method == "notifications/cancelled":
            self.listeners.discard(params["requestId"])
            self.watchers.pop(params["requestId"], None)
        if method is None or request_id is None:
            return
        try:
            result = self.handle(method, request_id, params)
        except RpcError as error:
            self.send(id=request_id, error=error.error)
        else:
            if result is not None:
                self.answer(request_id, result)

    def handle(self, method: str, request_id: str | int, params: dict[str, Any]) -> dict[str, Any] | None:
        """Give the result of a request, None where it comes later."""
        if method == "initialize":
            raise unsupported(params.get("protocolVersion"))
        meta: dict[str, Any] = params.get("_meta") or {}
        missing = [key for key in ("protocolVersion", "clientCapabilities") if KEY + key not in meta]
        if missing:
            raise RpcError(INVALID_PARAMS, f"Missing in params._meta: {', '.join(missing)}")
        if meta[f"{KEY}protocolVersion"] != VERSION:
            raise unsupported(meta[f"{KEY}protocolVersion"])
        match method:
            case "server/discover":
                capabilities = {"tools": {"listChanged": True}, "resources": {"listChanged": True, "subscribe": True}}
                return {"supportedVersions": [VERSION], "capabilities": capabilities, **uncached()}
            case "tools/list":
                return {"tools": [definition(name) for name in self.tools], **uncached()}
            case "tools/call":
                if level := meta.get(f"{KEY}logLevel"):
                    self.notify("message", level=level, data=f"{params['name']} is called")
                return self.call(params["name"], params.get("arguments") or {})
            case "resources/list":
                return {"resources": [{"uri": uri, "name": uri} for uri in self.windows], **uncached()}
            case "resources/read":
                content = {"uri": params["uri"], "text": self.windows[params["uri"]]}
                return {"contents": [content], **uncached()}
            case "subscriptions/listen":
                self.listen(request_id, params.get("notifications", {}))
                return None
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")

    def listen(self, request_id: str | int, wanted: dict[str, Any]) -> None:
        """Open a stream for what is wanted, and say so."""
        honored = {key: True for key in ("toolsListChanged", "resourcesListChanged") if wanted.get(key) is True}
        uris: list[str] = wanted.get("resourceSubscriptions") or []
        notifications = {**honored, **({"resourceSubscriptions": uris} if uris else {})}
        self.notify("subscriptions/acknowledged", _meta=subscription(request_id), notifications=notifications)
        if honored:
            self.listeners.add(request_id)
        if uris:
            self.watchers[request_id] = uris

    def set_window(self, uri: str, content: str) -> dict[str, Any]:
        """Show something, and tell those who listen."""
        is_new = uri not in self.windows
        self.windows[uri] = content
        if is_new:
            for listener in self.listeners:
                self.notify("resources/list_changed", _meta=subscription(listener))
        for watcher, uris in self.watchers.items():
            if uri in uris:
                self.notify("resources/updated", _meta=subscription(watcher), uri=uri)
        return text("set")

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run a tool: `grow` adds one, all others echo."""
        if name not in self.tools:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        if name == "set_window":
            return self.set_window(arguments.get("uri", "window://modern/w"), arguments["text"])
        if name != "grow":
            return text(arguments["text"])
        if arguments["name"] not in self.tools:
            self.tools.append(arguments["name"])
        for listener in self.listeners:
            self.notify("tools/list_changed", _meta=subscription(listener))
        return text(arguments["name"])

    def answer(self, request_id: str | int, result: dict[str, Any]) -> None:
        """Send a result with what every result of this version carries."""
        meta = {**result.get("_meta", {}), f"{KEY}serverInfo": {"name": "modern", "version": "1.0.0"}}
        self.send(id=request_id, result={**result, "resultType": "complete", "_meta": meta})

    def notify(self, name: str, **params: Any) -> None:
        """Send a notification."""
        self.send(method=f"notifications/{name}", params=params)

    def send(self, **message: Any) -> None:
        """Write one message."""
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def log(self, **entry: Any) -> None:
        """Append to the log, where there is one."""
        if self.log_file is not None:
            os.write(self.log_file, json.dumps(entry).encode() + b"\n")


def unsupported(requested: Any) -> RpcError:
    """Name the one version there is."""
    return RpcError(
        UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": [VERSION], "requested": requested}
    )


def uncached() -> dict[str, Any]:
    """Say that a list may change at any time."""
    return {"ttlMs": 0, "cacheScope": "private"}


def subscription(listener: str | int) -> dict[str, Any]:
    """Mark a message as part of one listen stream."""
    return {f"{KEY}subscriptionId": listener}


def text(value: str) -> dict[str, Any]:
    """Make a result of one text."""
    return {"content": [{"type": "text", "text": value}]}


def definition(name: str) -> dict[str, Any]:
    """Describe a tool."""
    argument = "name" if name == "grow" else "text"
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema}


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", help="file to append what is received to, as lines of JSON")
    parser.add_argument("--marker", help="ignored: to be found in a list of processes")
    Server(parser.parse_args().log).run()


if __name__ == "__main__":
    main()
