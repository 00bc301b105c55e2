"""`a2c config`: checks a configuration of MCP servers, or imports one from another host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from a2c_smcp.cli.errors import fail

if TYPE_CHECKING:
    from a2c_smcp.computer.config.files import LoadedConfig, Problem

app = typer.Typer(
    help="Check a configuration of MCP servers, or import one from another MCP host.", no_args_is_help=True
)

_JSON = typer.Option("--json", help="Print JSON instead of text.")


def load(path: Path, *, expand: bool = True, adopt: bool = False) -> LoadedConfig:
    """Load a configuration, or end the command with one line per mistake."""
    from a2c_smcp.computer.config.files import ConfigError, load_config

    try:
        return load_config(path, expand=expand, adopt=adopt)
    except ConfigError as error:
        for problem in error.problems:
            typer.echo(f"{path}: {problem}", err=True)
        for warning in error.warnings:
            typer.echo(f"{path}: warning: {warning}", err=True)
        count = len(error.problems)
        fail(f"{path} has {count} mistake{'s' if count != 1 else ''}", 2)
    except OSError as error:
        fail(f"cannot read {path}: {error.strerror or error}", 2)


@app.command()
def check(
    file: Annotated[
        Path,
        typer.Argument(help="File with MCP servers, ours or of another host; or settings of `a2c server` (.toml)."),
    ],
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Check a configuration without starting anything: prints one line per mistake, with its position.

    Exits with code 2 if there are mistakes.
    """
    if file.suffix == ".toml":
        _check_settings(file, as_json)
        return

    from a2c_smcp.computer.config.files import ConfigError, LoadedConfig, load_config

    problems: list[Problem] = []
    config = LoadedConfig()
    try:
        config = load_config(file)
    except ConfigError as error:
        problems = error.problems
        config.warnings = error.warnings
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror or error}", 2)
    details: dict[str, Any] = {
        "warnings": [vars(warning) for warning in config.warnings],
        "servers": [{"name": s.name, "type": s.type, "disabled": s.disabled} for s in config.servers],
        "inputs": [wanted.id for wanted in config.inputs],
    }
    if not as_json:
        for warning in config.warnings:
            typer.echo(f"{file}: warning: {warning}", err=True)
    names = ", ".join(f"{s.name} ({s.type}{', disabled' if s.disabled else ''})" for s in config.servers)
    fine = f"valid. Servers: {names or 'none'}. Inputs: {len(config.inputs)}."
    _report(file, problems, fine, details if as_json else None)


def _check_settings(file: Path, as_json: bool) -> None:
    """Check a file of settings for `a2c server`."""
    import tomllib

    from a2c_smcp.server.setting_problems import problems_of
    from a2c_smcp.server.settings import ServerSettings

    problems: list[Problem] = []
    try:
        settings = ServerSettings(**tomllib.loads(file.read_text("utf-8")))
        # A file of profiles that the settings name is a file of its own.
        if isinstance(settings.mcp_profiles, dict):
            from a2c_smcp.cli.mcp.profiles import problems_in_profiles

            problems = [problem for _, problem in problems_in_profiles(settings, file)]
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror or error}", 2)
    except ValueError as error:
        # Environment variables are settings too, and may have mistakes. Without a line, a mistake is not in the file.
        problems = [problem for problem in problems_of(error, {}, file) if problem.line is not None]
    _report(file, problems, "valid.", {} if as_json else None)


def _report(file: Path, problems: list[Problem], fine: str, details: dict[str, Any] | None) -> None:
    """Print the problems, as JSON if `details` are given, and end with the exit code."""
    if details is not None:
        report = {"ok": not problems, "problems": [vars(problem) for problem in problems], **details}
        typer.echo(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        for problem in problems:
            typer.echo(f"{file}: {problem}", err=True)
        if not problems:
            typer.echo(f"{file}: {fine}")
    if problems:
        raise typer.Exit(2)


@app.command("import")
def import_(
    host: Annotated[str, typer.Argument(help="claude, cursor, vscode, windsurf, zed or cline.", metavar="HOST")],
    file: Annotated[Path | None, typer.Argument(help="File to import, if it is not in the usual place.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write or to add to; its own servers are kept.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the new file.")] = False,
) -> None:
    """Import the MCP servers of Claude, Cursor, VS Code, Windsurf, Zed or Cline.

    Without --output, prints what would be written. A secret in plain text becomes an input: the Computer asks for it,
    or reads it from the environment. Tools that the other host runs without confirmation (autoApprove, alwaysAllow)
    get auto_apply. Settings without a counterpart are reported. An existing file keeps its contents; a file with
    comments is rejected, because they would be lost.
    """
    from a2c_smcp.computer.config.importing import HOSTS, candidates, convert, merge

    if host not in HOSTS:
        fail(f"{host}: unknown host; choose one of {', '.join(HOSTS)}", 2)
    places = [file] if file is not None else candidates(host)
    source = next((place for place in places if place.is_file()), None)
    if source is None:
        fail("no such file: " + ", ".join(map(str, places)), 2)
    # Variables stay as they are written: their values may be secrets, and belong to the environment of each run.
    loaded = load(source, expand=False, adopt=True)
    if output is not None and output.exists():
        target = load(output, expand=False)  # ends the command if the file has mistakes
        imported = convert(source, loaded, target)
        data = merge(_read_plain(output), imported.data)
    else:
        imported = convert(source, loaded)
        data = imported.data
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if not as_json:
        typer.echo(f"found {source}: {', '.join(server.name for server in loaded.servers) or 'no servers'}", err=True)
        for other in (place for place in places if place != source and place.is_file()):
            typer.echo(f"not imported: {other}", err=True)
        for warning in imported.warnings:
            typer.echo(f"warning: {warning}", err=True)
        for server, allowed in imported.allowed.items():
            names = "every tool" if "*" in allowed else ", ".join(allowed)
            typer.echo(f"allowed: {names} of {server}, without confirmation, for any Agent", err=True)
        for input_id in imported.secrets:
            name = "A2C_SMCP_" + input_id.upper().replace("-", "_")
            typer.echo(f"secret: became the input {input_id}; the Computer asks for it, or reads {name}", err=True)
        for old, new in imported.renamed.items():
            typer.echo(f"renamed: the input {old} became {new}; {output} has a different input {old}", err=True)
        for input_id in imported.shared:
            typer.echo(f"shared: the input {input_id} is already in {output} with the same definition", err=True)
        for name in imported.kept:
            typer.echo(f"kept: {name} is already in {output} and was not changed", err=True)
    if output is None:
        if not as_json:
            typer.echo("contents of the new file (write it with --output FILE):", err=True)
        typer.echo(text, nl=False)
        return
    try:
        output.write_bytes(text.encode("utf-8"))  # not `write_text`, which writes other line ends on Windows
    except OSError as error:
        fail(f"cannot write {output}: {error.strerror or error}", 2)
    typer.echo(f"wrote {output}", err=True)


def _read_plain(path: Path) -> dict[str, Any]:
    """The contents of a file that is written again; a file with comments is rejected, because they would be lost."""
    from a2c_smcp.utils import jsonc

    text = path.read_text("utf-8-sig")
    if jsonc.has_comments(text):
        fail(f"{path} has comments, which would be lost; remove them, or choose another file with --output", 2)
    return jsonc.parse(text)[0]
