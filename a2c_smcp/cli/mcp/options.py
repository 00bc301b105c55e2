"""Options that name an office for an MCP host, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated

import typer

from a2c_smcp.cli.errors import did_you_mean, fail
from a2c_smcp.cli.options import OFFICE, check_ca_file, check_server_url, key_from

SHOWN = "What the host sees"
DEFAULT_URL = "http://127.0.0.1:8000"

Url = Annotated[
    str | None,
    typer.Option(envvar="A2C_URL", help="URL of the Server.", show_default=DEFAULT_URL, rich_help_panel=OFFICE),
]
OfficeId = Annotated[
    str | None, typer.Option("--office", envvar="A2C_OFFICE", help="Office to use.", rich_help_panel=OFFICE)
]
ApiKeyHeader = Annotated[
    str | None,
    typer.Option(help="HTTP header that carries the key.", show_default="x-api-key", rich_help_panel=OFFICE),
]
ProfileName = Annotated[
    str | None,
    typer.Option("--profile", help="Profile in the settings of the Server.", rich_help_panel=SHOWN),
]
Mode = Annotated[
    str | None,
    typer.Option(
        help="How tools are listed: auto, merged, search or direct.", show_default="auto", rich_help_panel=SHOWN
    ),
]
Computers = Annotated[
    list[str] | None,
    typer.Option("--computer", help="Only this Computer. Can be repeated.", show_default="all", rich_help_panel=SHOWN),
]
Servers = Annotated[
    list[str] | None,
    typer.Option("--server", help="Only this MCP server. Can be repeated.", show_default="all", rich_help_panel=SHOWN),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", help="Only tools with this tag. Can be repeated.", show_default="all", rich_help_panel=SHOWN),
]
ReadOnly = Annotated[
    bool, typer.Option("--read-only", help="Only tools that change nothing.", rich_help_panel=SHOWN)
]


@dataclass(frozen=True)
class Target:
    """An office, the part of it that a host sees, and the key for it. What was not given is empty."""

    url: str | None = None
    office: str | None = None
    profile: str | None = None
    mode: str | None = None
    computers: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    read_only: bool = False
    api_key: str | None = field(default=None, repr=False)
    api_key_header: str | None = None
    ca_file: Path | None = None

    def or_else(self, other: Target) -> Target:
        """These options, and those of another where they were not given."""
        return Target(**{each.name: getattr(self, each.name) or getattr(other, each.name) for each in fields(self)})

    def checked(self) -> Target:
        """The options with their defaults; ends the command if one is invalid."""
        from a2c_smcp.gateway.profile import MODES

        if not self.office:
            fail("no office: set --office NAME or A2C_OFFICE", 2)
        check_server_url(self.url or DEFAULT_URL)
        check_ca_file(self.ca_file)
        if self.mode is not None and self.mode not in MODES:
            fail(f"--mode {self.mode}: must be {', '.join(MODES[:-1])} or {MODES[-1]}{did_you_mean(self.mode, MODES)}", 2)
        return self.or_else(Target(url=DEFAULT_URL, api_key=key_from(None), api_key_header="x-api-key"))

    @property
    def query(self) -> dict[str, str | list[str]]:
        """The fields of a profile."""
        lists = {"computers": self.computers, "servers": self.servers, "tags": self.tags}
        given: dict[str, str | list[str]] = {name: list(values) for name, values in lists.items() if values}
        if self.mode is not None:
            given["mode"] = self.mode
        if self.read_only:
            given["read_only"] = "true"
        return given

    @property
    def arguments(self) -> list[str]:
        """The options of `a2c mcp` that mean the same, without the key."""
        flags: list[tuple[str, str | None]] = [
            ("--url", self.url),
            ("--office", self.office),
            ("--profile", self.profile),
            ("--mode", self.mode),
            *(("--computer", name) for name in self.computers),
            *(("--server", name) for name in self.servers),
            *(("--tag", name) for name in self.tags),
            ("--ca-file", str(self.ca_file.absolute()) if self.ca_file is not None else None),
            ("--api-key-header", self.api_key_header if self.api_key_header != "x-api-key" else None),
        ]
        given = [word for flag, value in flags if value for word in (flag, value)]
        return [*given, *(["--read-only"] if self.read_only else [])]
