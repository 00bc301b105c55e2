"""`a2c agent`: the options and subcommands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2c_smcp.cli.errors import fail
from a2c_smcp.cli.options import (
    OFFICE,
    OUTPUT,
    ApiKey,
    ApiKeyHeader,
    CaFile,
    Dialect,
    Json,
    JsonParameters,
    Parameters,
    check_ca_file,
    check_dialect,
    check_log_level,
    check_server_url,
    key_from,
)
from a2c_smcp.lazy import import_soon

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2c_smcp.cli.agent.output import Output
    from a2c_smcp.cli.agent.session import Session

app = typer.Typer(invoke_without_command=True)

Computer = Annotated[str | None, typer.Option("--computer", "-c", help="Only this Computer.", show_default="all")]
McpServer = Annotated[
    str | None, typer.Option("--mcp-server", "--server", help="Only this MCP server.", show_default="all")
]
OutputFile = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write to this file, replacing it, or into this folder; - is standard output.",
        show_default=False,
    ),
]
SaveTo = Annotated[
    Path | None,
    typer.Option(
        "--save-to",
        metavar="DIR",
        help="Write images, audio and files into this folder as they arrive, however large they are.",
        show_default=False,
        file_okay=False,
    ),
]


@dataclass(frozen=True)
class Options:
    """The options of `a2c agent`."""

    url: str
    office: str
    name: str
    api_key: str | None
    api_key_header: str
    ca_file: Path | None
    timeout: float
    wait: float
    log_level: str | None
    dialect: str = "auto"


@app.callback()
def agent(
    context: typer.Context,
    url: Annotated[
        str, typer.Option(envvar="A2C_URL", help="URL of the Server.", rich_help_panel=OFFICE)
    ] = "http://127.0.0.1:8000",
    office: Annotated[
        str | None, typer.Option(envvar="A2C_OFFICE", help="Office to join.", rich_help_panel=OFFICE)
    ] = None,
    name: Annotated[
        str, typer.Option(envvar="A2C_AGENT_NAME", help="Name of this Agent in the office.", rich_help_panel=OFFICE)
    ] = "a2c-agent",
    api_key: ApiKey = None,
    api_key_header: ApiKeyHeader = "x-api-key",
    ca_file: CaFile = None,
    dialect: Dialect = "auto",
    timeout: Annotated[
        float,
        typer.Option(
            "--answer-timeout",
            min=0.1,
            help="Seconds to wait for an answer from a Computer; for tool calls, see `call --timeout`.",
        ),
    ] = 20,
    wait: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Wait this long for the Computer and tool that the command names, or for any Computer.",
        ),
    ] = 0,
    # An alias of --answer-timeout. It is hidden, because `call --timeout` is another time limit.
    old_timeout: Annotated[float | None, typer.Option("--timeout", min=0.1, hidden=True)] = None,
    log_level: Annotated[
        str | None,
        typer.Option(
            help="debug, info, warning or error.",
            show_default="error; warning at the prompt",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Act as an Agent: list and use what the Computers of an office offer.

        a2c agent --url https://hub.example.com --office acme tools

    Put the options below before the subcommand. Without a subcommand, a prompt
    opens; type `help` there. An office admits one Agent at a time.

    Exit codes: 0 success; 1 failed or rejected; 2 invalid usage; 3 cannot
    connect to the Server or join the office; 4 no such Computer, tool or
    document; 5 timed out; 130 interrupted.
    """
    context.obj = Options(
        url=url,
        office=office or "",
        name=name,
        api_key=key_from(api_key),
        api_key_header=api_key_header,
        ca_file=ca_file,
        dialect=check_dialect(dialect),
        timeout=timeout if old_timeout is None else old_timeout,
        wait=wait,
        log_level=check_log_level(log_level) if log_level is not None else None,
    )
    if context.invoked_subcommand is None:
        from a2c_smcp.cli.agent.shell import converse

        _run(context.obj, converse, "warning")


@app.command()
def computers(context: typer.Context, as_json: Json = False) -> None:
    """List the Computers in the office and how many tools each has."""
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda session: one_shot.computers(session, as_json))


@app.command()
def tools(
    context: typer.Context,
    computer: Annotated[str | None, typer.Argument(help="Only this Computer.")] = None,
    tool: Annotated[str | None, typer.Argument(help="Show this tool and its parameters.")] = None,
    as_json: Json = False,
) -> None:
    """List the tools of all Computers or of one, or show one tool with its parameters.

    With --json, each tool includes the schemas of its parameters and result as its MCP server declares them.
    """
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda session: one_shot.tools(session, computer, tool, as_json), computer=computer, tool=tool)


