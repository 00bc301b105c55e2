"""`a2c agent`: the options and what they start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2c_smcp.cli.ca_file import ca_file_option, check_ca_file
from a2c_smcp.cli.errors import check_server_url, fail
from a2c_smcp.lazy import import_soon

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2c_smcp.cli.agent.output import Output
    from a2c_smcp.cli.agent.visit import Visit

app = typer.Typer(invoke_without_command=True)

_OFFICE = "The office"
_OUTPUT = "Output"

Json = Annotated[bool, typer.Option("--json", help="Print data for a program.")]
Computer = Annotated[str | None, typer.Option("--computer", "-c", help="Only this Computer.", show_default="all")]
OutputFile = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write it to FILE, which is replaced; into FILE if that is a folder; - is standard output.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Options:
    """What `a2c agent` was asked for."""

    url: str
    office: str
    name: str
    api_key: str | None
    api_key_header: str
    ca_file: Path | None
    timeout: float
    wait: float
    log_level: str | None


@app.callback()
def agent(
    context: typer.Context,
    url: Annotated[
        str, typer.Option(envvar="A2C_URL", help="The Server.", rich_help_panel=_OFFICE)
    ] = "http://127.0.0.1:8000",
    office: Annotated[
        str | None, typer.Option(envvar="A2C_OFFICE", help="The office to join.", rich_help_panel=_OFFICE)
    ] = None,
    name: Annotated[
        str, typer.Option(envvar="A2C_AGENT_NAME", help="What this Agent is called there.", rich_help_panel=_OFFICE)
    ] = "a2c-agent",
    api_key: Annotated[
        str | None,
        typer.Option(help="Key or token for the Server; better in A2C_API_KEY.", rich_help_panel=_OFFICE),
    ] = None,
    api_key_header: Annotated[str, typer.Option(help="HTTP header of the key.", rich_help_panel=_OFFICE)] = "x-api-key",
    ca_file: Annotated[Path | None, ca_file_option(_OFFICE)] = None,
    timeout: Annotated[
        float,
        typer.Option(
            "--answer-timeout",
            min=0.1,
            help="Seconds that a Computer gets to answer; the time of a tool is `call --timeout`. "
            "The old name --timeout still works here.",
        ),
    ] = 20,
    wait: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Wait so long for the Computer and the tool that the command names, or for any Computer.",
        ),
    ] = 0,
    old_timeout: Annotated[float | None, typer.Option("--timeout", min=0.1, hidden=True)] = None,
    log_level: Annotated[
        str | None,
        typer.Option(
            help="debug, info, warning or error.",
            show_default="error; at the prompt warning",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
) -> None:
    """Be an Agent: see what the Computers of an office offer, and use it.

        a2c agent --url https://hub.example.com --office acme tools

    The options below come before the subcommand. Without one it opens a prompt
    (try `help` there). An office has one Agent: while this one is in, another
    is refused.

    Exit codes: 0 done; 1 failed or refused; 2 typed wrong; 3 the Server cannot
    be reached, or the office not be joined; 4 no such Computer, tool or
    document; 5 timed out; 130 interrupted.
    """
    context.obj = Options(
        url=url,
        office=office or "",
        name=name,
        api_key=api_key or os.environ.get("A2C_API_KEY"),
        api_key_header=api_key_header,
        ca_file=ca_file,
        timeout=timeout if old_timeout is None else old_timeout,
        wait=wait,
        log_level=log_level.lower() if log_level is not None else None,
    )
    if context.invoked_subcommand is None:
        from a2c_smcp.cli.agent.shell import converse

        _run(context.obj, converse, "warning")


@app.command()
def computers(context: typer.Context, as_json: Json = False) -> None:
    """Who is in the office, and how many tools each Computer has."""
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda visit: one_shot.computers(visit, as_json))


@app.command()
def tools(
    context: typer.Context,
    computer: Annotated[str | None, typer.Argument(help="Only of this Computer.")] = None,
    tool: Annotated[str | None, typer.Argument(help="Show this tool of it, with its parameters.")] = None,
    as_json: Json = False,
) -> None:
    """The tools of all Computers, or of one; or one tool with its parameters.

    With --json a tool has the schemas of its parameters and its result as its MCP server gives them.
    """
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda visit: one_shot.tools(visit, computer, tool, as_json), computer=computer, tool=tool)


@app.command()
def call(
    context: typer.Context,
    computer: Annotated[str, typer.Argument(help="Where the tool is.")],
    tool: Annotated[str, typer.Argument(help="The tool's name, as `tools` shows it.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="The parameters.")] = None,
    params: Annotated[str | None, typer.Option(help="All parameters as a JSON object.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds that the tool gets to finish.")] = 60,
    output: OutputFile = None,
    as_json: Json = False,
) -> None:
    """Call a tool. Exit code 1 if the tool fails.

    A VALUE is text where the tool wants text, else JSON (count=3, on=true, tags='["a"]'); key:=value is always JSON.

    With --output the pictures, recordings and files of the result are written, and its text is printed; a result
    without files is written as text. Of several files the second is FILE-2, and so on. Of a tool that fails nothing is
    written.
    """
    from a2c_smcp.cli.agent import one_shot

    to = _output(output)
    _run(
        context.obj,
        lambda visit: one_shot.call(visit, computer, tool, arguments or [], params, timeout, to, as_json),
        computer=computer,
        tool=tool,
    )


@app.command()
def desktop(
    context: typer.Context,
    computer: Computer = None,
    size: Annotated[int | None, typer.Option(help="At most this many windows of each Computer.")] = None,
    window: Annotated[
        str | None, typer.Option(help="Only the window at this window:// address; its query may be left out.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What the windows of the Computers show."""
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda visit: one_shot.desktop(visit, computer, size, window, as_json), computer=computer)


