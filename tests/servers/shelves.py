"""A stdio MCP server with windows and documents that come, go, change, hang and fail as its tools are told."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from raw import Call, RpcError, Server, Tool, start_thread, text

NOT_FOUND = -32002
INVALID_REQUEST = -32600
MARK = "io.modelcontextprotocol/protocolVersion"
LOST = ("keywords", "summary", "last_modified")


class Shelves(Server):
    """`raw` with resources. Changes are told to those who subscribed, as they should be."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.windows: dict[str, dict[str, str]] = {}
        self.documents: dict[str, dict[str, Any]] = {}
        self.others = {"note://readme": {"text": "read me"}}
        self.broken: dict[str, str] = {}
        self.described: dict[str, dict[str, Any]] = {}
        self.subscribed: set[str] = set()
        self.released = threading.Event()
        super().__init__("good", 0, options.prefix, options.log, options.marker)
        for number in range(options.windows):
            self.windows[f"window://{options.host}/w{number:04}"] = {"text": f"window {number} " + "." * options.size}
        for number in range(options.documents):
            ref = f"d{number:05}"
            self.documents[ref] = {
                "title": f"Document {number}",
                "keywords": [f"key{number}"],
                "summary": f"about d{number:05}",
                "last_modified": f"2026-01-{1 + number % 28:02}",
            }

    def own_tools(self) -> list[Tool]:
        string, integer = {"type": "string"}, {"type": "integer"}
        return [
            *super().own_tools(),
            self.tool("set_window", self.set_window, uri=string, text=string),
            self.tool("set_blob", self.set_blob, uri=string),
            self.tool("drop_window", self.drop_window, uri=string),
            self.tool("describe", self.describe, uri=string, fields={"type": "object"}),
            self.tool("set_document", self.set_document, ref=string, fields={"type": "object"}),
            self.tool("drop_document", self.drop_document, ref=string),
            self.tool("touch", self.touch, uri=string, count=integer),
            self.tool("relist", self.relist, count=integer),
            self.tool("break", self.break_, uri=string, how=string),
            self.tool("release", self.release),
        ]

    # Requests

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        result = super().initialize(params)
        result["capabilities"]["resources"] = {"listChanged": True, "subscribe": not self.options.no_subscribe}
        result["capabilities"]["completions"] = {}
        result["serverInfo"]["name"] = "shelves"
        return result

    def receive(self, message: dict[str, Any]) -> None:
        if message.get("method") == "resources/read":
            params: dict[str, Any] = message["params"]
            self.log(method="resources/read", id=message["id"], params=params)
            if self.broken.get(params["uri"]) == "slow":
                start_thread(lambda: self.answer(message["id"], lambda: self.read_late(params["uri"])))
            else:
                self.answer(message["id"], lambda: self.read(params["uri"]))
            return
        if self.is_broken_by(message):
            self.log(method=message["method"], id=message["id"], params=message.get("params"))
            if self.options.asked == "exit":
                os._exit(5)
            return
        super().receive(message)

    def is_broken_by(self, message: dict[str, Any]) -> bool:
        match message.get("method"):
            case "server/discover":
                return self.options.asked in ("exit", "silence")
            case "resources/list":
                return self.options.no_list
            case _:
                return False

    def handle(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self.options.asked == "pretend" and MARK in params.get("_meta", {}):
            raise RpcError(INVALID_REQUEST, "not on this connection")
        match method:
            case "server/discover" if self.options.asked == "invalid":
                raise RpcError(INVALID_REQUEST, "invalid request")
            case "tools/list" if self.options.asked == "claim_too_much" and "_meta" in params:
                return {"tools": []}
            case "server/discover" if self.options.asked in ("claim", "claim_too_much", "deny"):
                capabilities = {"tools": {}, "resources": {"subscribe": self.options.asked != "deny"}}
                return {"supportedVersions": ["2026-07-28"], "capabilities": capabilities}
            case "resources/list":
                return self.list_resources(params.get("cursor"))
            case "resources/templates/list" if not self.options.no_templates:
                base = f"dpe://{self.options.host}/{{doc_ref}}"
                kinds = {"page": f"{base}/pages/{{page_index}}", "element": f"{base}/elements/{{element_id}}"}
                return {"resourceTemplates": [{"name": name, "uriTemplate": uri} for name, uri in kinds.items()]}
            case "resources/subscribe":
                self.subscribed.add(params["uri"])
                return {}
            case "resources/unsubscribe":
                self.subscribed.discard(params["uri"])
                return {}
            case "completion/complete":
                return {"completion": {"values": self.complete(params)}}
            case _:
                return super().handle(method, params)

    def list_resources(self, cursor: str | None) -> dict[str, Any]:
        with self.changing:
            listed = (*self.windows, *self.others)
            resources: list[dict[str, Any]] = [{"uri": uri, "name": uri.rpartition("/")[2]} for uri in listed]
            if self.options.list_host:
                resources.append({"uri": f"dpe://{self.options.host}", "name": "all documents"})
            for ref, document in self.documents.items():
                uri = f"dpe://{self.options.host}/{ref}"
                resources.append({"uri": uri, "name": f"name of {ref}", "description": f"about {ref}"})
                if document.get("with_page"):
                    resources.append({"uri": f"{uri}/pages/0", "name": "a page, which is no document"})
        resources = [{**each, **self.described.get(each["uri"], {})} for each in resources]
        start = int(cursor or 0)
        size = self.options.page
        result: dict[str, Any] = {"resources": resources[start : start + size]}
        if start + size < len(resources):
            result["nextCursor"] = str(start + size)
        return result

    def complete(self, params: dict[str, Any]) -> list[str]:
        argument = params["argument"]
        context: dict[str, Any] = params.get("context") or {}
        known: dict[str, str] = context.get("arguments") or {}
        document = self.documents.get(known.get("doc_ref", ""))
        values: list[str] = []
        if argument["name"] == "doc_ref":
            values = list(self.documents)
        elif document is not None and argument["name"] == "page_index":
            values = [str(number) for number in range(document.get("page_count", 3))]
        elif document is not None and argument["name"] == "element_id" and self.options.by_page:
            values = [f"e{number}-of-{known['page_index']}" for number in range(3)] if "page_index" in known else []
        elif document is not None and argument["name"] == "element_id":
            values = [f"e{number}" for number in range(3)]
        return [value for value in values if value.startswith(argument["value"])][:100]

    # Reading

    def read_late(self, uri: str) -> dict[str, Any]:
        self.released.wait(60)
        return self.read(uri)

    def read(self, uri: str) -> dict[str, Any]:
        how = self.broken.get(uri)
        if how == "error":
            raise RpcError(-32603, f"cannot read {uri}")
        if how == "nonsense":
            return {"contents": "nonsense"}
        if how is not None and " " in how:
            raise RpcError(-32603, how)
        content = self.windows.get(uri) or self.others.get(uri)
        if content is None:
            content = {"text": json.dumps(self.read_dpe(uri)), "mimeType": "application/json"}
        return {"contents": [{"uri": uri, **content}]}

    def read_dpe(self, uri: str) -> dict[str, Any]:
        parts = urlsplit(uri)
        query = dict(parse_qsl(parts.query))
        path = [unquote(step) for step in parts.path.split("/") if step]
        if parts.scheme != "dpe":
            raise RpcError(NOT_FOUND, f"no such resource: {uri}")
        if not path:
            if self.options.no_catalogue:
                raise RpcError(NOT_FOUND, "no catalogue here")
            summaries = [self.entry(number, ref) for number, ref in enumerate(self.documents)]
            return {"documents": summaries, "total_count": len(summaries)}
        if path[0] not in self.documents:
            raise self.missing(4201, "document not found")
        summary = self.summary(path[0])
        if len(path) == 1:
            if query.get("depth") == "pages":
                offset, limit = int(query.get("offset", 0)), int(query.get("limit", 20))
                pages = [
                    {"page_index": n, "title": f"page {n}", "element_count": 3, "uri": f"{summary['uri']}/pages/{n}"}
                    for n in range(summary["page_count"])
                ][offset : offset + limit]
                summary |= {"pages": pages, "page_offset": offset, "page_limit": limit}
                summary["page_total"] = summary["page_count"]
            return summary
        elements = [
            {"element_id": "e0", "category": "heading", "content": {"level": 1, "text": "Title"}},
            {"element_id": "e1", "category": "text", "content": {"text": "Words"}},
            {"element_id": "e2", "category": "table", "content": {"headers": ["a"], "rows": [["1"]]}},
        ]
        if path[1] == "pages":
            index = int(path[2])
            if index >= summary["page_count"]:
                raise self.missing(4202, "page out of range")
            wanted = query.get("categories", "heading,text,table").split(",")
            chosen = [element for element in elements if element["category"] in wanted]
            page = {"page_index": index, "title": f"page {index}", "doc_ref": path[0], "uri": uri}
            if query.get("format") in ("markdown", "text"):
                return {**page, f"content_{query['format']}": "# Title\n\nWords"}
            return {**page, "elements": chosen, "element_count": len(chosen)}
        found = next((element for element in elements if element["element_id"] == path[2]), None)
        if found is None:
            raise self.missing(4203, "element not found")
        return {**found, "doc_ref": path[0], "page_index": 0, "uri": uri, "metadata": {}}

    def summary(self, ref: str) -> dict[str, Any]:
        base = {"doc_ref": ref, "uri": f"dpe://{self.options.host}/{ref}", "file_uri": f"file:///{ref}.pdf"}
        return {**base, "file_type": "pdf", "page_count": 3, "keywords": [], "summary": "", **self.documents[ref]}

    def entry(self, number: int, ref: str) -> dict[str, Any]:
        """A document in the catalogue, which may say less than the document itself."""
        summary = self.summary(ref)
        kind = self.options.catalogue
        if kind == "lean" or (kind == "mixed" and number % 2):
            lost = ("keywords", "summary", "last_modified") if kind == "lean" else (LOST[number % 3],)
            return {key: value for key, value in summary.items() if key not in lost}
        return summary

    def missing(self, code: int, message: str) -> RpcError:
        data = json.loads(self.options.error_data) if self.options.error_data else None
        return RpcError(NOT_FOUND if self.options.plain_errors else code, message, data)

    # Tools

    def set_window(self, call: Call) -> dict[str, Any]:
        return self.put_window(call.arguments["uri"], {"text": call.arguments["text"]})

    def set_blob(self, call: Call) -> dict[str, Any]:
        return self.put_window(call.arguments["uri"], {"blob": "AAAA"})

    def put_window(self, uri: str, content: dict[str, str]) -> dict[str, Any]:
        with self.changing:
            is_new = uri not in self.windows
            self.windows[uri] = content
        self.tell(uri, is_new)
        return text("set")

    def drop_window(self, call: Call) -> dict[str, Any]:
        with self.changing:
            self.windows.pop(call.arguments["uri"], None)
        self.notify("resources/list_changed")
        return text("dropped")

    def describe(self, call: Call) -> dict[str, Any]:
        with self.changing:
            self.described[call.arguments["uri"]] = call.arguments["fields"]
        self.notify("resources/list_changed")
        return text("described")

    def set_document(self, call: Call) -> dict[str, Any]:
        ref = call.arguments["ref"]
        with self.changing:
            is_new = ref not in self.documents
            self.documents[ref] = call.arguments["fields"]
        self.tell(f"dpe://{self.options.host}/{ref}", is_new)
        return text("set")

    def drop_document(self, call: Call) -> dict[str, Any]:
        with self.changing:
            self.documents.pop(call.arguments["ref"], None)
        self.notify("resources/list_changed")
        return text("dropped")

    def tell(self, uri: str, is_new: bool) -> None:
        if is_new:
            self.notify("resources/list_changed")
        elif uri in self.subscribed:
            self.notify("resources/updated", uri=uri)

    def touch(self, call: Call) -> dict[str, Any]:
        for _ in range(call.arguments["count"]):
            self.notify("resources/updated", uri=call.arguments["uri"])
        return text("touched")

    def relist(self, call: Call) -> dict[str, Any]:
        for _ in range(call.arguments["count"]):
            self.notify("resources/list_changed")
        return text("told")

    def break_(self, call: Call) -> dict[str, Any]:
        uri, how = call.arguments["uri"], call.arguments["how"]
        self.broken[uri] = how
        if uri in self.subscribed:
            self.notify("resources/updated", uri=uri)
        return text("broken")

    def release(self, call: Call) -> dict[str, Any]:
        self.released.set()
        return text("released")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=int, default=0)
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--page", type=int, default=100, help="resources in one answer to resources/list")
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--host", default="shelf")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--no-subscribe", action="store_true")
    parser.add_argument("--no-catalogue", action="store_true")
    parser.add_argument("--plain-errors", action="store_true")
    parser.add_argument("--catalogue", choices=["complete", "lean", "mixed"], default="complete")
    parser.add_argument("--error-data", help="JSON that errors carry")
    parser.add_argument("--list-host", action="store_true", help="list level 0")
    parser.add_argument("--no-templates", action="store_true")
    parser.add_argument("--by-page", action="store_true", help="suggest elements only of a chosen page")
    parser.add_argument("--no-list", action="store_true", help="never say which resources there are")
    parser.add_argument(
        "--asked",
        choices=["unknown", "exit", "silence", "invalid", "pretend", "claim", "claim_too_much", "deny"],
        default="unknown",
        help="what it does when it is asked about MCP 2026-07-28",
    )
    parser.add_argument("--log")
    parser.add_argument("--marker", default="")
    return Shelves(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
