"""`a2c computer`: the options and subcommands."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from a2c_smcp.cli.computer.owner import approvals, calls, rules, servers
from a2c_smcp.cli.errors import fail
from a2c_smcp.cli.options import (
    APPROVAL,
    FILES,
    OFFICE,
    OUTPUT,
    SERVERS,
    AllowAll,
    ApiKey,
    ApiKeyHeader,
    CaFile,
    Dialect,
    Json,
    JsonParameters,
    LogFormat,
    Parameters,
    RequireSubscribe,
    StartTimeout,
    check_ca_file,
    check_dialect,
    check_log_level,
    check_server_url,
    check_start_timeout,
    key_from,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2c_smcp.cli.computer.host import Host

app = typer.Typer(invoke_without_command=True)
for each, group in {"approvals": approvals.app, "servers": servers.app, "rules": rules.app}.items():
    app.add_typer(group, name=each)
app.command("calls")(calls.calls)

LEAST_TOKEN = 16
"""Characters of a token."""


@dataclass(frozen=True)
class Options:
    """The options of `a2c computer`."""

    config: Path | None
    url: str | None
    office: str | None
    name: str
    api_key: str | None
    api_key_header: str
    allow_all: bool
    keyring: bool
    require_subscribe: bool
    start_timeout: float
    keep_trying: bool
    watch_config: bool
    log_level: str
    log_format: str
    ca_file: Path | None = None
    skills: Path | None = None
    landing: Path | None = None
    dialect: str = "auto"
    ask_command: str | None = None
    wait_for_approval: bool = False
    owner_port: int | None = None
    owner_token: str | None = None
    on_owner_url: Callable[[str], None] | None = None
    """Called with an address for a login to the owner's page, and with another one after each login."""
    console_url: str | None = None
    """The console of the Server, if it belongs to the same person."""


