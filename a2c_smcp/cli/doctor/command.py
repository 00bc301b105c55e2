"""`a2c doctor`: the options and what they are good for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2c_smcp.cli.ca_file import ca_file_option, check_ca_file
from a2c_smcp.cli.errors import fail

if TYPE_CHECKING:
    from a2c_smcp.cli.doctor.examining import Examination

_SERVER = "The Server"
_COMPUTER = "The Computer"
DEFAULT_PORT = 8000


def doctor(
    context: typer.Context,
    port: Annotated[
        int | None,
        typer.Option(envvar="A2C_PORT", min=1, max=65535, help="Port for a Server here.", show_default="8000"),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(envvar="A2C_URL", help="A Server to reach, e.g. http://127.0.0.1:8000", rich_help_panel=_SERVER),
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(help="Key or token for it; better in A2C_API_KEY.", rich_help_panel=_SERVER)
    ] = None,
    api_key_header: Annotated[str, typer.Option(help="HTTP header of the key.", rich_help_panel=_SERVER)] = "x-api-key",
    ca_file: Annotated[Path | None, ca_file_option(_SERVER)] = None,
    office: Annotated[
        str | None,
        typer.Option(envvar="A2C_OFFICE", help="An office to join, for a moment.", rich_help_panel=_SERVER),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="The name to join it under.", show_default="one of its own", rich_help_panel=_SERVER),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", envvar="A2C_COMPUTER_CONFIG", help="MCP servers to look at.", rich_help_panel=_COMPUTER
        ),
    ] = None,
    start: Annotated[
        bool,
        typer.Option("--start/--no-start", help="Start the MCP servers, then stop them.", rich_help_panel=_COMPUTER),
    ] = True,
    start_timeout: Annotated[
        float, typer.Option(help="Seconds an MCP server gets to start.", rich_help_panel=_COMPUTER)
    ] = 60,
    keyring: Annotated[
        bool, typer.Option("--keyring", help="Passwords may be in the system's keyring.", rich_help_panel=_COMPUTER)
    ] = False,
    require_subscribe: Annotated[
        bool,
        typer.Option(
            "--require-subscribe/--no-require-subscribe",
            help="As the Computer will be started.",
            rich_help_panel=_COMPUTER,
        ),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print data for a program.")] = False,
) -> None:
    """Find out what keeps things from working here, and say what to do about it.

        a2c doctor --url https://hub.example.com --office acme --config mcp.json

    It looks at what it is given: this machine always, a Server with --url, a
    Computer's MCP servers with --config. Nothing is changed. With --office it
    joins as a Computer that offers nothing, and leaves again. No secret is
    printed.

    Exit code 1 if anything is wrong; warnings are allowed.
    """
    from a2c_smcp.cli.doctor.case import Case
    from a2c_smcp.cli.doctor.examining import Examination, checks_for
    from a2c_smcp.cli.running import run_until_done
    from a2c_smcp.utils.logger import configure_logging

    if start_timeout <= 0:
        fail("--start-timeout must be more than 0 seconds", 2)
    if office is not None and url is None:
        fail("--office: where is the Server? (--url)", 2)
    check_ca_file(ca_file)
    configure_logging("debug" if context.obj else "critical")  # what went wrong is told as a finding
    case = Case(
        port=port or DEFAULT_PORT,
        is_port_given=port is not None,
        url=url,
        api_key=api_key or os.environ.get("A2C_API_KEY") or None,
        api_key_header=api_key_header,
        ca_file=ca_file,
        office=office,
        name=name,
        config=config,
        keyring=keyring,
        require_subscribe=require_subscribe,
        start=start,
        start_timeout=start_timeout,
    )
    examination = Examination(case, checks_for(case))
    run_until_done(_examine(examination, as_json))


async def _examine(examination: Examination, as_json: bool) -> int:
    from a2c_smcp.cli.doctor.finding import Level
    from a2c_smcp.cli.doctor.views import findings, run_with_progress
    from a2c_smcp.cli.views import print_json, show

    await run_with_progress(examination)
    found = examination.findings
    is_well = not any(finding.level is Level.PROBLEM for finding in found)
    if as_json:
        print_json({"ok": is_well, "findings": [finding.to_json() for finding in found]})
    else:
        show(*findings(found))
    return 0 if is_well else 1
