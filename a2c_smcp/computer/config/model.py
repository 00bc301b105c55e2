"""The configuration of MCP servers and inputs: frozen, strict models with every field and default of the protocol.

A model holds what its owner wrote. Placeholders such as `${input:token}` are not filled in here, so a configuration can
be sent to an Agent or shown on a screen without secrets. `files` reads the files, `placeholders` fills in values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal, Self, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    PrivateAttr,
    Tag,
    TypeAdapter,
    field_validator,
    model_validator,
)

from a2c_smcp.computer.config import vrl_syntax
from a2c_smcp.computer.config.oauth import OAuthParameters, RemoteParameters
from a2c_smcp.computer.config.secrets import hide, replace_secrets
from a2c_smcp.computer.config.source import Origin
from a2c_smcp.utils.bundle_id import bundle_id as derived_id
from a2c_smcp.utils.bundle_id import is_bundle_id, normalized
from a2c_smcp.utils.url import OF_MCP_SERVERS, check_url

READ_ONLY = "read-only"
"""The value of `auto_apply` that trusts the `readOnlyHint` which an MCP server declares for each tool."""
STREAMABLE_ALIASES = frozenset(("http", "streamable-http", "streamableHttp", "streamable_http"))
"""Other hosts' names for the `streamable` type."""
LogLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""The levels of MCP, from the least to the most serious."""


class _Model(BaseModel):
    # Strict: a lax model would guess that `"false"` means false, and the owner of the file would not learn of the
    # mistake. Frozen: a change must pass the manager, which decides whether the server restarts.
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", validate_default=False)


def _is_placeholder(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\$\{[^{}]+\}", value) is not None


def _placeholder(value: str) -> str:
    if not _is_placeholder(value):
        raise ValueError("expected a value of its type, or one placeholder such as ${input:id}")
    return value


Placeholder = Annotated[str, BeforeValidator(_placeholder)]
"""A placeholder for a value that is not a string."""


def _to_duration(value: Any) -> Any:
    """Seconds as a number, an ISO-8601 string, or a timedelta."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):  # the value of an input is text
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return timedelta(seconds=value)
        except OverflowError:
            raise ValueError("is too long") from None
    if isinstance(value, str):
        return _durations.validate_python(value, strict=False)
    return value


_durations = TypeAdapter(timedelta)
_Duration = Annotated[timedelta, BeforeValidator(_to_duration), Field(gt=timedelta(0))]
IsoDuration = Annotated[
    _Duration,
    PlainSerializer(lambda value: cast("str", _durations.dump_python(value, mode="json")), when_used="json"),
]
_Text = Annotated[str, Field(min_length=1)]


# -------------------------------------------------------------------------------------------------- what a server needs
class StdioParameters(_Model):
    """How to start a server on this machine."""

    command: _Text
    """The program: a name on the `PATH`, or a path."""
    args: list[str] = []
    """Its arguments."""
    env: dict[str, str] | None = None
    """Environment variables, beside `PATH`, `HOME` and the few others that every server sees."""
    cwd: str | None = None
    """The folder it starts in; null for the Computer's own."""
    encoding: str = "utf-8"
    """Of its standard input and output; one that contains ASCII."""
    encoding_error_handler: Literal["strict", "ignore", "replace"] = "strict"
    """How to treat bytes that are invalid in this encoding."""

    @field_validator("cwd", mode="before")
    @classmethod
    def _path_to_text(cls, value: Any) -> Any:
        return str(value) if hasattr(value, "__fspath__") else value

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, value: str) -> str:
        try:
            # Output is cut into lines at the byte 0x0A before it is decoded, which is wrong for an encoding such as
            # UTF-16.
            is_usable = "{}\n".encode(value) == b"{}\n"
        except LookupError:
            is_usable = False
        if not is_usable:
            raise ValueError("must be an encoding that contains ASCII, e.g. utf-8")
        return value


def _check_url(value: str) -> str:
    if not value.startswith("${"):
        check_url(re.sub(r"\$\{[^}]*\}", "1", value), OF_MCP_SERVERS)  # an input may be the host, or the port
    return value


_Url = Annotated[_Text, BeforeValidator(lambda value: _check_url(value) if isinstance(value, str) else value)]


def _check_header(value: Any) -> Any:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ValueError("must be text")
    if isinstance(value, str) and not re.fullmatch(r"[\t\x20-\x7e]*", value):
        raise ValueError("must be ASCII without line breaks: HTTP headers hold nothing else")
    return value


