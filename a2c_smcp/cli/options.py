"""Options that several commands share: their help, and their checks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from a2c_smcp.cli.errors import fail
from a2c_smcp.utils.url import check_url

OFFICE = "Server and office"
SERVERS = "MCP servers"
FILES = "Skills and uploads"
APPROVAL = "Approval"
OUTPUT = "Output"

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
ApiKey = Annotated[
    str | None,
    typer.Option(
        help="API key or token for the Server. Prefer the variable A2C_API_KEY: other users can see options.",
        rich_help_panel=OFFICE,
    ),
]
ApiKeyHeader = Annotated[str, typer.Option(help="HTTP header that carries the key.", rich_help_panel=OFFICE)]
CaFile = Annotated[
    Path | None,
    typer.Option(
        envvar="A2C_CA_FILE",
        help="Trust only the certificate authorities in this PEM file, for a Server with a private one.",
        rich_help_panel=OFFICE,
    ),
]
Dialect = Annotated[
    str,
    typer.Option(
        envvar="A2C_DIALECT",
        help="What the Server is: auto finds out; s is this project's; 0.1 to 0.4 is the version of an official one.",
        rich_help_panel=OFFICE,
    ),
]
AllowAll = Annotated[
    bool,
    typer.Option(
        "--allow-all", help="Run every tool without confirmation, even without auto_apply.", rich_help_panel=SERVERS
    ),
]
RequireSubscribe = Annotated[
    bool,
    typer.Option(
        "--require-subscribe/--no-require-subscribe",
        help="Offer windows and documents only of MCP servers that announce changes.",
        rich_help_panel=SERVERS,
    ),
]
StartTimeout = Annotated[float, typer.Option(help="Seconds that an MCP server has to start.", rich_help_panel=SERVERS)]
Parameters = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Parameters of the tool.", show_default=False)
]
JsonParameters = Annotated[str | None, typer.Option("--params", help="All parameters as one JSON object.")]
LogFormat = Annotated[str, typer.Option(help="human or json, on standard error.", rich_help_panel=OUTPUT)]


def key_from(given: str | None) -> str | None:
    """The API key from the option, or from the environment."""
    return given or os.environ.get("A2C_API_KEY") or None


def check_server_url(url: str) -> None:
    """End the command if this is not the URL of a Server."""
    try:
        check_url(url)
    except ValueError as error:
        fail(f"--url {url}: {error}", 2)


def check_ca_file(file: Path | None) -> None:
    """End the command if the file has no certificates."""
    if file is None:
        return
    from a2c_smcp.utils.trust import trusting

    try:
        trusting(file)
    except OSError as error:
        fail(f"--ca-file {file}: {error.strerror}", 2)
    except ValueError as error:
        fail(f"--ca-file {error}", 2)


def check_dialect(dialect: str) -> str:
    """The dialect; end the command if there is no such dialect."""
    from a2c_smcp.protocol.terms import DIALECT_OPTIONS

    if dialect not in DIALECT_OPTIONS:
        fail(f"--dialect {dialect}: must be {', '.join(DIALECT_OPTIONS[:-1])} or {DIALECT_OPTIONS[-1]}", 2)
    return dialect


def check_start_timeout(seconds: float) -> None:
    """End the command if the time is not positive."""
    if seconds <= 0:
        fail(f"--start-timeout {seconds:g}: must be more than 0 seconds", 2)


def check_log_level(level: str) -> str:
    """The level in lower case; end the command if it is invalid."""
    if level.lower() not in ("debug", "info", "warning", "error"):
        fail(f"--log-level {level}: must be debug, info, warning or error", 2)
    return level.lower()
