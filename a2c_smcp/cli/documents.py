"""`a2c documents`: serves a folder of files as an MCP server."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2c_smcp.cli.errors import fail
from a2c_smcp.cli.options import check_log_level
from a2c_smcp.utils.extras import how_to_install

if TYPE_CHECKING:
    from a2c_documents.library.library import Library
    from a2c_documents.recognition.choice import Choice
    from a2c_smcp.cli.document_passwords import PasswordRules

_FILES = "Which files"
_SCANS = "Text recognition in scans"
_SERVING = "Serving"


@dataclass(frozen=True)
class Options:
    """The options of `a2c documents`."""

    folder: Path
    name: str
    host_id: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    hidden: bool
    archives: bool
    watch: bool
    cache: bool
    libreoffice: Path | None
    is_check: bool
    transport: str
    host: str
    port: int
    ocr: Choice


def documents(
    folder: Annotated[Path, typer.Argument(help="Folder with files.")],
    name: Annotated[str | None, typer.Option(help="Name of the MCP server.", show_default="name of the folder")] = None,
    host_id: Annotated[
        str | None, typer.Option(help="First part of the URIs: dpe://HOST_ID/…", show_default="from the folder")
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(help="Only files that match, such as '*.pdf'. Can be repeated.", rich_help_panel=_FILES),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Skip files that match, as in .gitignore. Can be repeated.", rich_help_panel=_FILES),
    ] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Include hidden files.", rich_help_panel=_FILES)] = False,
    archives: Annotated[
        bool,
        typer.Option(
            "--archives/--no-archives", help="Show the files in archives as documents.", rich_help_panel=_FILES
        ),
    ] = True,
    watch: Annotated[
        bool, typer.Option("--watch/--no-watch", help="Announce changes.", rich_help_panel=_SERVING)
    ] = True,
    cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache", help="Cache parsed files in the user's cache folder.", rich_help_panel=_SERVING
        ),
    ] = True,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", help="File with passwords for protected files, and their inputs.", rich_help_panel=_FILES
        ),
    ] = None,
    keyring: Annotated[
        bool,
        typer.Option("--keyring", help="Keep passwords in the system's keyring.", rich_help_panel=_FILES),
    ] = False,
    libreoffice: Annotated[
        str | None,
        typer.Option(
            envvar="A2C_LIBREOFFICE",
            metavar="PROGRAM",
            help="LibreOffice, which converts doc and ppt; off for none.",
            show_default="searched for",
            rich_help_panel=_FILES,
        ),
    ] = None,
    transport: Annotated[str, typer.Option(help="stdio or http.", rich_help_panel=_SERVING)] = "stdio",
    host: Annotated[str, typer.Option(help="Address to listen on, for http.", rich_help_panel=_SERVING)] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port, for http; 0 takes a free one.", rich_help_panel=_SERVING)] = 8765,
    ocr: Annotated[
        str,
        typer.Option(
            help="all: recognize scans in the background, for the search; on-request: only pages that are read; off.",
            rich_help_panel=_SCANS,
        ),
    ] = "all",
    ocr_models: Annotated[
        Path | None,
        typer.Option(help="Folder with models of RapidOCR for another script.", rich_help_panel=_SCANS),
    ] = None,
    ocr_command: Annotated[
        str | None, typer.Option(help="Another program that recognizes text.", rich_help_panel=_SCANS)
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Read all files, print a report, and exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --check: print JSON instead of text.")] = False,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning",
) -> None:
    """Serve the files of a folder as documents with pages and elements, for any MCP host.

    a2c documents ~/Reports --check

    a2c documents ~/Reports

    Reads pdf, docx, xlsx, pptx, doc, xls, ppt, vsdx, odt, ods, odp, odg, rtf, md, html, mhtml, csv, txt, json, yaml,
    toml, xml, eml, msg, mbox, ipynb, epub, images, audio, video, source code, and the files in zip and tar archives.
    Files are never changed; worker processes with limits on time and memory read them. With --check, exits with code 1
    if a file cannot be read.
    """
    from a2c_smcp.cli.document_passwords import PasswordRules
    from a2c_smcp.cli.running import run_until_done
    from a2c_smcp.utils.logger import configure_logging

    # `watchfiles` stands for the whole extra. Looking for it is quick; importing the package that needs it is not.
    if importlib.util.find_spec("watchfiles") is None:
        fail(f"the document server is not installed: {how_to_install('documents')}")
    if not folder.is_dir():
        fail(f"{folder}: no such folder", 2)
    if transport not in ("stdio", "http"):
        fail(f"--transport {transport}: must be stdio or http", 2)
    configure_logging(check_log_level(log_level), "human")
    root = folder.resolve()
    options = Options(
        folder=root,
        name=name or root.name or "documents",
        host_id=host_id or default_host(root),
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        hidden=hidden,
        archives=archives,
        watch=watch,
        cache=cache,
        libreoffice=_find_libreoffice(libreoffice),
        is_check=check,
        transport=transport,
        host=host,
        port=port,
        ocr=_recognizer(ocr, ocr_models, ocr_command),
    )
    _check_host(options.host_id)
    rules = PasswordRules.read(config, keyring=keyring) if config is not None else PasswordRules()
    run_until_done(_check(options, rules, as_json) if check else _serve(options, rules))


def default_host(root: Path) -> str:
    """The host id of a folder: its name, made unique by its path."""
    from a2c_documents.folder.files import refer_to

    return refer_to([str(root)])[str(root)]


def _find_libreoffice(wanted: str | None) -> Path | None:
    from a2c_documents.workers.libreoffice import find_program

    try:
        return find_program(wanted)
    except FileNotFoundError:
        fail(f"--libreoffice {wanted}: no such program", 2)


def _check_host(host_id: str) -> None:
    from a2c_smcp.errors import InvalidDPEUriError
    from a2c_smcp.utils.dpe_uri import build_dpe_uri

    try:
        build_dpe_uri(host_id)
    except InvalidDPEUriError as error:
        fail(f"--host-id {host_id}: {error}", 2)


def _recognizer(when: str, models: Path | None, command: str | None) -> Choice:
    from a2c_documents.recognition.choice import OFF, program, rapid
    from a2c_documents.recognition.models import BrokenModelsError

    if when not in ("all", "on-request", "off"):
        fail(f"--ocr {when}: must be all, on-request or off", 2)
    if when == "off":
        return OFF
    if models is not None and command is not None:
        fail("--ocr-models and --ocr-command cannot be combined: the models are those of the built-in recognizer", 2)
    try:
        if command is not None:
            return program(command, in_background=when == "all")
        return rapid(models, in_background=when == "all")
    except BrokenModelsError as error:
        fail(f"--ocr-models: {error}", 2)
    except ValueError as error:
        fail(f"--ocr-command: {error}", 2)


async def _library(options: Options, password_rules: PasswordRules) -> Library:
    from a2c_documents.folder.files import FileRules, Folder
    from a2c_documents.library.library import Library
    from a2c_documents.store.converted import ConvertedFiles
    from a2c_documents.store.store import Store, default_location
    from a2c_documents.workers.conversion import Converter
    from a2c_documents.workers.passwords import Passwords
    from a2c_documents.workers.pool import Workers

    rules = FileRules(options.include, options.exclude, options.hidden)
    location = default_location(options.folder) if options.cache else None
    converted = ConvertedFiles(location and location.parent / "converted")
    # Standard input belongs to MCP, unless files are only checked or served over HTTP.
    may_ask = options.is_check or options.transport == "http"
    passwords = Passwords(options.folder, await password_rules.resolve(may_ask=may_ask and sys.stdin.isatty()))
    workers = Workers(converter=Converter(options.libreoffice, converted), passwords=passwords)
    folder = Folder(options.folder, rules)
    archives, ocr = options.archives, options.ocr
    return Library(folder, options.host_id, Store(location), workers, archives=archives, ocr=ocr)


async def _serve(options: Options, rules: PasswordRules) -> int:
    from a2c_documents.server.serving import serve
    from a2c_smcp.cli.progress import progress_bar

    where = options.transport, options.host, options.port
    await serve(await _library(options, rules), options.name, *where, watch=options.watch, bar=progress_bar)
    return 0


async def _check(options: Options, rules: PasswordRules, as_json: bool) -> int:
    from rich.table import Column, Table

    from a2c_smcp.cli.progress import progress_bar
    from a2c_smcp.cli.views import escape, print_json, show

    library = await _library(options, rules)
    try:
        await library.look()
        with progress_bar("reading") as progress:
            await library.read_all(progress, with_slow=True)
        known = sorted(library.documents.values(), key=lambda document: document.relative)
        problems = {document.ref: document.problem for document in known}
        if as_json:
            print_json([{**library.summary(each), "problem": problems[each.ref]} for each in known])
        else:
            table = Table("file", "type", "pages", "title", Column("problem", style="red"), box=None)
            for document in known:
                summary = library.summary(document)
                cells = (document.relative, summary["file_type"], str(summary["page_count"]), summary["title"])
                table.add_row(*map(escape, cells), escape(problems[document.ref] or ""))
            unread = sum(problem is not None for problem in problems.values())
            show(table if known else "no documents", f"{len(known) - unread} of {len(known)} files read")
        return 1 if any(problems.values()) else 0
    finally:
        await library.close()  # also after Ctrl-C: files are read in worker processes, which must end
