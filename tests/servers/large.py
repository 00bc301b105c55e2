"""A stdio MCP server without an SDK that returns binaries of any size, as pictures, recordings, files and resources.

The bytes of a binary repeat a pattern that begins with its number, so that two of them differ.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

PATTERN = bytes(range(256))


def payload(size: int, number: int = 0) -> bytes:
    """The binary with this number."""
    start = number.to_bytes(4, "big")
    return (start + PATTERN * (size // len(PATTERN) + 1))[:size]


def encoded(size: int, number: int) -> str:
    return base64.b64encode(payload(size, number)).decode()


def item(kind: str, size: int, number: int) -> dict[str, Any]:
    match kind:
        case "file":
            blob = {"uri": f"file:///data/report-{number}.bin", "mimeType": "application/x-data"}
            return {"type": "resource", "resource": {**blob, "blob": encoded(size, number)}}
        case _:
            mime_type = "image/png" if kind == "image" else "audio/wav"
            return {"type": kind, "mimeType": mime_type, "data": encoded(size, number)}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "large", "version": "1"},
            }
        case "tools/list":
            schema: dict[str, Any] = {"type": "object", "properties": {"kind": {}, "size": {}, "count": {}, "meta": {}}}
            return {"tools": [{"name": "make", "description": "Makes binaries.", "inputSchema": schema}]}
        case "tools/call":
            wanted = params["arguments"]
            items = [item(wanted["kind"], wanted["size"], number) for number in range(wanted.get("count", 1))]
            for each in items:
                each.update({"_meta": wanted["meta"]} if "meta" in wanted else {})
            return {"content": [{"type": "text", "text": "made"}, *items]}
        case "resources/list":
            return {"resources": [{"uri": "large://0", "name": "nothing"}]}
        case "resources/templates/list":
            return {"resourceTemplates": [{"name": "some", "uriTemplate": "large://{size}"}]}
        case "resources/read":
            size = int(params["uri"].rpartition("/")[2])
            part = {"uri": params["uri"], "mimeType": "application/x-data", "blob": encoded(size, 0)}
            return {"contents": [part]}
        case _:
            return {}


def main() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message["method"], message.get("params") or {})
            sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())
            sys.stdout.buffer.write(b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
