"""Reads configuration files, ours and those of other MCP hosts, into models. All mistakes are reported at once.

The formats are `{"inputs": […], "servers": {name: …}}` of this project, `{"mcpServers": {…}}` of Claude Desktop, Cursor
and many others, `{"servers": …, "inputs": …}` of VS Code, and `{"context_servers": {…}}` of Zed. Environment variables
are filled in next to the model, not in it: the model still shows the file as its owner wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from a2c_smcp.computer.config.foreign import in_our_words, is_extension
from a2c_smcp.computer.config.model import (
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
    ToolMeta,
)
from a2c_smcp.computer.config.placeholders import input_ids
from a2c_smcp.computer.config.secrets import looks_secret
from a2c_smcp.computer.config.source import ConfigSource, Origin
from a2c_smcp.computer.config.variables import Variables, read_env_file, unknown_placeholders
from a2c_smcp.utils import jsonc
from a2c_smcp.utils.problems import Problem, meant, mistakes_in, problem_at

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
"""A file with more unknown settings than this belongs to another program; they get one warning together."""


class ConfigError(ValueError):
    """A configuration is invalid; `problems` has every mistake."""

    def __init__(self, problems: list[Problem], source: str | None = None, warnings: Iterable[Problem] = ()) -> None:
        self.problems = problems
        self.warnings = list(warnings)
        self.source = source
        super().__init__("\n".join(f"{source}: {problem}" if source else str(problem) for problem in problems))


@dataclass
class LoadedConfig:
    """The content of a configuration file."""

    servers: list[MCPServerConfig] = field(default_factory=list[MCPServerConfig])
    inputs: list[MCPServerInput] = field(default_factory=list[MCPServerInput])
    warnings: list[Problem] = field(default_factory=list[Problem])
    env_files: dict[str, Path] = field(default_factory=dict[str, Path])
    """Files with environment variables, by server."""
    folder: Path = field(default_factory=Path)
    """The value of `${workspaceFolder}`."""


def load_config(path: Path, *, expand: bool = True, adopt: bool = False) -> LoadedConfig:
    """Read a file. `expand` fills in environment variables, `adopt` allows the tools that another host allows.

    Raises:
        ConfigError: the configuration is invalid.
        OSError: the file cannot be read.
    """
    try:
        source = ConfigSource.read(path)
        return parse_config(source.text, folder=path.resolve().parent, expand=expand, adopt=adopt, source=source)
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
    adopt: bool = False,
    source: ConfigSource | None = None,
) -> LoadedConfig:
    """Read a configuration. Relative names in it start at `folder`; `source` is its file. With `adopt`, tools that
    another host runs without confirmation do so here, too.

    Raises:
        ConfigError: the configuration is invalid.
    """
    try:
        data, lines = jsonc.parse(text)
    except jsonc.JSONCError as error:
        raise ConfigError([Problem("", error.message, error.line)]) from None
    filled_in = Variables(os.environ if environment is None else environment, folder or Path.cwd())
    reader = _Reader(lines, filled_in, source, expand=expand, adopt=adopt)
    reader.read(data)
    if reader.problems:
        # A person corrects the file from top to bottom. The reader takes its parts in an order of its own.
        in_order = sorted(reader.problems, key=lambda problem: problem.line or 0)
        raise ConfigError(in_order, warnings=reader.config.warnings)
    return reader.config


def server_from(data: Mapping[str, Any], name: str | None = None) -> MCPServerConfig:
    """The configuration of one server from data, in any format that a file may have. Variables are not filled in.

    Raises:
        ConfigError: the configuration is invalid.
    """
    # Not expanded: a program has already put its values in, and a `$` in one of them is meant literally.
    reader = _Reader({}, Variables({}, Path.cwd()), expand=False)
    reader.read_server((), name, dict(data))
    if reader.problems:
        raise ConfigError(reader.problems)
    return reader.config.servers[0]


def place_of_servers(data: dict[str, Any]) -> tuple[jsonc.Path, dict[str, Any], str]:
    """The path to the object in a file that has servers and inputs, that object, and the key of the servers."""
    path: jsonc.Path = ()
    if isinstance(inner := data.get("mcp"), dict) and not data.keys() & {"servers", "mcpServers"}:
        path, data = ("mcp",), cast("dict[str, Any]", inner)  # the settings of VS Code
    return path, data, next((key for key in ("mcpServers", "context_servers") if key in data), "servers")


class _Reader:
    """Reads data, and collects all mistakes in it."""

    def __init__(
        self,
        lines: Mapping[jsonc.Path, int],
        variables: Variables,
        source: ConfigSource | None = None,
        *,
        expand: bool,
        adopt: bool = False,
    ) -> None:
        self._lines = lines
        self._variables = variables
        self._source = source
        self._is_expanding = expand
        self._adopt = adopt
        self.config = LoadedConfig(folder=variables.workspace)
        self.problems: list[Problem] = []
        self._base: jsonc.Path = ()

    def read(self, data: Any) -> None:
        """Read a whole file."""
        if not isinstance(data, dict):
            self._complain((), "an object with servers is expected")
            return
        data = cast("dict[str, Any]", data)
        self._base, data, key = place_of_servers(data)
        unknown = sorted(
            data.keys() - {"servers", "mcpServers", "context_servers", "inputs", "projects", "passwords", "$schema"}
        )
        if len(unknown) > MANY:
            self._warn((), f"{len(unknown)} other settings are not read")
        else:
            for name in unknown:
                self._warn((name,), "is not read" + _meant(name, data[name], key))
        servers: Any = {} if data.get(key) is None else data[key]
        # A project's own server comes first, and replaces one of the same name in the section for all projects.
        self._read_project(data.get("projects"))
        if not isinstance(servers, dict):
            self._complain((key,), "an object is expected: a name and a configuration for each server")
        elif key != "servers" and "servers" in data:
            self._complain((key,), f"either {key} or servers, not both")
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
        """Claude Code has an extra section for the servers of each project, under the project's folder."""
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
        # The other hosts all put `command` or `url` directly into the server, so this key alone tells the two shapes
        # apart.
        is_flat = "server_parameters" not in data
        if is_flat:
            if is_extension(data):
                self._warn(path, "is not read: an extension of Zed starts it, and only Zed can")
                return
            data, left_out = in_our_words(data, adopt=self._adopt)
            for key, why in left_out.items():
                self._warn((*path, key), why)
        if name is not None:
            if is_flat or "name" not in data:
                data["name"] = name  # other hosts use `name` for a title
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
            self._check_tool_meta(path, model)
            self._check_placeholders(path if is_flat else (*path, "server_parameters"), model)
            model = self._expand(path, model, data, is_flat)
            if self._source is not None:
                model = model.read_from(Origin(self._source, (*self._base, *path)))
            self.config.servers.append(model)

    # ---------------------------------------------------------------------------------------------------------- servers

    def _kind(self, path: jsonc.Path, data: dict[str, Any]) -> str | None:
        """The type of a server, as written or inferred."""
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
                # Configurations of other hosts often have only a URL. SSE servers answer at `/sse` by convention.
                return "sse" if url.split("?")[0].rstrip("/").endswith("/sse") else "streamable"
            # A misspelled `command` is a better explanation than a missing one.
            hints = {key: hint for key in parameters if (hint := meant(key, ("command", "url", "server_parameters")))}
            for key, hint in hints.items():
                self._complain((*path, key), "unknown key" + hint)
            if not hints:
                self._complain(path, "a command or a url is expected")
            return None
        if not isinstance(kind, str) or kind not in _SERVERS.keys() | STREAMABLE_ALIASES:
            self._complain((*path, "type"), "must be stdio, streamable (or http) or sse")
            return None
        return "streamable" if kind in STREAMABLE_ALIASES else kind

    def _nest(self, path: jsonc.Path, data: dict[str, Any], kind: str) -> dict[str, Any]:
        """Convert a flat server to our nested shape. Unknown keys are left out, with a warning."""
        nested: dict[str, Any] = {"server_parameters": {}}
        nearest = _PARAMETER_FIELDS[kind] | _BASE_FIELDS
        for key, value in data.items():
            if key in _PARAMETER_FIELDS[kind]:
                nested["server_parameters"][key] = value
            elif key in _BASE_FIELDS or key == "envFile":
                nested[key] = value
            elif key != "type":
                # A `url` beside a `command` is a known key in the wrong type of server, which a suggestion of a similar
                # key would not explain.
                is_of_others = any(key in fields for fields in _PARAMETER_FIELDS.values())
                hint = f": a server of type {kind} has no {key}" if is_of_others else meant(key, nearest)
                self._warn((*path, key), "is not read" + hint)
        return nested

    def _check_tool_meta(self, path: jsonc.Path, model: MCPServerConfig) -> None:
        """Warn about misspelled keys in the metadata of tools."""
        # Unknown keys are allowed here, and reach the Agent as they are. One that is almost a known key is more likely
        # a mistake, and it would be a serious one: `auto_aply: false` changes nothing.
        metas: list[tuple[jsonc.Path, ToolMeta | None]] = [(("default_tool_meta",), model.default_tool_meta)]
        metas += [(("tool_meta", tool), meta) for tool, meta in model.tool_meta.items()]
        for place, meta in metas:
            for key in meta.model_extra or {} if meta is not None else {}:
                if hint := meant(key, ToolMeta.model_fields):
                    self._warn((*path, *place, key), "unknown key, passed on to Agents" + hint)

    def _check_placeholders(self, path: jsonc.Path, model: MCPServerConfig) -> None:
        """Warn about placeholders of other hosts, which this program does not fill in."""
        for key, value in model.server_parameters.model_dump().items():
            for found in unknown_placeholders(value):
                self._warn((*path, key), f"{found} is not filled in: only inputs and environment variables are")

    def _expand(self, path: jsonc.Path, model: MCPServerConfig, data: dict[str, Any], is_flat: bool) -> MCPServerConfig:
        """Fill in environment variables beside the model; disabled servers need none."""
        env_file = data.get("envFile")
        if isinstance(env_file, str):
            self.config.env_files[model.name] = self._variables.file(env_file)
        elif env_file is not None:
            self._complain((*path, "envFile"), "must be text")
        # A disabled server may need variables that only exist on another machine: they must not make this file invalid.
        if not self._is_expanding or model.disabled:
            return model
        if model.name in self.config.env_files and model.type != "stdio":
            self._warn((*path, "envFile"), "is not read: only a server that is started here has an environment")
            del self.config.env_files[model.name]
        secrets: list[str] = []
        written = model.server_parameters.model_dump()
        base = path if is_flat else (*path, "server_parameters")
        filled, unset = self._variables.fill(base, written, secrets)
        for place, name in unset:
            self._complain(place, f"the environment variable {name} is not set; ${{{name}:-…}} gives a default")
        if model.name in self.config.env_files:
            try:
                more = read_env_file(self.config.env_files[model.name])
            except (OSError, UnicodeDecodeError) as error:
                self._complain((*path, "envFile"), f"cannot be read: {error}")
                more = {}
            secrets += [value for name, value in more.items() if looks_secret(name)]
            filled["env"] = more | (filled.get("env") or {})
        return model.expanded(filled, secrets) if filled != written else model

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
        # `envFile` is a matter of files. The models reject unknown keys, and do not have it.
        data = {key: value for key, value in data.items() if key != "envFile"}
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for where, message in mistakes_in(data, error, model):
                shown = (*path, *(step for step in where if step not in hidden))
                self._complain(shown, _misplaced(where, data) or message)
            return None

    def _complain(self, path: jsonc.Path, message: str) -> None:
        self.problems.append(self._problem(path, message))

    def _warn(self, path: jsonc.Path, message: str) -> None:
        self.config.warnings.append(self._problem(path, message))

    def _problem(self, path: jsonc.Path, message: str) -> Problem:
        return problem_at((*self._base, *path), message, self._lines)


def _misplaced(where: jsonc.Path, data: Mapping[str, Any]) -> str | None:
    """The right place for a key of a server that is inside or outside of `server_parameters` by mistake."""
    match where:
        case (str(key),) if "server_parameters" in data and any(key in each for each in _PARAMETER_FIELDS.values()):
            return "belongs in server_parameters"
        case ("server_parameters", str(key)) if key in _BASE_FIELDS:
            return "belongs in the server, beside server_parameters"
        case _:
            return None


def _option(option: Any) -> Any:
    """An option without what other hosts add, such as a description."""
    if not isinstance(option, dict):
        return option
    given = cast("dict[str, Any]", option)
    return {key: given.get(key) for key in ("label", "value")} if given.get("label") else given.get("value")


def _meant(name: str, value: Any, servers: str) -> str:
    """A suggestion for an unknown key."""
    if isinstance(value, dict) and cast("dict[str, Any]", value).keys() & {"command", "url", "server_parameters"}:
        return f"; did you mean {servers}.{name}?"
    return meant(name, ("servers", "mcpServers", "inputs"))