@app.command()
def call(
    context: typer.Context,
    computer: Annotated[str, typer.Argument(help="Computer that has the tool.")],
    tool: Annotated[str, typer.Argument(help="Name of the tool, as `tools` lists it.")],
    arguments: Parameters = None,
    params: JsonParameters = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that the tool has to finish.")] = 60,
    output: OutputFile = None,
    save_to: SaveTo = None,
    as_json: Json = False,
) -> None:
    """Call a tool. Exits with code 1 if the tool fails.

    A VALUE is text if the tool's schema says so, otherwise JSON (count=3, on=true, tags='["a"]'); KEY:=VALUE is always
    JSON.

    With --output, images, audio and files of the result are written to FILE, FILE-2 and so on, and its text is printed.
    A result without files is written as text. If the tool fails, nothing is written.

    With --save-to, images, audio and files never have to fit into memory, and the folder is made if it is missing. No
    file is replaced.
    """
    from a2c_smcp.cli.agent import one_shot

    to = _output(output, save_to)
    _run(
        context.obj,
        lambda session: one_shot.call(session, computer, tool, arguments or [], params, timeout, to, as_json, save_to),
        computer=computer,
        tool=tool,
    )


@app.command()
def desktop(
    context: typer.Context,
    computer: Computer = None,
    size: Annotated[int | None, typer.Option(help="Maximum number of windows per Computer.")] = None,
    window: Annotated[str | None, typer.Option(help="Only this window:// URI; the query can be left out.")] = None,
    as_json: Json = False,
) -> None:
    """Show the windows of the Computers."""
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda session: one_shot.desktop(session, computer, size, window, as_json), computer=computer)


