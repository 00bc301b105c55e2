"""Configuration files: ours, and those of other MCP hosts, into models. Every mistake is found before anything starts.

Understood: `{"inputs": […], "servers": {name: …}}` of this project, `{"mcpServers": {…}}` of Claude Desktop, Cursor and
many others, and `{"servers": …, "inputs": …}` of VS Code. Environment variables are filled in beside the configuration,
in memory: what is shown of it later is what its owner wrote.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from a2c_smcp.computer.inputs.render import input_ids, map_strings
from a2c_smcp.computer.inputs.secrets import looks_secret
from a2c_smcp.computer.mcp_clients.model import (
    STREAMABLE_ALIASES,
    BaseServerConfig,
    MCPServerCommandInput,
    MCPServerConfig,
    MCPServerInput,
    MCPServerPickStringInput,
    MCPServerPromptStringInput,
    SseServerConfig,
    StdioServerConfig,
    StreamableHttpServerConfig,
)
from a2c_smcp.computer.mcp_clients.source import ConfigSource, Origin
from a2c_smcp.utils import jsonc

_SERVERS: dict[str, type[StdioServerConfig | SseServerConfig | StreamableHttpServerConfig]] = {
    "stdio": StdioServerConfig,
    "sse": SseServerConfig,
    "streamable": StreamableHttpServerConfig,
}
_INPUTS: dict[str, type[MCPServerPromptStringInput | MCPServerPickStringInput | MCPServerCommandInput]] = {
    "promptString": MCPServerPromptStringInput,
    "pickString": MCPServerPickStringInput,
    "command": MCPServerCommandInput,
}
_BASE_FIELDS = frozenset(BaseServerConfig.model_fields)
_PARAMETER_FIELDS = {
    kind: frozenset(cast("type[BaseModel]", config.model_fields["server_parameters"].annotation).model_fields)
    for kind, config in _SERVERS.items()
}
MANY = 3
"""Unknown settings above which a file is some program's own, and they are not told one by one."""
_VARIABLE = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>(?:[^{}]|\$\{[^{}]*\})*))?\}")

PYTHON = "A2C_PYTHON"
"""A variable that is always there: the Python that runs this program, for servers of the same installation."""


@dataclass(frozen=True)
class Problem:
    """Something about a configuration: where, and what."""

    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        return f"{where}{self.path}: {self.message}" if self.path else f"{where}{self.message}"


class ConfigError(ValueError):
    """A configuration with mistakes: each of them, in `problems`."""

    def __init__(self, problems: list[Problem], source: str | None = None, warnings: Iterable[Problem] = ()) -> None:
        self.problems = problems
        self.warnings = list(warnings)
        self.source = source
        super().__init__("\n".join(f"{source}: {problem}" if source else str(problem) for problem in problems))


@dataclass
class LoadedConfig:
    """What a file says."""

    servers: list[MCPServerConfig] = field(default_factory=list[MCPServerConfig])
    inputs: list[MCPServerInput] = field(default_factory=list[MCPServerInput])
    warnings: list[Problem] = field(default_factory=list[Problem])
    env_files: dict[str, Path] = field(default_factory=dict[str, Path])
    """Files with environment variables, by server."""
    folder: Path = field(default_factory=Path)
    """What `${workspaceFolder}` stands for."""


def load_config(path: Path, *, expand: bool = True) -> LoadedConfig:
    """Read a file; `expand` fills in environment variables.

    Raises:
        ConfigError: with every mistake in it.
        OSError: it cannot be read.
    """
    try:
        source = ConfigSource.read(path)
        return parse_config(source.text, folder=path.resolve().parent, expand=expand, source=source)
    except UnicodeDecodeError:
        raise ConfigError([Problem("", "it is not UTF-8 text")], str(path)) from None
    except ConfigError as error:
        raise ConfigError(error.problems, str(path), error.warnings) from None


def parse_config(
    text: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    expand: bool = True,
    source: ConfigSource | None = None,
) -> LoadedConfig:
    """Read a configuration; `folder` is where relative names in it start, `source` the file it is from.

    Raises:
        ConfigError: with every mistake in it.
    """
    try:
        data, lines = jsonc.parse(text)
    except jsonc.JSONCError as error:
        raise ConfigError([Problem("", error.message, error.line)]) from None
    known = os.environ if environment is None else environment
    filled_in = {PYTHON: sys.executable, **known} if expand else None
    reader = _Reader(lines, filled_in, folder or Path.cwd(), source)
    reader.read(data)
    if reader.problems:
        in_order = sorted(reader.problems, key=lambda problem: problem.line or 0)
        raise ConfigError(in_order, warnings=reader.config.warnings)
    return reader.config


