"""Options that name an office for an MCP host, which `a2c mcp` and `a2c mcp install` share."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated

import typer

from a2c_smcp.cli.errors import did_you_mean, fail
from a2c_smcp.cli.options import OFFICE, ApiKey, CaFile, check_ca_file, check_server_url, key_from

SHOWN = "What the host sees"
DEFAULT_URL = "http://127.0.0.1:8000"
DEFAULT_HEADER = "x-api-key"


@dataclass(frozen=True)
class Target:
    """An office, the key for it, and the part of it that a host sees. What was not given is empty."""

    url: Annotated[
        str | None,
        typer.Option(envvar="A2C_URL", help="URL of the Server.", show_default=DEFAULT_URL, rich_help_panel=OFFICE),
    ] = None
    office: Annotated[str | None, typer.Option(envvar="A2C_OFFICE", help="Office to use.", rich_help_panel=OFFICE)] = (
        None
    )
    api_key: ApiKey = field(default=None, repr=False)
    api_key_header: Annotated[
        str | None,
        typer.Option(help="HTTP header that carries the key.", show_default=DEFAULT_HEADER, rich_help_panel=OFFICE),
    ] = None
    ca_file: CaFile = None
    profile: Annotated[
        str | None, typer.Option(help="Profile in the settings of the Server.", rich_help_panel=SHOWN)
    ] = None
    mode: Annotated[
        str | None,
        typer.Option(
            help="How tools are listed: auto, merged, search or direct.", show_default="auto", rich_help_panel=SHOWN
        ),
    ] = None
    computers: Annotated[
        list[str] | None,
        typer.Option(
            "--computer", help="Only this Computer. Can be repeated.", show_default="all", rich_help_panel=SHOWN
        ),
    ] = None
    servers: Annotated[
        list[str] | None,
        typer.Option(
            "--server", help="Only this MCP server. Can be repeated.", show_default="all", rich_help_panel=SHOWN
        ),
    ] = None
    tags: Annotated[
        list[str] | None,
        typer.Option(
            "--tag", help="Only tools with this tag. Can be repeated.", show_default="all", rich_help_panel=SHOWN
        ),
    ] = None
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only tools that change nothing.", rich_help_panel=SHOWN)
    ] = False

    def or_else(self, other: Target) -> Target:
        """These options, and those of another where they were not given."""
        return Target(**{each.name: getattr(self, each.name) or getattr(other, each.name) for each in fields(self)})

    def checked(self) -> Target:
        """The options with their defaults; ends the command if one is invalid."""
        from a2c_smcp.gateway.profile import MODES

        server, has_path, path = (self.url or "").partition("/mcp/")
        if has_path:
            office = path.partition("/")[0] or self.office or "NAME"
            fail(f"--url {self.url}: this is for hosts that take a URL; here, --url {server} --office {office}", 2)
        if not self.office:
            fail("no office: set --office NAME or A2C_OFFICE", 2)
        check_server_url(self.url or DEFAULT_URL)
        check_ca_file(self.ca_file)
        if self.mode is not None and self.mode not in MODES:
            fail(
                f"--mode {self.mode}: must be {', '.join(MODES[:-1])} or {MODES[-1]}{did_you_mean(self.mode, MODES)}", 2
            )
        return self.or_else(Target(url=DEFAULT_URL, api_key=key_from(None), api_key_header=DEFAULT_HEADER))

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
            *(("--computer", name) for name in self.computers or ()),
            *(("--server", name) for name in self.servers or ()),
            *(("--tag", name) for name in self.tags or ()),
            ("--ca-file", str(self.ca_file.absolute()) if self.ca_file is not None else None),
            ("--api-key-header", self.api_key_header if self.api_key_header != DEFAULT_HEADER else None),
        ]
        given = [word for flag, value in flags if value for word in (flag, value)]
        return [*given, *(["--read-only"] if self.read_only else [])]