@app.callback()
def computer(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            envvar="A2C_COMPUTER_CONFIG",
            help="File with MCP servers, also of Claude, Cursor …",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            envvar="A2C_URL", help="URL of the Server, for example http://127.0.0.1:8000.", rich_help_panel=OFFICE
        ),
    ] = None,
    office: Annotated[
        str | None, typer.Option(envvar="A2C_OFFICE", help="Office to join.", rich_help_panel=OFFICE)
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            envvar="A2C_COMPUTER_NAME",
            help="Name of this Computer in the office.",
            show_default="host name",
            rich_help_panel=OFFICE,
        ),
    ] = None,
    api_key: ApiKey = None,
    api_key_header: ApiKeyHeader = "x-api-key",
    ca_file: CaFile = None,
    dialect: Dialect = "auto",
    allow_all: AllowAll = False,
    ask_command: Annotated[
        str | None,
        typer.Option(
            envvar="A2C_ASK_COMMAND",
            metavar="COMMAND",
            help="Ask this program about calls that need approval: JSON on its standard input, the decision as its "
            "exit code (0 allow, 1 deny, 2 no decision, 10 allow for an hour).",
            rich_help_panel=APPROVAL,
        ),
    ] = None,
    wait_for_approval: Annotated[
        bool,
        typer.Option(
            "--wait-for-approval",
            envvar="A2C_WAIT_FOR_APPROVAL",
            help="Let calls that need approval wait for `a2c computer approvals`, also while nobody follows it.",
            rich_help_panel=APPROVAL,
        ),
    ] = False,
    owner_port: Annotated[
        int | None,
        typer.Option(
            envvar="A2C_OWNER_PORT",
            min=0,
            max=65535,
            help="Serve the owner's API on this port of 127.0.0.1, too, with the token A2C_OWNER_TOKEN; 0 takes a free "
            "port.",
            show_default="only a Unix socket",
            rich_help_panel=APPROVAL,
        ),
    ] = None,
    keyring: Annotated[
        bool, typer.Option("--keyring", help="Remember passwords in the system's keyring.", rich_help_panel=SERVERS)
    ] = False,
    require_subscribe: RequireSubscribe = True,
    skills: Annotated[
        Path | None,
        typer.Option(
            envvar="A2C_COMPUTER_SKILLS",
            metavar="FOLDER",
            help="Offer the skills in this folder: NAME/SKILL.md.",
            rich_help_panel=FILES,
        ),
    ] = None,
    landing: Annotated[
        Path | None,
        typer.Option(
            envvar="A2C_COMPUTER_LANDING",
            metavar="FOLDER",
            help="Let Agents upload files into this folder.",
            show_default="no uploads",
            rich_help_panel=FILES,
        ),
    ] = None,
    start_timeout: StartTimeout = 60,
    no_interactive: Annotated[
        bool, typer.Option("--no-interactive", help="Run as a service: no prompt, log to standard error.")
    ] = False,
    keep_trying: Annotated[
        bool,
        typer.Option("--keep-trying", help="Keep running when the Server rejects the key.", rich_help_panel=OFFICE),
    ] = False,
    watch_config: Annotated[
        bool, typer.Option("--watch-config", help="Reload the configuration when its file changes.")
    ] = False,
    log_level: Annotated[
        str | None,
        typer.Option(
            help="debug, info, warning or error.", show_default="info; warning at the prompt", rich_help_panel=OUTPUT
        ),
    ] = None,
    log_format: LogFormat = "human",
) -> None:
    """Run a Computer: start the MCP servers of a configuration and offer them to an office.

        a2c computer --config mcp.json --url https://hub.example.com --office acme

    Without a subcommand, a prompt opens (type `help` there), or a service runs
    with --no-interactive. A tool with "auto_apply": true in its tool_meta runs
    without confirmation. The prompt asks you to confirm calls of other tools,
    and `a2c computer approvals` in another terminal can answer, too; a service
    rejects them unless somebody can answer, or --allow-all is set.
    """
    # Subcommands do not connect. They must work in a shell where the environment has only A2C_URL or A2C_OFFICE.
    if context.invoked_subcommand is None and url is None and office is not None:
        fail("--url and --office go together: add --url", 2)
    if context.invoked_subcommand is None and no_interactive and url is not None and office is None:
        fail("--url and --office go together: add --office", 2)
    if url is not None:
        check_server_url(url)
    if watch_config and config is None:
        fail("--watch-config needs a file to watch: add --config FILE", 2)
    check_ca_file(ca_file)
    for option, folder in (("--skills", skills), ("--landing", landing)):
        if folder is not None and not folder.is_dir():
            fail(f"{option} {folder}: no such folder", 2)
    if owner_port is not None:
        _check_owner_token()
    if ask_command is not None:
        _check_command(ask_command)
    check_start_timeout(start_timeout)
    if log_format not in ("human", "json"):
        fail(f"--log-format {log_format}: must be human or json", 2)
    options = Options(
        config=config,
        url=url,
        office=office,
        name=name or socket.gethostname(),
        api_key=key_from(api_key),
        api_key_header=api_key_header,
        ca_file=ca_file,
        skills=skills,
        landing=landing,
        dialect=check_dialect(dialect),
        allow_all=allow_all,
        ask_command=ask_command,
        wait_for_approval=wait_for_approval,
        owner_port=owner_port,
        owner_token=os.environ.get("A2C_OWNER_TOKEN") or None,
        keyring=keyring,
        require_subscribe=require_subscribe,
        start_timeout=start_timeout,
        keep_trying=keep_trying,
        watch_config=watch_config,
        log_level=check_log_level(log_level or ("info" if no_interactive else "warning")),
        log_format=log_format,
    )
    context.obj = options
    if context.invoked_subcommand is not None:
        return
    if no_interactive:
        from a2c_smcp.cli.computer.service import serve

        _run(options, serve)
    else:
        from a2c_smcp.cli.computer.shell import converse

        _run(options, converse)


@app.command()
def status(context: typer.Context, as_json: Json = False) -> None:
    """Start the MCP servers, show the status of each, and stop them. Exits with code 1 if any is not ready."""
    from a2c_smcp.cli.computer import one_shot

    _run(context.obj, lambda host: one_shot.status(host, as_json))


