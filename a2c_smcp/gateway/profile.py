"""Profiles: which part of an office a host sees, and in which form its tools are listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, cast, get_args

from a2c_smcp.agent.choice import Choice
from a2c_smcp.gateway.described import Described

Mode: TypeAlias = Literal["auto", "merged", "search", "direct"]
MODES: tuple[Mode, ...] = get_args(Mode)

_LISTS = (
    "computers",
    "servers",
    "tags",
    "tools",
    "exclude_computers",
    "exclude_servers",
    "exclude_tags",
    "exclude_tools",
)
_FLAGS = ("read_only",)
FIELDS = ("mode", *_FLAGS, *_LISTS)
_NONE = ("\0",)
"""A list that allows nothing: no name has this character. An empty list allows everything."""


class InvalidProfile(ValueError):
    """A profile that cannot be used. The message says what to change."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a host sees. It is hashable: hosts with equal profiles share one list of tools."""

    mode: Mode = "auto"
    read_only: bool = False
    """Only tools whose MCP server says that they change nothing (`readOnlyHint`)."""
    computers: tuple[str, ...] = ()
    """The names of Computers; empty for all."""
    servers: tuple[str, ...] = ()
    """The names of MCP servers; empty for all."""
    tags: tuple[str, ...] = ()
    """Tags, of which a tool needs at least one; empty for all."""
    tools: tuple[str, ...] = ()
    """Patterns of tool names, such as `read_*`; empty for all."""
    exclude_computers: tuple[str, ...] = ()
    exclude_servers: tuple[str, ...] = ()
    exclude_tags: tuple[str, ...] = ()
    exclude_tools: tuple[str, ...] = ()

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Profile:
        """A profile from settings.

        Raises:
            InvalidProfile: a field is unknown, or has an invalid value.
        """
        known: dict[str, Any] = {}
        for name, value in fields.items():
            if name not in FIELDS:
                raise InvalidProfile(f"{name}: unknown field; must be one of {', '.join(FIELDS)}")
            known[name] = _read(name, value)
        return cls(**known)

    def refined(self, query: Mapping[str, Sequence[str]]) -> Profile:
        """This profile with the fields of a query string, which can only show less: a profile of the operator's may be
        all that a host is meant to see.

        Raises:
            InvalidProfile: a field has an invalid value.
        """
        given = {name: values for name, values in query.items() if name in FIELDS}
        for name in query.keys() - FIELDS:
            # A host or proxy may have fields of its own. A misspelled one would show the whole office.
            if meant := get_close_matches(name.lower().replace("-", "_"), FIELDS, 1, 0.8):
                raise InvalidProfile(f"{name}: unknown field; did you mean {meant[0]}?")
        wish = Profile.of(
            {name: values[-1] if name not in _LISTS else _split(values) for name, values in given.items()}
        )
        fields: dict[str, Any] = {"mode": wish.mode if "mode" in given else self.mode}
        fields["read_only"] = self.read_only or wish.read_only
        for name in _LISTS:
            ours, theirs = getattr(self, name), getattr(wish, name)
            if name.startswith("exclude_"):
                fields[name] = tuple(sorted({*ours, *theirs}))
            elif not ours or not theirs:
                fields[name] = ours or theirs
            elif name == "tools":
                raise InvalidProfile("tools: cannot be combined with the patterns of this profile")
            else:
                fields[name] = tuple(value for value in theirs if value in ours) or _NONE
        return Profile(**fields)

    @property
    def choice(self) -> Choice:
        """The part that a `Toolkit` knows, too."""
        return Choice(
            self.tools or None,
            self.tags or None,
            self.computers or None,
            self.exclude_tools,
            self.exclude_tags,
            self.exclude_computers,
        )

    def allows_computer(self, computer: str) -> bool:
        """Whether a Computer is shown."""
        return computer not in self.exclude_computers and (not self.computers or computer in self.computers)

    def allows_server(self, server: str | None) -> bool:
        """Whether an MCP server is shown. The name is None where a Computer does not tell it."""
        if server is None:  # it may be one that must not be shown
            return not self.names_servers
        return server not in self.exclude_servers and (not self.servers or server in self.servers)

    @property
    def names_servers(self) -> bool:
        """Whether some MCP servers are shown, and others are not."""
        return bool(self.servers or self.exclude_servers)

    def allows(self, tool: Described) -> bool:
        """Whether a tool is shown."""
        return (
            self.choice.allows_tool(tool.name, tool.tags)
            and self.allows_server(tool.server)
            and (not self.read_only or tool.is_read_only)
        )


def _read(name: str, value: Any) -> Any:
    if name == "mode":
        if value not in MODES:
            raise InvalidProfile(f"mode: {value!r} is not a mode; must be one of {', '.join(MODES)}")
        return value
    if name in _FLAGS:
        if isinstance(value, str):
            value = {"1": True, "true": True, "0": False, "false": False, "": True}.get(value.lower())
        if not isinstance(value, bool):
            raise InvalidProfile(f"{name}: must be true or false")
        return value
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(each, str) for each in cast("list[Any]", listed)):
        raise InvalidProfile(f"{name}: must be a list of texts")
    # In one order: hosts that mean the same share one list of tools.
    return tuple(sorted(set(cast("list[str]", listed))))


def _split(values: Sequence[str]) -> list[str]:
    return [part.strip() for value in values for part in value.split(",") if part.strip()]
