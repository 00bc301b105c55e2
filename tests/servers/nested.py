"""An MCP server without an SDK in whose lists one item of each kind is nested `--levels` deep, over any transport.

Its tools `text`, `structured`, `failure` and `meta` give results of that depth, `echo` an ordinary one. The tool `wide`
has a number in its schema that needs more than 64 bits.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request
    from starlette.responses import Response

TOOLS = ("echo", "text", "structured", "failure", "meta")


class Server:
    """The answers, as JSON text: `json.dumps` does not write what is nested deeply."""

    def __init__(self, levels: int) -> None:
        self.deep = '{"a":' * levels + "0" + "}" * levels

    def receive(self, message: dict[str, Any]) -> str | None:
        """Answer a message; None if it needs no answer."""
        if "id" not in message or "method" not in message:
            return None
        result = self.answer(message["method"], message.get("params") or {})
        return f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},"result":{result}}}'

    def answer(self, method: str, params: dict[str, Any]) -> str:
        match method:
            case "initialize":
                capabilities = {"tools": {}, "prompts": {}, "resources": {"subscribe": True}}
                info = {"name": "nested", "version": "1"}
                return json.dumps({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info})
            case "tools/list":
                schema = '"inputSchema":{"type":"object"}'
                good = [f'{{"name":"{name}",{schema}}}' for name in TOOLS]
                bad = [
                    f'{{"name":"deep schema","inputSchema":{{"type":"object","properties":{self.deep}}}}}',
                    f'{{"name":"deep meta",{schema},"_meta":{self.deep}}}',
                    '{"name":"wide","inputSchema":{"type":"object","maximum":100000000000000000000000}}',
                ]
                return f'{{"tools":[{",".join([*bad, *good])}]}}'
            case "prompts/list":
                return f'{{"prompts":[{{"name":"deep","_meta":{self.deep}}},{{"name":"good"}}]}}'
            case "resources/list":
                deep = f'{{"uri":"x://deep","name":"deep","_meta":{self.deep}}}'
                return f'{{"resources":[{deep},{{"uri":"window://n/w","name":"good"}}]}}'
            case "resources/templates/list":
                deep = f'{{"uriTemplate":"y://{{a}}","name":"deep","_meta":{self.deep}}}'
                return f'{{"resourceTemplates":[{deep},{{"uriTemplate":"x://{{a}}","name":"good"}}]}}'
            case "prompts/get":
                meta = self.deep if params["name"] == "deep" else "{}"
                text = f'{{"type":"text","text":"hello","_meta":{meta}}}'
                return f'{{"messages":[{{"role":"user","content":{text}}}]}}'
            case "resources/read":
                meta = self.deep if params["uri"] == "x://deep" else "{}"
                return f'{{"contents":[{{"uri":"{params["uri"]}","text":"hello","_meta":{meta}}}]}}'
            case "tools/call":
                return self.call(params["name"])
            case _:
                return "{}"

    def call(self, tool: str) -> str:
        match tool:
            case "text":
                return f'{{"content":[{{"type":"text","text":"x","_meta":{self.deep}}}]}}'
            case "structured":
                return f'{{"content":[],"structuredContent":{self.deep}}}'
            case "failure":
                return f'{{"content":[],"structuredContent":{self.deep},"isError":true}}'
            case "meta":
                return f'{{"content":[],"_meta":{self.deep}}}'
            case _:
                return '{"content":[{"type":"text","text":"echo"}]}'


def serve_stdio(server: Server) -> None:
    for line in sys.stdin.buffer:
        if (answer := server.receive(json.loads(line))) is not None:
            sys.stdout.write(answer + "\n")
            sys.stdout.flush()


def serve_http(server: Server, transport: str) -> None:
    """Streamable HTTP with JSON (`json`) or events (`events`), or the older SSE (`sse`)."""
    from listening import serve
    from starlette.applications import Starlette
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    waiting: asyncio.Queue[str] = asyncio.Queue()

    async def post(request: Request) -> Response:
        answer = server.receive(json.loads(await request.body()))
        if answer is None:
            return Response(status_code=202)
        if transport == "sse":
            waiting.put_nowait(answer)
            return Response(status_code=202)
        if transport == "json":
            return Response(answer, media_type="application/json")
        # In pieces: the end of an event and the beginning of the next one may come together, or apart.
        return StreamingResponse(pieces(f": hello\r\n\r\nevent: message\ndata: {answer}\n\n"), media_type=EVENTS)

    async def pieces(text: str) -> AsyncGenerator[str]:
        for start in range(0, len(text), 1_001):
            yield text[start : start + 1_001]
            await asyncio.sleep(0)

    async def get(request: Request) -> Response:
        if transport != "sse":
            return Response(status_code=405)

        async def events() -> AsyncGenerator[str]:
            yield "event: endpoint\ndata: /mcp\n\n"
            while True:
                yield f"event: message\ndata: {await waiting.get()}\n\n"

        return StreamingResponse(events(), media_type=EVENTS)

    routes = [Route("/mcp", post, methods=["POST"]), Route("/mcp", get, methods=["GET"])]
    serve(Starlette(routes=routes), "/mcp", 0)


EVENTS = "text/event-stream"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--levels", type=int, default=1_000)
    parser.add_argument("--transport", choices=("stdio", "json", "events", "sse"), default="stdio")
    options = parser.parse_args()
    server = Server(options.levels)
    if options.transport == "stdio":
        serve_stdio(server)
    else:
        serve_http(server, options.transport)


if __name__ == "__main__":
    main()