def server_from(data: Mapping[str, Any], name: str | None = None) -> MCPServerConfig:
    """One server's configuration from data, in any of the shapes a file may have. Variables are not filled in.

    Raises:
        ConfigError: with every mistake in it.
    """
    reader = _Reader({}, None, Path.cwd())
    reader.read_server((), name, dict(data))
    if reader.problems:
        raise ConfigError(reader.problems)
    return reader.config.servers[0]


def place_of_servers(data: dict[str, Any]) -> tuple[jsonc.Path, dict[str, Any], str]:
    """Where a file keeps its servers: the path to the object that has them and the inputs, that object, their key."""
    path: jsonc.Path = ()
    if isinstance(inner := data.get("mcp"), dict) and not data.keys() & {"servers", "mcpServers"}:
        path, data = ("mcp",), cast("dict[str, Any]", inner)  # the settings of VS Code
    return path, data, "mcpServers" if "mcpServers" in data else "servers"


class _Reader:
    """Reads data and collects what is wrong with it."""

    def __init__(
        self,
        lines: Mapping[jsonc.Path, int],
        environment: Mapping[str, str] | None,
        folder: Path,
        source: ConfigSource | None = None,
    ) -> None:
        self._lines = lines
        self._source = source
        self._environment = environment
        self._folder = folder
        self.config = LoadedConfig(folder=self._workspace())
        self.problems: list[Problem] = []
        self._base: jsonc.Path = ()

    def read(self, data: Any) -> None:
        """Read a whole file."""
        if not isinstance(data, dict):
            self._complain((), "an object with servers is expected")
            return
        data = cast("dict[str, Any]", data)
        self._base, data, key = place_of_servers(data)
        unknown = sorted(data.keys() - {"servers", "mcpServers", "inputs", "projects", "$schema"})
        if len(unknown) > MANY:
            self._warn((), f"{len(unknown)} other settings are not read")
        else:
            for name in unknown:
                self._warn((name,), "is not read" + _meant(name, data[name], key))
        servers: Any = {} if data.get(key) is None else data[key]
        self._read_project(data.get("projects"))
        if not isinstance(servers, dict):
            self._complain((key,), "an object is expected: a name and a configuration for each server")
        elif "mcpServers" in data and "servers" in data:
            self._complain(("mcpServers",), "either mcpServers or servers, not both")
        else:
            known = {server.name for server in self.config.servers}
            for name, server in cast("dict[str, Any]", servers).items():
                if name not in known:
                    self.read_server((key, name), name, server)
        inputs = data.get("inputs")
        if inputs is not None and not isinstance(inputs, list):
            self._complain(("inputs",), "a list is expected")
        else:
            for number, wanted in enumerate(cast("list[Any]", inputs or [])):
                self._read_input(("inputs", number), wanted)
        self._check_references(key)

    def _read_project(self, projects: Any) -> None:
        """Claude Code keeps servers of a project apart, under the project's folder."""
        here = str(Path.cwd())
        project: Any = cast("dict[str, Any]", projects).get(here) if isinstance(projects, dict) else None
        servers: Any = cast("dict[str, Any]", project).get("mcpServers") if isinstance(project, dict) else None
        if isinstance(servers, dict):
            for name, server in cast("dict[str, Any]", servers).items():
                self.read_server(("projects", here, "mcpServers", name), name, server)

    def read_server(self, path: jsonc.Path, name: str | None, data: Any) -> None:
        """Read one server, nested as ours or flat as other hosts'."""
        if not isinstance(data, Mapping):
            self._complain(path, "an object is expected")
            return
        data = dict(cast("Mapping[str, Any]", data))
        is_flat = "server_parameters" not in data
        if is_flat:
            data = _as_we_say_it(data)
        if name is not None:
            if is_flat or "name" not in data:
                data["name"] = name  # a flat one may have a name for people there
            elif data["name"] != name:
                self._complain((*path, "name"), f"is not the name it is listed under, {name}")
        kind = self._kind(path, data)
        if kind is None:
            return
        if is_flat:
            data = self._nest(path, data, kind)
        model = self._validate(
            path, _SERVERS[kind], {**data, "type": kind}, {"server_parameters"} if is_flat else set()
        )
        if model is not None:
            model = self._expand(path, model, data, is_flat)
            if self._source is not None:
                model = model.read_from(Origin(self._source, (*self._base, *path)))
            self.config.servers.append(model)

    # ---------------------------------------------------------------------------------------------------------- servers

    def _kind(self, path: jsonc.Path, data: dict[str, Any]) -> str | None:
        """The type of a server, said or inferred."""
        kind = data.get("type")
        if kind is None:
            parameters = data.get("server_parameters", data)
            if isinstance(parameters, BaseModel):
                parameters = parameters.model_dump()
            parameters = cast("dict[str, Any]", parameters if isinstance(parameters, Mapping) else {})
            url = parameters.get("url")
            if "command" in parameters:
                return "stdio"
            if isinstance(url, str):
                return "sse" if url.split("?")[0].rstrip("/").endswith("/sse") else "streamable"
            self._complain(path, "a command or a url is expected")
            return None
        if not isinstance(kind, str) or kind not in _SERVERS.keys() | STREAMABLE_ALIASES:
            self._complain((*path, "type"), "must be stdio, streamable (or http) or sse")
            return None
        return "streamable" if kind in STREAMABLE_ALIASES else kind

    def _nest(self, path: jsonc.Path, data: dict[str, Any], kind: str) -> dict[str, Any]:
        """Our nested shape from a flat one. What other hosts add and we do not know is said, and left out."""
        nested: dict[str, Any] = {"server_parameters": {}}
        nearest = _PARAMETER_FIELDS[kind] | _BASE_FIELDS
        for key, value in data.items():
            if key in _PARAMETER_FIELDS[kind]:
                nested["server_parameters"][key] = value
            elif key in _BASE_FIELDS or key == "envFile":
                nested[key] = value
            elif key != "type":
                is_of_others = any(key in fields for fields in _PARAMETER_FIELDS.values())
                hint = f": a server of type {kind} has no {key}" if is_of_others else _near(key, nearest)
                self._warn((*path, key), "is not read" + hint)
        return nested

    def _expand(self, path: jsonc.Path, model: MCPServerConfig, data: dict[str, Any], is_flat: bool) -> MCPServerConfig:
        """Fill in environment variables beside the model; disabled servers need none."""
        env_file = data.get("envFile")
        if isinstance(env_file, str):
            self.config.env_files[model.name] = self._folder / Path(self._in_place(env_file)).expanduser()
        elif env_file is not None:
            self._complain((*path, "envFile"), "must be text")
        if self._environment is None or model.disabled:
            return model
        if model.name in self.config.env_files and model.type != "stdio":
            self._warn((*path, "envFile"), "is not read: only a server that is started here has an environment")
            del self.config.env_files[model.name]
        secrets: list[str] = []
        written = model.server_parameters.model_dump()
        base = path if is_flat else (*path, "server_parameters")
        filled = {key: self._fill((*base, key), key, value, secrets) for key, value in written.items()}
        if model.name in self.config.env_files:
            more = self._read_env_file((*path, "envFile"), self.config.env_files[model.name])
            secrets += [value for name, value in more.items() if looks_secret(name)]
            filled["env"] = more | (filled.get("env") or {})
        return model.expanded(filled, secrets) if filled != written else model

    def _fill(self, path: jsonc.Path, key: str, value: Any, secrets: list[str]) -> Any:
        if isinstance(value, Mapping):
            items = cast("Mapping[str, Any]", value).items()
            return {name: self._fill((*path, name), name, item, secrets) for name, item in items}

        def in_text(text: str) -> str:
            def one(found: re.Match[str]) -> str:
                name, default = found["name"], found["default"]
                known = self._known_variables()
                assert self._environment is not None
                filled = self._environment.get(name, known.get(name))
                if filled is None and default is None:
                    self._complain(path, f"the environment variable {name} is not set; ${{{name}:-…}} gives a default")
                    return found[0]
                filled = (filled or in_text(default)) if default is not None else filled
                if filled and not input_ids(filled) and (looks_secret(name) or looks_secret(key)):
                    secrets.append(filled)
                return filled or ""

            return _VARIABLE.sub(one, text)

        return map_strings(value, in_text)

    def _known_variables(self) -> dict[str, str]:
        """What VS Code and Cursor fill in of themselves."""
        workspace = self._workspace()
        return {
            "userHome": str(Path.home()),
            "workspaceFolder": str(workspace),
            "workspaceFolderBasename": workspace.name,
            "pathSeparator": os.sep,
        }

    def _workspace(self) -> Path:
        return self._folder.parent if self._folder.name in (".vscode", ".cursor") else self._folder

    def _in_place(self, text: str) -> str:
        """A file's name with the folders filled in that it may start with."""
        return text.replace("${workspaceFolder}", str(self._workspace())).replace("${userHome}", str(Path.home()))

    def _read_env_file(self, path: jsonc.Path, file: Path) -> dict[str, str]:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self._complain(path, f"cannot be read: {error}")
            return {}
        found: dict[str, str] = {}
        for line in text.splitlines():
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            if equals and name and not name.startswith("#"):
                value = value.strip()
                found[name.strip()] = value[1:-1] if value[:1] == value[-1:] and value[:1] in ("'", '"') else value
        return found

    # ----------------------------------------------------------------------------------------------------------- inputs

    def _read_input(self, path: jsonc.Path, data: Any) -> None:
        if not isinstance(data, dict):
            self._complain(path, "an object is expected")
            return
        data = cast("dict[str, Any]", data)
        kind = data.get("type")
        if not isinstance(kind, str) or kind not in _INPUTS:
            self._complain((*path, "type"), "must be promptString, pickString or command")
            return
        if kind == "pickString" and isinstance(data.get("options"), list):
            options = cast("list[Any]", data["options"])
            data = {**data, "options": [_option(option) for option in options]}
        wanted = self._validate(path, _INPUTS[kind], data, set())
        if wanted is None:
            return
        if any(known.id == wanted.id for known in self.config.inputs):
            self._complain((*path, "id"), f"there are two inputs {wanted.id}")
        self.config.inputs.append(wanted)

    def _check_references(self, key: str) -> None:
        defined = {wanted.id for wanted in self.config.inputs}
        for server in self.config.servers:
            for input_id in input_ids(server.server_parameters.model_dump()):
                if input_id not in defined:
                    self._warn((key, server.name), f"refers to the input {input_id}, which is not defined")

    # --------------------------------------------------------------------------------------------------------- mistakes

    def _validate(self, path: jsonc.Path, model: Any, data: dict[str, Any], hidden: set[str]) -> Any:
        """The model, or None and one problem for each mistake. `hidden` are levels that the owner did not write."""
        data = {key: value for key, value in data.items() if key != "envFile"}
        try:
            return model.model_validate(data)
        except ValidationError as error:
            seen: set[jsonc.Path] = set()
            for mistake in error.errors(include_url=False, include_input=False):
                where = _real_path(mistake["loc"], data)
                if where in seen:  # each way to read a value complains for itself
                    continue
                seen.add(where)
                shown = (*path, *(step for step in where if step not in hidden))
                self._complain(shown, _in_plain_words(mistake, model, where))
            return None

    def _complain(self, path: jsonc.Path, message: str) -> None:
        self.problems.append(self._problem(path, message))

    def _warn(self, path: jsonc.Path, message: str) -> None:
        self.config.warnings.append(self._problem(path, message))

    def _problem(self, path: jsonc.Path, message: str) -> Problem:
        path = (*self._base, *path)
        known = next((path[:end] for end in range(len(path), -1, -1) if path[:end] in self._lines), None)
        return Problem(".".join(map(str, path)), message, self._lines[known] if known is not None else None)


