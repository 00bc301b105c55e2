"""`a2c computer`: the options and what they start."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from a2c_smcp.cli.ca_file import ca_file_option, check_ca_file
from a2c_smcp.cli.errors import check_server_url, fail

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2c_smcp.cli.computer.host import Host

app = typer.Typer(invoke_without_command=True)

Json = Annotated[bool, typer.Option("--json", help="Print data for a program.")]

_OFFICE = "The office"
_TOOLS = "Tools"
_OUTPUT = "Output"


@dataclass(frozen=True)
class Options:
    """What `a2c computer` was asked for."""

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


@app.callback()
def computer(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", envvar="A2C_COMPUTER_CONFIG", help="MCP servers: a file of this project, Claude, Cursor …"
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(envvar="A2C_URL", help="The Server, e.g. http://127.0.0.1:8000", rich_help_panel=_OFFICE),
    ] = None,
    office: Annotated[
        str | None, typer.Option(envvar="A2C_OFFICE", help="The office to join.", rich_help_panel=_OFFICE)
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            envvar="A2C_COMPUTER_NAME",
            help="What this Computer is called there.",
            show_default="this machine's name",
            rich_help_panel=_OFFICE,
        ),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(help="Key or token for the Server; better in A2C_API_KEY.", rich_help_panel=_OFFICE),
    ] = None,
    api_key_header: Annotated[str, typer.Option(help="HTTP header of the key.", rich_help_panel=_OFFICE)] = "x-api-key",
    ca_file: Annotated[Path | None, ca_file_option(_OFFICE)] = None,
    allow_all: Annotated[
        bool,
        typer.Option(
            "--allow-all", help="Run every tool without asking, even without auto_apply.", rich_help_panel=_TOOLS
        ),
    ] = False,
    keyring: Annotated[
        bool, typer.Option("--keyring", help="Remember passwords in the system's keyring.", rich_help_panel=_TOOLS)
    ] = False,
    require_subscribe: Annotated[
        bool,
        typer.Option(
            "--require-subscribe/--no-require-subscribe",
            help="Show windows and documents only of servers that tell of their changes.",
            rich_help_panel=_TOOLS,
        ),
    ] = True,
    start_timeout: Annotated[
        float, typer.Option(help="Seconds an MCP server gets to start.", rich_help_panel=_TOOLS)
    ] = 60,
    no_interactive: Annotated[
        bool, typer.Option("--no-interactive", help="Run as a service: no prompt, logs on standard error.")
    ] = False,
    keep_trying: Annotated[
        bool,
        typer.Option("--keep-trying", help="Go on although the Server refuses the key.", rich_help_panel=_OFFICE),
    ] = False,
    watch_config: Annotated[
        bool, typer.Option("--watch-config", help="Reload the configuration whenever its file changes.")
    ] = False,
    log_level: Annotated[
        str | None,
        typer.Option(
            help="debug, info, warning or error.", show_default="info; warning at the prompt", rich_help_panel=_OUTPUT
        ),
    ] = None,
    log_format: Annotated[str, typer.Option(help="human or json.", rich_help_panel=_OUTPUT)] = "human",
) -> None:
    """Run a Computer: it starts the MCP servers of your configuration and offers their tools to an office.

        a2c computer --config mcp.json --url https://hub.example.com --office acme

    Without a subcommand it opens a prompt (try `help` there), or runs as a
    service with --no-interactive. A tool runs without a question only if the
    configuration says so ("auto_apply": true in its tool_meta) or with
    --allow-all; at the prompt you are asked about any other, a service refuses
    it.
    """
    if context.invoked_subcommand is None and url is None and office is not None:
        fail("--url and --office go together: where is the Server?", 2)
    if context.invoked_subcommand is None and no_interactive and url is not None and office is None:
        fail("--url and --office go together: which office?", 2)
    if url is not None:
        check_server_url(url)
    if watch_config and config is None:
        fail("--watch-config needs a file to watch: add --config FILE", 2)
    check_ca_file(ca_file)
    if start_timeout <= 0:
        fail("--start-timeout must be more than 0 seconds", 2)
    if log_format not in ("human", "json"):
        fail("--log-format is human or json", 2)
    level = (log_level or ("info" if no_interactive else "warning")).lower()
    if level not in ("debug", "info", "warning", "error"):
        fail("--log-level is debug, info, warning or error", 2)
    options = Options(
        config=config,
        url=url,
        office=office,
        name=name or socket.gethostname(),
        api_key=api_key or os.environ.get("A2C_API_KEY"),
        api_key_header=api_key_header,
        ca_file=ca_file,
        allow_all=allow_all,
        keyring=keyring,
        require_subscribe=require_subscribe,
        start_timeout=start_timeout,
        keep_trying=keep_trying,
        watch_config=watch_config,
        log_level=level,
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
    """Start the MCP servers, say how each is, and stop them. Exit code 1 if any is not ready."""
    from a2c_smcp.cli.computer import one_shot

    _run(context.obj, lambda host: one_shot.status(host, as_json))


@app.command()
def tools(context: typer.Context, as_json: Json = False) -> None:
    """Start the MCP servers, list the tools an Agent would see, and stop them."""
    from a2c_smcp.cli.computer import one_shot

    _run(context.obj, lambda host: one_shot.tools(host, as_json))


@app.command()
def call(
    context: typer.Context,
    tool: Annotated[str, typer.Argument(help="The tool's name, as `tools` shows it.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="The parameters.")] = None,
    params: Annotated[str | None, typer.Option(help="All parameters as a JSON object.")] = None,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds.")] = 60,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
) -> None:
    """Start the MCP servers, call one tool, and stop them. Exit code 1 if the tool fails.

    A VALUE is text where the tool wants text, else JSON (count=3, on=true, tags='["a"]'); key:=value is always JSON.
    """
    from a2c_smcp.cli.arguments import read_arguments
    from a2c_smcp.cli.computer import one_shot

    def read(schema: dict[str, Any] | None) -> dict[str, Any]:
        return read_arguments(arguments or [], params, schema)

    _run(context.obj, lambda host: one_shot.call(host, tool, read, timeout, as_json))


def _run(options: Options, main: Callable[[Host], Awaitable[int]]) -> None:
    """Read the configuration, make the Computer, and run until it is done."""
    import logging

    from a2c_smcp.cli.computer.host import Host
    from a2c_smcp.cli.config import load
    from a2c_smcp.cli.running import run_until_done
    from a2c_smcp.utils.logger import configure_logging

    configure_logging(options.log_level, "json" if options.log_format == "json" else "human")
    if options.log_level != "debug":
        for name in ("httpx2", "mcp"):  # a line for each request is of interest to nobody else
            logging.getLogger(name).setLevel(logging.WARNING)
    loaded = load(options.config) if options.config is not None else None
    if loaded is not None:
        for warning in loaded.warnings:
            if options.log_format == "json":
                logging.getLogger(__name__).warning("%s: %s", options.config, warning)
            else:
                typer.echo(f"{options.config}: warning: {warning}", err=True)

    async def run() -> int:
        async with Host(options, loaded) as host:
            return await main(host)

    run_until_done(run())