@app.command()
def tools(context: typer.Context, as_json: Json = False) -> None:
    """Start the MCP servers, list the tools that an Agent would see, and stop them."""
    from a2c_smcp.cli.computer import one_shot

    _run(context.obj, lambda host: one_shot.tools(host, as_json))


@app.command()
def call(
    context: typer.Context,
    tool: Annotated[str, typer.Argument(help="Name of the tool, as `tools` lists it.")],
    arguments: Parameters = None,
    params: JsonParameters = None,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds that the tool has to finish.")] = 60,
    as_json: Json = False,
) -> None:
    """Start the MCP servers, call one tool, and stop them. Exits with code 1 if the tool fails.

    A VALUE is text if the tool's schema says so, otherwise JSON (count=3, on=true, tags='["a"]'); KEY:=VALUE is always
    JSON.
    """
    from a2c_smcp.cli.arguments import read_arguments
    from a2c_smcp.cli.computer import one_shot

    def read(schema: dict[str, Any] | None) -> dict[str, Any]:
        return read_arguments(arguments or [], params, schema)

    _run(context.obj, lambda host: one_shot.call(host, tool, read, timeout, as_json))


@app.command()
def login(
    context: typer.Context,
    server: Annotated[
        str | None, typer.Argument(help="Name of the MCP server in the configuration, or its URL.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the stored logins instead.")] = False,
    as_json: Json = False,
) -> None:
    """Log in to a remote MCP server, with a browser where the server asks for it.

    The login is stored for this user. Computers that are running notice it and connect.
    """
    from a2c_smcp.cli.computer import logins

    if list_all:
        logins.show_stored(as_json)
    elif server is None:
        fail("name the MCP server, or add --list", 2)
    else:
        _run(context.obj, lambda host: logins.log_in(host, server, as_json), only=server)


@app.command()
def logout(
    context: typer.Context,
    server: Annotated[str, typer.Argument(help="Name of the MCP server in the configuration, or its URL.")],
) -> None:
    """Forget the login at a remote MCP server, and revoke it where the server supports that."""
    from a2c_smcp.cli.computer import logins

    _run(context.obj, lambda host: logins.log_out(host, server), only=server)


def _check_command(command: str) -> None:
    """End the command if --ask-command is not a command."""
    from a2c_smcp.utils.system.terminals import split_words

    try:
        words = split_words(command)
    except ValueError as error:
        fail(f"--ask-command {command}: {error}", 2)
    if not words:
        fail("--ask-command: a command is expected", 2)


def _check_owner_token() -> None:
    """End the command if the owner's token can be guessed."""
    token = os.environ.get("A2C_OWNER_TOKEN", "")
    if len(token) < LEAST_TOKEN:
        fail(f"--owner-port needs the variable A2C_OWNER_TOKEN, with at least {LEAST_TOKEN} characters", 2)


def _run(options: Options, main: Callable[[Host], Awaitable[int]], only: str | None = None) -> None:
    """Read the configuration, create the Computer, with all MCP servers or only one, and run `main` with it."""
    import logging

    from a2c_smcp.cli.computer.host import Host
    from a2c_smcp.cli.config import load
    from a2c_smcp.cli.running import run_until_done
    from a2c_smcp.utils.logger import configure_logging

    configure_logging(options.log_level, "json" if options.log_format == "json" else "human")
    if options.log_level != "debug":
        for name in ("httpx2", "mcp"):  # they log every request
            logging.getLogger(name).setLevel(logging.WARNING)
    loaded = load(options.config) if options.config is not None else None
    if loaded is not None:
        for warning in loaded.warnings:
            if options.log_format == "json":  # a program parses every line of standard error
                logging.getLogger(__name__).warning("%s: %s", options.config, warning)
            else:
                typer.echo(f"{options.config}: warning: {warning}", err=True)

    if only is not None:
        from a2c_smcp.cli.computer.logins import only_server

        loaded = only_server(loaded, only)

    async def run() -> int:
        async with Host(options, loaded) as host:
            return await main(host)

    run_until_done(run())
