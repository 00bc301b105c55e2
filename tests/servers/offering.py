"""A stdio MCP server without an SDK, with prompts, resources of several schemes, templates, subscriptions and a log.

Its tools make it change: `update` announces updates of resources, `log` writes messages, `rename` changes the prompts,
`add` the resources; `announce` says that a list changed.
`--mode` makes it hostile. `--hold` names a request that it answers only when the tool `release` is called.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

ICON = {"src": "data:image/png;base64,AAAA", "mimeType": "image/png", "sizes": ["16x16"], "theme": "dark"}
UI = "ui://offering/form"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="good", choices=("good", "endless", "huge", "stuck", "no_subscribe", "bare"))
    parser.add_argument("--prefix", default="")
    parser.add_argument("--hostile", help="what it calls its prompt, and writes to its log")
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--skill", action="append", default=[], help="the name of a skill that it has")
    parser.add_argument("--hold")
    parser.add_argument("--log")
    Server(parser.parse_args()).run()


class Server:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.prompt = f"{options.prefix}greet"
        self.subscribed: set[str] = set()
        self.held: list[dict[str, Any]] = []
        self.added: list[str] = []

    def run(self) -> None:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            self.record(message)
            if message.get("method") == self.options.hold:
                self.held.append(message)
            elif "id" in message and "method" in message and not self.is_stuck(message):
                self.reply(message)

    def is_stuck(self, message: dict[str, Any]) -> bool:
        """Whether it is to send the first page of a list, and no other."""
        return self.options.mode == "stuck" and "cursor" in message.get("params", {})

    def reply(self, message: dict[str, Any]) -> None:
        params: dict[str, Any] = message.get("params") or {}
        try:
            self.send(id=message["id"], result=self.answer(message["method"], params))
        except LookupError as error:
            self.send(id=message["id"], error={"code": error.args[0], "message": str(error.args[1])})

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                return {
                    "protocolVersion": "2025-11-25",
                    "capabilities": self.capabilities(),
                    "serverInfo": {"name": "offering", "version": "1"},
                }
            case "ping" | "logging/setLevel":
                return {}
            case "tools/list":
                if (text := self.options.hostile) is not None:
                    message = {"level": "error", "logger": text, "data": text}
                    self.send(method="notifications/message", params=message)
                return {"tools": self.tools()}
            case "tools/call":
                getattr(self, params["name"].removeprefix(self.options.prefix))(**params["arguments"])
                content = {
                    "type": "text",
                    "text": "done",
                    "annotations": {"priority": 1, "later": True},
                    "further": [1],
                }
                return {"content": [{**content, "_meta": {"a": {"b": 1}}}], "_meta": {"c": 2}}
            case "prompts/list":
                return self.page(params, "prompts", self.prompts())
            case "prompts/get":
                return self.get_prompt(params["name"], params.get("arguments") or {})
            case "completion/complete":
                return {
                    "completion": {"values": [v for v in ("Ada", "Alan") if v.startswith(params["argument"]["value"])]}
                }
            case "resources/list":
                return self.page(params, "resources", self.resources())
            case "resources/templates/list":
                return {"resourceTemplates": [{"name": "row", "uriTemplate": f"{self.options.prefix}db://rows/{{id}}"}]}
            case "resources/read":
                return {"contents": [self.read(params["uri"])]}
            case "resources/subscribe" if self.options.mode != "no_subscribe":
                self.subscribed.add(params["uri"])
                return {}
            case "resources/unsubscribe":
                self.subscribed.discard(params["uri"])
                return {}
            case _:
                raise LookupError(-32601, f"Method not found: {method}")

    def capabilities(self) -> dict[str, Any]:
        if self.options.mode == "bare":
            return {"tools": {}}
        subscribe = self.options.mode != "no_subscribe"
        resources = {"subscribe": subscribe, "listChanged": True}
        lists = {"listChanged": True}
        return {"tools": lists, "prompts": lists, "resources": resources, "logging": {}, "completions": {}}

    def page(self, params: dict[str, Any], key: str, items: list[dict[str, Any]]) -> dict[str, Any]:
        """Two items of a list; of an endless one, a hundred more each time."""
        start = int(params.get("cursor") or 0)
        if self.options.mode == "huge":
            return {key: items * 20_000}
        if self.options.mode == "endless":
            return {key: items[:2] * 50, "nextCursor": str(start + 2)}
        following = {"nextCursor": str(start + 2)} if start + 2 < len(items) else {}
        return {key: items[start : start + 2], **following}

    def tools(self) -> list[dict[str, Any]]:
        schema = {"type": "object"}
        names = ("update", "log", "rename", "add", "announce", "leave", "release")
        tools: list[dict[str, Any]] = [
            {"name": f"{self.options.prefix}{name}", "inputSchema": schema} for name in names
        ]
        described = {
            "title": "Update",
            "icons": [ICON],
            "_meta": {"ui": {"resourceUri": UI}, "n": None},
            "later": {"x": 1},
        }
        tools[0] |= {**described, "annotations": {"readOnlyHint": False, "later": "kept"}}
        return tools

    def prompts(self) -> list[dict[str, Any]]:
        if (text := self.options.hostile) is not None:
            return [{"name": text, "description": text, "arguments": [{"name": text, "required": True}]}]
        argument = {"name": "who", "required": True, "description": "Whom to greet."}
        greet = {
            "name": self.prompt,
            "title": "Greet",
            "arguments": [argument],
            "icons": [ICON],
            "_meta": {"k": {"v": 1}},
        }
        return [greet, {"name": f"{self.options.prefix}plain"}, {"name": f"{self.options.prefix}third", "later": 1}]

    def get_prompt(self, name: str, arguments: dict[str, str]) -> dict[str, Any]:
        if name != self.prompt:
            raise LookupError(-32602, f"unknown prompt {name}")
        text = {"type": "text", "text": f"Greet {arguments['who']}.", "_meta": {"k": 1}}
        return {"description": "A greeting", "messages": [{"role": "user", "content": text}], "_meta": {"m": 1}}

    def resources(self) -> list[dict[str, Any]]:
        prefix = self.options.prefix
        annotations = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z", "later": 1}
        notes = {
            "uri": f"{prefix}memo://notes",
            "name": "notes",
            "mimeType": "text/plain",
            "size": 5,
            "_meta": {"k": [1]},
        }
        listed = [{**notes, "annotations": annotations, "title": "Notes", "icons": [ICON]}]
        listed += [{"uri": f"{prefix}memo://{n}", "name": str(n)} for n in range(self.options.count)]
        added = [*(f"skill://pack/{name}/SKILL.md" for name in self.options.skill), *self.added]
        return listed + [{"uri": uri, "name": uri} for uri in added]

    def read(self, uri: str) -> dict[str, Any]:
        if uri.endswith("missing"):
            raise LookupError(-32002, "no such resource")
        if uri.endswith("/SKILL.md"):
            name = uri.split("/")[-2]
            head = f"name: {name}\ndescription: About {name}." if name != "broken" else "name: other"
            return {"uri": uri, "mimeType": "text/markdown", "text": f"---\n{head}\n---\n# {name}\n"}
        if uri.endswith(".bin"):
            return {"uri": uri, "blob": "AAEC"}
        return {"uri": uri, "mimeType": "text/html", "text": f"text of {uri}", "_meta": {"ui": {"csp": {"x": []}}}}

    # Tools

    def update(self, uri: str, times: int = 1, parts: bool = False) -> None:
        """Announce updates of a resource, or of parts of it, if it is watched."""
        for number in range(times if uri in self.subscribed else 0):
            self.send(method="notifications/resources/updated", params={"uri": f"{uri}/{number}" if parts else uri})

    def log(self, level: str, data: Any, times: int = 1) -> None:
        for _ in range(times):
            self.send(method="notifications/message", params={"level": level, "logger": "core", "data": data})

    def rename(self, prompt: str) -> None:
        self.prompt = prompt
        self.send(method="notifications/prompts/list_changed")

    def release(self) -> None:
        for message in self.held:
            self.reply(message)
        self.held.clear()

    def add(self, resource: str) -> None:
        self.added.append(resource)
        self.announce("resources")

    def announce(self, what: str) -> None:
        self.send(method=f"notifications/{what}/list_changed")

    def leave(self) -> None:
        os._exit(3)

    # Output

    def send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def record(self, message: dict[str, Any]) -> None:
        if self.options.log:
            with open(self.options.log, "a", encoding="utf-8") as file:
                file.write(json.dumps(message) + "\n")


if __name__ == "__main__":
    main()