def _as_we_say_it(data: dict[str, Any]) -> dict[str, Any]:
    """A flat configuration without the liberties that other hosts take: nulls, other names, numbers for text."""
    data = {key: value for key, value in data.items() if value is not None}
    if "serverUrl" in data:
        data.setdefault("url", data.pop("serverUrl"))
    for key in ("env", "headers"):
        if isinstance(values := data.get(key), dict):
            named = cast("dict[str, Any]", values).items()
            data[key] = {name: _as_text(value) for name, value in named if value is not None}
    return data


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _option(option: Any) -> Any:
    """An option, which may have a label for people."""
    return cast("dict[str, Any]", option).get("value") if isinstance(option, dict) else option


def _meant(name: str, value: Any, servers: str) -> str:
    """What may have been meant by a part of a file that is none."""
    if isinstance(value, dict) and cast("dict[str, Any]", value).keys() & {"command", "url", "server_parameters"}:
        return f"; did you mean {servers}.{name}?"
    return _near(name, ("servers", "mcpServers", "inputs"))


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _real_path(loc: tuple[str | int, ...], data: Any) -> jsonc.Path:
    """Where a mistake is in the data: the validator also names the alternatives it tried."""
    steps: list[str | int] = []
    for step in loc:
        if isinstance(data, Mapping):
            steps.append(step)
            data = cast("Mapping[Any, Any]", data).get(step)
        elif isinstance(data, list) and isinstance(step, int):
            steps.append(step)
            data = cast("list[Any]", data)[step] if step < len(cast("list[Any]", data)) else None
        else:
            break
    return tuple(steps)


def _in_plain_words(mistake: Any, model: Any, where: jsonc.Path) -> str:
    if mistake["type"] == "extra_forbidden":
        fields: list[str] = list(model.model_fields)
        if len(where) > 1 and where[0] == "server_parameters":
            fields = list(model.model_fields["server_parameters"].annotation.model_fields)
        return "is not a known field" + _near(str(where[-1]) if where else "", fields)
    if mistake["type"] == "missing":
        return "is missing"
    message: str = mistake["msg"]
    return _PLAIN_WORDS.get(mistake["type"]) or message.removeprefix("Value error, ").removeprefix("Input ").strip()


_PLAIN_WORDS = {
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "greater_than": "must be greater than 0",
    "time_delta_type": "must be a duration, e.g. 30 or PT30S",
    "time_delta_parsing": "must be a duration, e.g. 30 or PT30S",
}
