"""`a2c doctor`: the options, and the run of all checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2c_smcp.cli.errors import fail
from a2c_smcp.cli.options import (
    OFFICE,
    SERVERS,
    ApiKey,
    ApiKeyHeader,
    CaFile,
    Dialect,
    Json,
    RequireSubscribe,
    StartTimeout,
    check_ca_file,
    check_dialect,
    check_start_timeout,
    key_from,
)
from a2c_smcp.server.setting_definitions import SettingDefinitions

if TYPE_CHECKING:
    from a2c_smcp.cli.doctor.checks import Examination

DEFAULT_PORT = 8000
CLUSTER = "Cluster"


def doctor(
    context: typer.Context,
    port: Annotated[
        int | None,
        typer.Option(
            envvar="A2C_PORT", min=1, max=65535, help="Port for a Server on this machine.", show_default="8000"
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            envvar="A2C_URL", help="Server to check, for example http://127.0.0.1:8000.", rich_help_panel=OFFICE
        ),
    ] = None,
    api_key: ApiKey = None,
    api_key_header: ApiKeyHeader = "x-api-key",
    ca_file: CaFile = None,
    dialect: Dialect = "auto",
    office: Annotated[
        str | None,
        typer.Option(envvar="A2C_OFFICE", help="Office to join for a moment.", rich_help_panel=OFFICE),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name to join the office with.", show_default="a random one", rich_help_panel=OFFICE),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", envvar="A2C_COMPUTER_CONFIG", help="File with MCP servers.", rich_help_panel=SERVERS
        ),
    ] = None,
    start: Annotated[
        bool,
        typer.Option("--start/--no-start", help="Start the MCP servers, then stop them.", rich_help_panel=SERVERS),
    ] = True,
    start_timeout: StartTimeout = 60,
    keyring: Annotated[
        bool, typer.Option("--keyring", help="Look for passwords in the system's keyring.", rich_help_panel=SERVERS)
    ] = False,
    require_subscribe: RequireSubscribe = True,
    redis: Annotated[
        str | None,
        typer.Option(
            envvar="A2C_REDIS",
            help="URL of the Redis of a cluster. Prefer the variable A2C_REDIS: other users can see options.",
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    redis_prefix: Annotated[
        str,
        typer.Option(envvar="A2C_REDIS_PREFIX", help="Prefix of the cluster's keys in Redis.", rich_help_panel=CLUSTER),
    ] = SettingDefinitions.redis_prefix,
    as_json: Json = False,
) -> None:
    """Find problems with this machine, a Server or a configuration, and say how to fix them.

        a2c doctor --url https://hub.example.com --office acme --config mcp.json

    Checks this machine, the Server at --url and its gateway for MCP hosts, the MCP servers of --config, and
    the cluster in --redis. Changes nothing and prints no secrets. With --office, it joins the office as
    a Computer without tools, then leaves.

    Exits with code 1 if there is a problem; warnings are allowed.
    """
    from a2c_smcp.cli.doctor.checks import Examination, checks_for
    from a2c_smcp.cli.doctor.options import Options
    from a2c_smcp.cli.running import run_until_done
    from a2c_smcp.utils.logger import configure_logging

    check_start_timeout(start_timeout)
    if office is not None and url is None:
        fail("--office needs a Server: add --url", 2)
    check_ca_file(ca_file)
    # Silent unless --debug: the parts that the checks use log the same problems that are reported as findings.
    configure_logging("debug" if context.obj else "critical")
    options = Options(
        port=port or DEFAULT_PORT,
        is_port_given=port is not None,
        url=url,
        api_key=key_from(api_key),
        api_key_header=api_key_header,
        ca_file=ca_file,
        dialect=check_dialect(dialect),
        office=office,
        name=name,
        config=config,
        keyring=keyring,
        require_subscribe=require_subscribe,
        start=start,
        start_timeout=start_timeout,
        redis=redis,
        redis_prefix=redis_prefix,
    )
    examination = Examination(options, checks_for(options))
    run_until_done(_examine(examination, as_json))


async def _examine(examination: Examination, as_json: bool) -> int:
    from a2c_smcp.cli.doctor.findings import Level
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