@app.command()
def finder(
    context: typer.Context,
    keywords: Annotated[list[str] | None, typer.Argument(metavar="KEYWORD", help="Any of these.")] = None,
    file_type: Annotated[str | None, typer.Option("--type", help="Only this type, such as pdf.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them, not only the first 20.")] = False,
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """The documents that match."""
    from a2c_smcp.cli.agent import one_shot

    _run(
        context.obj,
        lambda visit: one_shot.finder(visit, computer, keywords, file_type, everything, as_json),
        computer=computer,
    )


@app.command()
def read(
    context: typer.Context,
    called: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS", help="A dpe:// or window:// address, or that of any other resource; or a unique title."
        ),
    ],
    markdown: Annotated[bool, typer.Option("--markdown", help="As markdown text, not rendered.")] = False,
    output: OutputFile = None,
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """A document, a page, an element, a window or any other resource.

    a2c agent read "Sales 2026"

    A document also goes by its file's name, a window by its first line or by its address without the query.
    """
    from a2c_smcp.cli.agent import one_shot

    to = _output(output)
    _run(context.obj, lambda visit: one_shot.read(visit, computer, called, markdown, to, as_json), computer=computer)


@app.command()
def tree(
    context: typer.Context,
    called: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The dpe:// address of a document, or its unique title.")
    ],
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """A document as a tree: its pages and their elements."""
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda visit: one_shot.tree(visit, computer, called, as_json), computer=computer)


@app.command()
def templates(
    context: typer.Context,
    mcp_server: Annotated[str | None, typer.Option(help="Only this MCP server.", show_default="all")] = None,
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """The resource templates of the Computers' MCP servers: which addresses can be read."""
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda visit: one_shot.templates(visit, computer, mcp_server, as_json), computer=computer)


@app.command()
def complete(
    context: typer.Context,
    start: Annotated[str, typer.Argument(help="The beginning of a dpe:// address.")],
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """Addresses that begin with START: documents, then their pages and elements.

    One address on each line; for example `complete dpe://docs.example/report/pages/`.
    """
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda visit: one_shot.complete(visit, computer, start, as_json), computer=computer)


@app.command()
def config(
    context: typer.Context,
    computer: Annotated[str, typer.Argument(help="Whose configuration.")],
    as_json: Json = True,
) -> None:
    """A Computer's configuration as JSON, without its secrets."""
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda visit: one_shot.config(visit, computer), computer=computer)


@app.command()
def watch(
    context: typer.Context,
    count: Annotated[int | None, typer.Option(min=1, help="End after this many changes.")] = None,
    as_json: Json = False,
) -> None:
    """What changes in the office, as it comes; until Ctrl-C.

    Names the tools, windows, documents, MCP servers and Computers that were added, removed or changed. With --json it
    prints an object for every notice, with what is different in `changes`.
    """
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda visit: one_shot.watch(visit, count, as_json))


def _output(target: str | None) -> Output | None:
    """Where to write; a place where nothing can be written ends the command before it begins."""
    from a2c_smcp.cli.agent.output import Output

    try:
        return Output(target) if target is not None else None
    except OSError as error:
        fail(f"--output {target}: {error}", 2)


def _run(
    options: Options,
    main: Callable[[Visit], Awaitable[int]],
    log_level: str = "error",
    *,
    computer: str | None = None,
    tool: str | None = None,
) -> None:
    """Join the office, do something there, and leave. `computer` and `tool` are what --wait waits for."""
    from a2c_smcp.utils import light_socketio as _  # noqa: F401  # it would wait for aiohttp

    import_soon("aiohttp")  # a quarter of what such a command takes
    from a2c_smcp.cli.agent.visit import visiting
    from a2c_smcp.cli.running import run_until_done
    from a2c_smcp.utils.logger import configure_logging

    if not options.office:
        fail("which office? --office NAME, or A2C_OFFICE", 2)
    check_server_url(options.url)
    check_ca_file(options.ca_file)
    log_level = options.log_level or log_level
    if log_level not in ("debug", "info", "warning", "error"):
        fail("--log-level is debug, info, warning or error", 2)
    configure_logging(log_level, "human")
    run_until_done(visiting(options, main, computer, tool))
