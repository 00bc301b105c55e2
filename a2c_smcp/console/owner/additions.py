"""New MCP servers: from a form, from JSON that the owner pasted, or from the file of another MCP host.

They are written into the configuration file of the Computer, as `a2c config import` would: secrets become inputs, and
comments stay. Then they start.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.files import ConfigError, LoadedConfig, load_config, parse_config, place_of_servers
from a2c_smcp.computer.config.importing import HOSTS, Imported, candidates, convert
from a2c_smcp.computer.config.model import MCPServerPromptStringInput
from a2c_smcp.computer.config.placeholders import input_ids
from a2c_smcp.computer.config.source import ConfigSource
from a2c_smcp.console.owner import shapes
from a2c_smcp.errors import ConflictError, MalformedRequestError, NotFoundError
from a2c_smcp.utils import jsonc


class Additions:
    """Adds MCP servers to one Computer."""

    def __init__(self, computer: Computer) -> None:
        self._computer = computer
        self._turn = asyncio.Lock()

    async def hosts(self) -> shapes.Hosts:
        """The other MCP hosts of this machine, and what they have that this Computer has not."""
        there = {status.name for status in self._computer.status}
        return {"hosts": await asyncio.to_thread(_hosts, there)}

    async def add(self, body: dict[str, Any]) -> shapes.Added:
        """Add MCP servers, and wait until they have started or failed.

        Raises:
            MalformedRequestError: the configuration has mistakes.
            ConflictError: all of them have the name of an MCP server that is there, or the file has been changed.
            NotFoundError: there is no such file of another host.
        """
        async with self._turn:
            loaded = await asyncio.to_thread(_wanted, body)
            target = LoadedConfig(servers=list(self._computer.mcp_servers), inputs=list(self._computer.inputs))
            imported = convert(Path("what was pasted"), loaded, target)
            _define_missing(imported, target)
            names = list(imported.data["servers"])
            if not names:
                raise ConflictError(f"there are MCP servers with these names: {', '.join(imported.kept) or 'none'}")
            source = self._source()
            added = await asyncio.to_thread(_write, source, imported)
            for wanted in added.inputs:
                if wanted.id not in {each.id for each in self._computer.inputs}:
                    self._computer.add_or_update_input(wanted)
            kept = [await self._computer.keep_input_value(*each) for each in imported.values.items()]
            new = [config for config in added.servers if config.name in names]
            for config in new:
                await self._computer.aadd_or_aupdate_server(config)
            used = {wanted: config.name for config in new for wanted in input_ids(config.parameters())}
            missing = [wanted for wanted, name in used.items() if self._computer.input_source(wanted, [name]) is None]
        return {
            "added": names,
            "kept": imported.kept,
            "inputs": imported.secrets,
            "remembered": bool(kept) and all(kept),
            "missing": missing,
            "warnings": [str(warning) for warning in imported.warnings],
            "saved": str(source.path) if source is not None else None,
            "problem": None if source is not None else "this Computer was started without a configuration file",
        }

    def _source(self) -> ConfigSource | None:
        """The configuration file of the Computer: that of its first MCP server that has one."""
        origins = (config.origin for config in self._computer.mcp_servers)
        return next((origin.source for origin in origins if origin is not None), None)


def _hosts(there: set[str]) -> list[shapes.HostView]:
    found: list[shapes.HostView] = []
    for host in HOSTS:
        path = next((path for path in candidates(host) if path.is_file()), None)
        if path is None:
            continue
        try:
            names = [config.name for config in load_config(path, expand=False).servers]
            problem = None
        except (ConfigError, OSError) as error:
            names, problem = [], str(error)
        new = [name for name in names if name not in there]
        found.append({"host": host, "file": str(path), "servers": new, "problem": problem})
    return found


def _wanted(body: dict[str, Any]) -> LoadedConfig:
    try:
        if "host" in body:
            path = next((path for path in candidates(body["host"]) if path.is_file()), None)
            if path is None:
                raise NotFoundError(f"{body['host']} has no file with MCP servers on this machine")
            # Not with what that host runs without confirmation: the owner decides that for Agents anew.
            return load_config(path, expand=False)
        return parse_config(_whole(body.get("text", ""), body.get("name")), expand=False)
    except ConfigError as error:
        raise _malformed(error) from None
    except OSError as error:
        raise NotFoundError(f"the file cannot be read: {error.strerror or error}") from None


def _malformed(error: ConfigError) -> MalformedRequestError:
    problems = [str(problem) for problem in error.problems[:20]]
    return MalformedRequestError(problems[0], details={"problems": problems})


def _whole(text: str, name: str | None) -> str:
    """A whole configuration. The text may be that of one server, whose name is given."""
    try:
        data: Any = jsonc.parse(text)[0]
    except jsonc.JSONCError:
        return text  # the reader says where the mistake is
    if not isinstance(data, dict) or not {"command", "url"} & cast("dict[str, Any]", data).keys():
        return text
    if not name:
        raise MalformedRequestError("name: this is one MCP server, which needs a name")
    return json.dumps({"mcpServers": {name: data}})


def _define_missing(imported: Imported, target: LoadedConfig) -> None:
    """Define the inputs that new MCP servers refer to and nobody has defined, as passwords."""
    known = {wanted.id for wanted in target.inputs} | {wanted["id"] for wanted in imported.data.get("inputs", [])}
    for name, server in imported.data["servers"].items():
        for input_id in input_ids(server):
            if input_id not in known:
                known.add(input_id)
                wanted = MCPServerPromptStringInput(id=input_id, description=f"{input_id} of {name}", password=True)
                imported.data.setdefault("inputs", []).append(wanted.model_dump(mode="json", exclude_none=True))


def _write(source: ConfigSource | None, imported: Imported) -> LoadedConfig:
    """Write new MCP servers into the file, if there is one; what the Computer has then."""
    try:
        if source is None:
            return parse_config(json.dumps(imported.data))
        folder = source.path.resolve().parent
        changed = _edited(source.text, imported)
        # Checked before it is written: a file with a mistake would keep the Computer from its next start.
        parse_config(changed, folder=folder)
        # Through the source that the other MCP servers of this file have: theirs knows the text that it has then.
        source.edit(lambda _: changed)
        return parse_config(changed, folder=folder, source=source)
    except ConfigError as error:
        raise _malformed(error) from None
    except OSError as error:
        raise ConflictError(f"not saved: {error.strerror or error}") from None


def _edited(text: str, imported: Imported) -> str:
    data: Any = jsonc.parse(text)[0]
    place, inner, key = place_of_servers(data)
    for name, server in imported.data["servers"].items():
        text = jsonc.with_value(text, (*place, key, name), server)
    if not imported.data.get("inputs"):
        return text
    return jsonc.with_value(text, (*place, "inputs"), [*inner.get("inputs", []), *imported.data["inputs"]])