_Header = Annotated[Any, AfterValidator(_check_header)]


class StreamableHttpParameters(RemoteParameters, _Model):
    """Where a server answers over streamable HTTP."""

    url: _Url
    """Its address, `http://` or `https://`."""
    headers: dict[str, _Header] | None = None
    """HTTP headers of every request."""
    timeout: IsoDuration | Placeholder = timedelta(seconds=30)
    """To connect and to send; seconds, or ISO-8601 such as `PT30S`."""
    sse_read_timeout: IsoDuration | Placeholder = timedelta(minutes=5)
    """How long an answer or an event stream may stay silent; seconds, or ISO-8601."""
    terminate_on_close: bool | Placeholder = True
    """Whether the Computer ends the session on the server when it disconnects."""
    oauth: OAuthParameters | None = None
    """How the Computer logs in."""


class SseParameters(RemoteParameters, _Model):
    """Where a server answers over SSE."""

    url: _Url
    """Its address, `http://` or `https://`."""
    headers: dict[str, _Header] | None = None
    """HTTP headers of every request."""
    timeout: Annotated[float, Field(gt=0)] | Placeholder = 5.0
    """Seconds to connect and to send."""
    sse_read_timeout: Annotated[float, Field(gt=0)] | Placeholder = 300.0
    """Seconds that the event stream may stay silent."""
    oauth: OAuthParameters | None = None
    """How the Computer logs in."""

    @field_validator("timeout", "sse_read_timeout", mode="before")
    @classmethod
    def _seconds(cls, value: Any) -> Any:
        if isinstance(value, timedelta):
            return value.total_seconds()
        return float(value) if type(value) is int else value


# ------------------------------------------------------------------------------------------------------------- a server
class ToolMeta(_Model):
    """The owner's settings for a tool. Null inherits the default; further keys are kept."""

    model_config = ConfigDict(extra="allow")

    auto_apply: bool | Literal["read-only"] | None = None
    """Run without confirmation; `read-only`: only if its server declares `annotations.readOnlyHint`."""
    alias: _Text | None = None
    """The name that an Agent sees and calls; for one tool only."""
    tags: list[str] | None = None
    """Words that help an Agent to choose tools."""
    ret_object_mapper: dict[str, Any] | None = None
    """For the Agent: how to read the result. The Computer passes it on."""

    @field_validator("auto_apply", mode="before")
    @classmethod
    def _one_of_three(cls, value: Any) -> Any:
        if value is None or isinstance(value, bool) or value == READ_ONLY:
            return value
        raise ValueError(f'must be true, false or "{READ_ONLY}"')