@app.command()
def finder(
    context: typer.Context,
    keywords: Annotated[list[str] | None, typer.Argument(metavar="KEYWORD", help="Match any of these.")] = None,
    file_type: Annotated[str | None, typer.Option("--type", help="Only this file type, such as pdf.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="List all matches instead of the first 20.")] = False,
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """List documents."""
    from a2c_smcp.cli.agent import one_shot

    _run(
        context.obj,
        lambda session: one_shot.finder(session, computer, keywords, file_type, everything, as_json),
        computer=computer,
    )


@app.command()
def find(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Words to look for.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Show this many documents.")] = 10,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that each Computer has to answer.")] = 5,
    index_timeout: Annotated[
        float,
        typer.Option("--index-timeout", min=0, help="Seconds to wait for files that are not indexed yet."),
    ] = 0.5,
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """Search the full text of the documents of all Computers.

    Shows the best documents first, each with its best places. Files with the same content appear once. The last line
    says how many files are indexed. A Computer that fails or does not answer in time is reported on standard error,
    and does not delay the others.
    """
    from a2c_smcp.cli.agent import finding

    # The time for the index is part of the time for the answer.
    seconds = max(timeout, index_timeout * 1.3)
    _run(
        context.obj,
        lambda session: finding.find(session, computer, " ".join(words), limit, seconds, index_timeout, as_json),
        computer=computer,
    )


@app.command()
def read(
    context: typer.Context,
    called: Annotated[
        str,
        typer.Argument(
            metavar="URI", help="URI of a document, page, element, window or other resource; or a unique title."
        ),
    ],
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown source instead of rendering it.")
    ] = False,
    output: OutputFile = None,
    save_to: SaveTo = None,
    mcp_server: McpServer = None,
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """Read a document, page, element, window or other resource.

    a2c agent read "Sales 2026"

    A document can also be named by its file name, a window by its first line or by its URI without the query. A URI
    that several MCP servers have, or that none of them lists, needs --mcp-server.
    """
    from a2c_smcp.cli.agent import one_shot

    to = _output(output, save_to)
    _run(
        context.obj,
        lambda session: one_shot.read(session, computer, called, markdown, to, as_json, mcp_server, save_to),
        computer=computer,
    )


@app.command()
def tree(
    context: typer.Context,
    called: Annotated[str, typer.Argument(metavar="URI", help="The dpe:// URI of a document, or its unique title.")],
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """Show the pages and elements of a document as a tree."""
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda session: one_shot.tree(session, computer, called, as_json), computer=computer)


@app.command()
def resources(
    context: typer.Context, mcp_server: McpServer = None, computer: Computer = None, as_json: Json = False
) -> None:
    """List the resources of the MCP servers, of all schemes."""
    from a2c_smcp.cli.agent import offers

    _run(context.obj, lambda session: offers.resources(session, computer, mcp_server, as_json), computer=computer)


@app.command()
def templates(
    context: typer.Context, mcp_server: McpServer = None, computer: Computer = None, as_json: Json = False
) -> None:
    """List the resource templates of the MCP servers: the URIs that can be read."""
    from a2c_smcp.cli.agent import offers

    _run(context.obj, lambda session: offers.templates(session, computer, mcp_server, as_json), computer=computer)


@app.command()
def prompts(
    context: typer.Context,
    computer: Annotated[str | None, typer.Argument(help="Only this Computer.")] = None,
    mcp_server: McpServer = None,
    as_json: Json = False,
) -> None:
    """List the prompts of the MCP servers and their arguments."""
    from a2c_smcp.cli.agent import offers

    _run(context.obj, lambda session: offers.prompts(session, computer, mcp_server, as_json), computer=computer)


@app.command()
def prompt(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the prompt, as `prompts` lists it.")],
    arguments: Parameters = None,
    mcp_server: McpServer = None,
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """Show the messages of a prompt, filled in with its arguments."""
    from a2c_smcp.cli.agent import offers

    _run(
        context.obj,
        lambda session: offers.prompt(session, computer, mcp_server, name, arguments or [], as_json),
        computer=computer,
    )


@app.command()
def skills(
    context: typer.Context,
    computer: Annotated[str | None, typer.Argument(help="Only this Computer.")] = None,
    as_json: Json = False,
) -> None:
    """List the skills of the Computers."""
    from a2c_smcp.cli.agent import skills as commands

    _run(context.obj, lambda session: commands.skills(session, computer, as_json), computer=computer)


@app.command()
def skill(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the skill, as `skills` lists it.")],
    file: Annotated[
        str | None, typer.Argument(help="Path of a file of the skill.", show_default="its instructions")
    ] = None,
    output: OutputFile = None,
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """Show the instructions of a skill, or another file of it."""
    from a2c_smcp.cli.agent import skills as commands

    to = _output(output, None)
    _run(
        context.obj,
        lambda session: commands.skill(session, computer, name, file, to, as_json),
        computer=computer,
    )


@app.command()
def upload(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="File to upload.")],
    name: Annotated[
        str | None, typer.Option("--name", help="Name that the file gets on the Computer.", show_default="its own")
    ] = None,
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """Upload a file to a Computer that has a landing folder. Prints the path of the file there.

    A file that exists there is never replaced: the new one gets another name.
    """
    from a2c_smcp.cli.agent import skills as commands

    if not path.is_file():
        fail(f"{path}: no such file", 2)
    _run(
        context.obj,
        lambda session: commands.upload(session, computer, str(path), name, as_json),
        computer=computer,
    )


@app.command()
def complete(
    context: typer.Context,
    start: Annotated[str, typer.Argument(help="First characters of a dpe:// URI.")],
    computer: Computer = None,
    as_json: Json = False,
) -> None:
    """List URIs that begin with START: documents, then their pages and elements.

    Prints one URI per line, for example for `complete dpe://docs.example/report/pages/`.
    """
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda session: one_shot.complete(session, computer, start, as_json), computer=computer)


@app.command()
def config(
    context: typer.Context,
    computer: Annotated[str, typer.Argument(help="Computer to ask.")],
    as_json: Json = True,  # the output is always JSON; scripts may pass --json to every command
) -> None:
    """Print the configuration of a Computer as JSON, without secrets."""
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda session: one_shot.config(session, computer), computer=computer)


@app.command()
def watch(
    context: typer.Context,
    uris: Annotated[list[str] | None, typer.Argument(metavar="URI", help="Also watch these resources.")] = None,
    count: Annotated[int | None, typer.Option(min=1, help="Exit after this many changes.")] = None,
    as_json: Json = False,
) -> None:
    """Print changes in the office until Ctrl-C.

    Names the tools, windows, documents, MCP servers and Computers that are added, removed or changed, and each change
    of the resources at URI. With --json, prints one object per notification, with the differences in `changes`.
    """
    from a2c_smcp.cli.agent import one_shot

    _run(context.obj, lambda session: one_shot.watch(session, uris or (), count, as_json))


def _output(target: str | None, save_to: Path | None) -> Output | None:
    """The target of --output. An invalid one ends the command before it connects."""
    from a2c_smcp.cli.agent.output import Output

    if target is not None and save_to is not None:
        fail("--output and --save-to: give one of them", 2)
    try:
        return Output(target) if target is not None else None
    except OSError as error:
        fail(f"--output {target}: {error}", 2)


def _run(
    options: Options,
    main: Callable[[Session], Awaitable[int]],
    log_level: str = "error",
    *,
    computer: str | None = None,
    tool: str | None = None,
) -> None:
    """Join the office, run `main`, and leave. `computer` and `tool` are what --wait waits for."""
    # The import of aiohttp takes a quarter of the time of such a command, so it runs in a thread while other modules
    # load. engineio must be imported before that, without aiohttp: otherwise its import would wait for the thread.
    from a2c_smcp.utils import light_socketio as _  # noqa: F401

    import_soon("aiohttp")
    from a2c_smcp.cli.agent.session import in_session
    from a2c_smcp.cli.running import run_until_done
    from a2c_smcp.utils.logger import configure_logging

    if not options.office:
        fail("no office: set --office NAME or A2C_OFFICE", 2)
    check_server_url(options.url)
    check_ca_file(options.ca_file)
    configure_logging(options.log_level or log_level, "human")
    run_until_done(in_session(options, main, computer, tool))