class BaseServerConfig(_Model):
    """The settings that servers of all types have."""

    name: Annotated[str, Field(min_length=1, max_length=256)]
    """Its name; in a file, its key."""
    bundle_id: str | None = None
    """Its identity for Agents: ASCII letters, digits, `-` and `_`, without `__`. Derived from its name if not set."""
    disabled: bool = False
    """Do not start it, and do not offer its tools."""
    forbidden_tools: list[str] = []
    """Names or aliases of tools that no Agent sees, or can call (4002)."""
    tool_meta: dict[str, ToolMeta] = {}
    """Settings of single tools, by the names that the server uses. A field that is not null overrides the default."""
    default_tool_meta: ToolMeta | None = None
    """Settings of all its tools. An `alias` has no effect here."""
    vrl: str | None = None
    """A script in Vector Remap Language that runs on each result; needs the extra `vrl`."""

    log_level: LogLevel | Literal["off"] = "warning"
    """The lowest level of its log messages that are kept for `status`: `debug`, `info`, `notice`, `warning`, `error`,
    `critical`, `alert`, `emergency`, or `off`."""

    # Private attributes, so that no dump and no representation of the model contains them: the values of environment
    # variables may be secrets.
    _expanded: dict[str, Any] | None = PrivateAttr(default=None)
    _secret_values: tuple[str, ...] = PrivateAttr(default=())
    _origin: Origin | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _plain_parameters(cls, data: Any) -> Any:
        """Accept parameters as models of the `mcp` package, or any other model, and not only as plain data."""
        if isinstance(data, Mapping):
            data = dict(cast("Mapping[str, Any]", data))
            parameters = data.get("server_parameters")
            if isinstance(parameters, BaseModel) and not isinstance(parameters, _Model):
                data["server_parameters"] = parameters.model_dump()
        return data

    @field_validator("name")
    @classmethod
    def _printable_name(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("control characters are not allowed")
        return value

    @field_validator("bundle_id")
    @classmethod
    def _valid_id(cls, value: str | None) -> str | None:
        if value is not None and not is_bundle_id(value):
            raise ValueError("must be ASCII letters, digits, - and _, without __")
        return value

    @field_validator("vrl")
    @classmethod
    def _valid_script(cls, value: str | None) -> str | None:
        if value is not None:
            vrl_syntax.check(value)
        return value

    @property
    def identity(self) -> str:
        """Its `bundle_id`, or the one that every implementation derives for it."""
        if self.bundle_id is not None:
            return self.bundle_id
        server = _server(self)
        # Most names give an id without the parameters, which take longer to dump.
        return normalized(self.name) or derived_id(self.name, server.type, server.server_parameters.model_dump())

    @property
    def kept_level(self) -> LogLevel | None:
        """The lowest level of the log messages that are kept; None if none are."""
        return self.log_level if self.log_level != "off" else None

    @property
    def secret_values(self) -> tuple[str, ...]:
        """Values in `parameters()` that must not be shown."""
        return self._secret_values

    @property
    def origin(self) -> Origin | None:
        """Its place in a file; None if it is in no file."""
        return self._origin

    def __hash__(self) -> int:
        return hash(self.name)  # pydantic would hash the lists, which are not hashable

    def parameters(self) -> dict[str, Any]:
        """The parameters that start the server: as written, with environment variables filled in. They may hold
        secrets."""
        return self._expanded if self._expanded is not None else _server(self).server_parameters.model_dump()

    def shown(self) -> dict[str, Any]:
        """The configuration without secrets, in the shapes of the protocol."""
        shown = self.model_dump(mode="json", exclude={"log_level"})  # the protocol does not have it
        shown["bundle_id"] = self.identity
        shown["server_parameters"] = replace_secrets(shown["server_parameters"], hide)
        for meta in (shown["default_tool_meta"], *shown["tool_meta"].values()):
            if meta is not None and meta["auto_apply"] == READ_ONLY:
                meta["auto_apply"] = False  # a bool on the wire; what it means for each tool is in the list of tools
        return shown

    def expanded(self, parameters: dict[str, Any], secret_values: Iterable[str] = ()) -> Self:
        """A copy that starts its server with these parameters, and still shows those of the file."""
        copy = self.model_copy()
        copy._expanded = parameters
        copy._secret_values = tuple(secret_values)
        return copy

    def read_from(self, origin: Origin) -> Self:
        """A copy that knows its place in a file."""
        copy = self.model_copy()
        copy._origin = origin
        return copy

    def ruled(self, tool: str, auto_apply: bool | None, forbidden: list[str]) -> Self:
        """A copy with another rule for a tool, by the name that the server uses; None leaves `auto_apply` as it is."""
        metas = self.tool_meta
        if auto_apply is not None:
            meta = metas.get(tool, ToolMeta()).model_copy(update={"auto_apply": auto_apply})
            metas = {**metas, tool: meta}
        return self.model_copy(update={"tool_meta": metas, "forbidden_tools": forbidden})

    def switched(self, *, disabled: bool) -> Self:
        """A copy that is disabled, or enabled."""
        return self.model_copy(update={"disabled": disabled})


class StdioServerConfig(BaseServerConfig):
    """A server on this machine."""

    type: Literal["stdio"] = "stdio"
    """May be left out: it has a `command`."""
    server_parameters: StdioParameters
    """How to start it."""


class StreamableHttpServerConfig(BaseServerConfig):
    """A server over streamable HTTP."""

    type: Literal["streamable"] = "streamable"
    """Also `http`, `streamable-http`, `streamable_http`, `streamableHttp`. May be left out: it has a `url`."""
    server_parameters: StreamableHttpParameters
    """Where it is."""

    @field_validator("type", mode="before")
    @classmethod
    def _alias(cls, value: Any) -> Any:
        return "streamable" if value in STREAMABLE_ALIASES else value


class SseServerConfig(BaseServerConfig):
    """A server over SSE."""

    type: Literal["sse"] = "sse"
    """May be left out if the `url` ends in `/sse`."""
    server_parameters: SseParameters
    """Where it is."""


def _type_of(data: Any) -> str | None:
    """The tag of a configuration, whether it is a model or data, and under any name of its type."""
    found = data.get("type") if isinstance(data, Mapping) else getattr(data, "type", None)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return "streamable" if found in STREAMABLE_ALIASES else cast("str | None", found)


MCPServerConfig: TypeAlias = Annotated[
    Annotated[StdioServerConfig, Tag("stdio")]
    | Annotated[StreamableHttpServerConfig, Tag("streamable")]
    | Annotated[SseServerConfig, Tag("sse")],
    Discriminator(_type_of),
]


def _server(config: BaseServerConfig) -> StdioServerConfig | StreamableHttpServerConfig | SseServerConfig:
    return cast("StdioServerConfig | StreamableHttpServerConfig | SseServerConfig", config)


# --------------------------------------------------------------------------------------------------------------- inputs
class _Input(_Model):
    id: Annotated[str, Field(min_length=1, pattern=r"^[^{}:]+$")]
    """The id in `${input:id}`."""
    description: str = ""
    """The question that a person is asked."""

    def __hash__(self) -> int:
        return hash(self.id)

    def shown(self) -> dict[str, Any]:
        """The definition without secrets; the default of a password is a secret, too."""
        hidden = {"default"} if getattr(self, "password", None) else None
        return replace_secrets(self.model_dump(mode="json", exclude_none=True, exclude=hidden), hide)


class MCPServerPromptStringInput(_Input):
    """A value a person types."""

    type: Literal["promptString"] = "promptString"
    """A person types it."""
    default: str | None = None
    """The value if no other is given."""
    password: bool | None = None
    """It is not shown while it is typed, nor anywhere else; `--keyring` remembers it."""


class PickOption(_Model):
    """An option that a person sees under another name."""

    label: _Text
    """What a person sees."""
    value: _Text
    """The value."""


def _to_option(value: Any) -> str | PickOption:
    # Not left to pydantic, which would report a mistake for each of the two forms.
    if isinstance(value, str | PickOption):
        return value
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        if set(given) == {"label", "value"} and all(isinstance(each, str) and each for each in given.values()):
            return PickOption(label=given["label"], value=given["value"])
    raise ValueError("must be text, or an object of a label and a value")


_Option = Annotated[str | PickOption, BeforeValidator(_to_option)]


class MCPServerPickStringInput(_Input):
    """A value a person picks."""

    type: Literal["pickString"] = "pickString"
    """A person picks it."""
    options: Annotated[list[_Option], Field(min_length=1)]
    """The values to choose from: texts, or objects `{"label": …, "value": …}` whose label is shown."""
    default: str | None = None
    """The value if no option is picked; one of the options."""

    @property
    def labels(self) -> dict[str, str]:
        """What a person sees of each value, by the value."""
        pairs = [(each, each) if isinstance(each, str) else (each.value, each.label) for each in self.options]
        return dict(pairs)

    @model_validator(mode="after")
    def _default_is_an_option(self) -> MCPServerPickStringInput:
        if self.default is not None and self.default not in self.labels:
            raise ValueError(f"default {self.default!r} is not among the options")
        return self


class MCPServerCommandInput(_Input):
    """A value that a command prints. `shell` lets a shell read the command line."""

    type: Literal["command"] = "command"
    """A command prints it; it is kept as secret as a password."""
    command: _Text
    """The program, or a command line; what it prints, stripped, is the value."""
    args: dict[str, str] | list[str] | None = None
    """Further arguments; `{"name": "value"}` becomes `--name value`."""
    shell: bool = False
    """Let `/bin/sh` read the command."""
    timeout: Annotated[float, Field(gt=0, le=3600)] = 30.0
    """Seconds that the command may take."""

    @field_validator("timeout", mode="before")
    @classmethod
    def _seconds(cls, value: Any) -> Any:
        return float(value) if type(value) is int else value


MCPServerInput: TypeAlias = Annotated[
    MCPServerPromptStringInput | MCPServerPickStringInput | MCPServerCommandInput, Field(discriminator="type")
]

server_configs: TypeAdapter[MCPServerConfig] = TypeAdapter(MCPServerConfig)
input_configs: TypeAdapter[MCPServerInput] = TypeAdapter(MCPServerInput)
