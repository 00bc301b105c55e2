"""The commands of an Agent, for the command line and the prompt. Each returns an exit code."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.text import Text

from a2c_smcp.agent.types import Progress, Question, Reply
from a2c_smcp.cli import views as shared
from a2c_smcp.cli.agent import views
from a2c_smcp.cli.agent.address_completion import addresses
from a2c_smcp.cli.agent.lookup import locate, window_at, windows_at
from a2c_smcp.cli.agent.session import (
    FAILED,
    NOT_THERE,
    WRONG,
    Session,
    complain,
    exit_code,
    folder_of,
    logger,
    of_each,
)
from a2c_smcp.cli.agent.watching import Watch
from a2c_smcp.cli.arguments import read_arguments
from a2c_smcp.cli.progress import call_shown
from a2c_smcp.cli.views import print_json, show
from a2c_smcp.errors import InvalidDPEUriError, NotFoundError, SMCPError, error_for
from a2c_smcp.protocol.documents import page_count
from a2c_smcp.protocol.requests import DEFAULT_LIMIT
from a2c_smcp.smcp import GetFinderRet, ResourceContents
from a2c_smcp.utils.dpe_uri import parse_dpe_uri
from a2c_smcp.utils.text import printable

if TYPE_CHECKING:
    from a2c_smcp.cli.agent.output import Output
    from a2c_smcp.utils.results import CallToolResult

_NAMED = ("a2c_version", "a2c_stack")
"""What a member may have named when it connected."""
PAGES_AT_ONCE = 8
"""Pages that `tree` requests at a time. The Server limits the requests of one connection."""


async def computers(session: Session, as_json: bool) -> int:
    """List the Computers, including those that do not answer."""

    async def count(each: str) -> int | None:
        try:
            return len(await session.tools(each))
        except SMCPError as error:
            complain(f"{each}: {error.message} ({error.code})")
            return None

    here = session.agent.computers
    counts = dict(zip(here, await asyncio.gather(*map(count, here)), strict=True))
    versions = await _versions(session)
    if as_json:
        print_json([{"name": each, "tools": tools, **versions.get(each, {})} for each, tools in counts.items()])
    else:
        show(views.computers(counts, versions))
    return FAILED if None in counts.values() else 0


async def _versions(session: Session) -> dict[str, dict[str, str]]:
    """The version that each Computer named when it connected: of the protocol, or of this project."""
    try:
        members = await session.agent.get_computers_in_office(session.options.office, session.options.timeout)
    except SMCPError as error:
        complain(f"the versions of the Computers are unknown: {error.message} ({error.code})")
        return {}
    sessions = cast("list[dict[str, Any]]", members)
    return {
        each["name"]: {field: version for field in _NAMED if isinstance(version := each.get(field), str)}
        for each in sessions
    }


async def tools(session: Session, computer: str | None, tool: str | None, as_json: bool) -> int:
    """List tools, or show one tool."""
    if computer is not None and tool is not None:
        session.chosen(computer)
        found = await session.tool(computer, tool)
        if as_json:
            print_json(found)
        else:
            show(*views.tool(computer, found))
        return 0
    offered, code = await of_each(session, computer, session.tools)
    if as_json:
        print_json(offered if computer is None else offered[computer])
    else:
        show(*views.tools(offered))
        if sys.stdout.isatty():
            show(Text("tools COMPUTER TOOL shows the parameters of one", "dim"))
    return code


async def call(
    session: Session,
    computer: str,
    tool: str,
    words: list[str],
    params: str | None,
    seconds: float,
    output: Output | None,
    as_json: bool,
    save_to: Path | None = None,
) -> int:
    """Call a tool."""
    session.chosen(computer)
    # The schema first: it decides which values are text, and rejects misspelt parameters before the tool runs.
    schema = (await session.tool(computer, tool))["params_schema"]
    try:
        parameters = read_arguments(words, params, schema)
    except ValueError as error:
        complain(str(error))
        return WRONG
    with call_shown(printable(f"{computer} runs {tool}, or asks its owner; Ctrl-C cancels it")) as shown:

        def on_progress(report: Progress) -> None:
            shown.report(report.progress, report.total, report.message)

        async def on_question(question: Question) -> Reply:
            shown.pause()
            try:
                return await session.person.answer(question)
            finally:
                shown.resume()

        with session.downloads_shown(shown):
            found = await session.agent.emit_tool_call(
                computer,
                tool,
                parameters,
                seconds,
                on_progress=on_progress,
                on_question=on_question,
                save_to=folder_of(save_to),
            )
    if output is not None and not found.is_error:
        return _write_result(found, output, as_json)
    if as_json:
        print_json(found.to_json())
    else:
        show(*shared.result(found))
    return 0 if found.error_code is None else exit_code(error_for(found.error_code))


def _write_result(found: CallToolResult, output: Output, as_json: bool) -> int:
    """Write the files of a result, and show the rest of it."""
    from a2c_smcp.cli.agent.output import files_of_result

    written = output.write(files_of_result(found))
    if written is None:
        return FAILED
    if output.is_stdout:
        return 0
    rest = [part for part in found.content if part.type == "resource_link" or (part.type == "text" and found.files)]
    unwritten = found.model_copy(update={"content": rest, "structured_content": None})
    if as_json:
        print_json({"files": [each.to_json() for each in written], "text": unwritten.text})
    else:
        show(*shared.result(unwritten))
    return 0


async def desktop(session: Session, computer: str | None, size: int | None, window: str | None, as_json: bool) -> int:
    """Show windows."""

    async def look(each: str) -> list[str]:
        if window is not None:
            return (await windows_at(session, each, window))[: None if size is None else max(size, 0)]
        answer = await session.agent.get_desktop_from_computer(each, size=size, timeout=session.options.timeout)
        return answer["desktops"]

    found, code = await of_each(session, computer, look)
    if as_json:
        print_json(found)
        return code
    for each, windows in found.items():
        if len(found) > 1:
            show(f"[bold]{shared.escape(each)}[/]")
        for shown in windows:
            show(*shared.window(shown))
        if not windows:
            show("no windows")
    return code


async def finder(
    session: Session,
    computer: str | None,
    keywords: list[str] | None,
    file_type: str | None,
    everything: bool,
    as_json: bool,
) -> int:
    """List documents."""

    async def find(each: str) -> GetFinderRet:
        # With --all, this request is only for the counts; `iter_documents` fetches the documents page by page.
        limit = 0 if everything else DEFAULT_LIMIT
        answer = await session.agent.get_finder(each, keywords, file_type, limit=limit, timeout=session.options.timeout)
        if everything:
            answer["documents"] = [found async for found in session.agent.iter_documents(each, keywords, file_type)]
            answer["total_count"] = len(answer["documents"])
        return answer

    found, code = await of_each(session, computer, find)
    if as_json:
        print_json({each: {key: answer[key] for key in answer if key != "req_id"} for each, answer in found.items()})
    else:
        listed = [(each, document) for each, answer in found.items() for document in answer["documents"]]
        total = sum(answer["total_count"] for answer in found.values())
        show(*shared.documents(listed, total, " (--all shows the rest)"))
    for each, answer in found.items():
        if unindexed := answer.get("unindexed_count"):
            complain(f"{each}: {unindexed} more documents are not listed, because its index is full")
    return code


async def read(
    session: Session,
    computer: str | None,
    called: str,
    markdown: bool,
    output: Output | None,
    as_json: bool,
    mcp_server: str | None = None,
    save_to: Path | None = None,
) -> int:
    """Read one resource."""
    place = await locate(session, computer, called)
    if place is None:
        return NOT_THERE
    is_raw = markdown or not sys.stdout.isatty()
    # JSON is for programs, which get the resource at exactly the address that they give.
    is_data = as_json and output is None
    wanted = shared.as_markdown(place.uri, index=not markdown) if not is_data else place.uri
    try:
        where, contents = await _read(session, place.computer, wanted, mcp_server, save_to)
    except NotFoundError:  # the address of a window may have been given without its query
        window = await window_at(session, place.computer, place.uri)
        if window is None:
            raise
        where, contents = await _read(session, window.computer, window.uri, mcp_server)
    if output is not None:
        from a2c_smcp.cli.agent.output import files_of_resource

        written = output.write(files_of_resource([_unwrapped(part) for part in contents]))
        if written is None:
            return FAILED
        if as_json and not output.is_stdout:
            print_json({"files": [each.to_json() for each in written]})
    elif as_json:
        print_json(contents)
    elif is_raw and (texts := [words for part in contents if (words := _words(part.get("text"))) is not None]):
        for words in texts:
            # A terminal would interpret control characters in a document. A file or a pipe gets the text unchanged.
            print(printable(words) if sys.stdout.isatty() else words)
    else:
        show(*shared.resource(await _as_it_is(session, where, wanted, contents)))
    return 0


async def _read(
    session: Session, computer: str | None, uri: str, mcp_server: str | None, save_to: Path | None = None
) -> tuple[str, list[ResourceContents]]:
    """The Computer that has a resource, and its contents."""
    seconds = session.options.timeout
    with call_shown(printable(f"reading {uri}")) as shown, session.downloads_shown(shown):
        where, answer = await session.find(
            computer,
            uri,
            lambda each: session.agent.read_contents(
                each, uri, seconds, mcp_server=mcp_server, save_to=folder_of(save_to)
            ),
        )
    return where, answer["contents"]


async def _as_it_is(
    session: Session, where: str, wanted: str, contents: list[ResourceContents]
) -> list[ResourceContents]:
    """The contents as plain text if their Markdown is the same text."""
    # Rendered as Markdown, plain text would lose its indentation, and characters such as * and _.
    if "format=markdown" not in wanted:
        return contents
    as_text = wanted.replace("format=markdown", "format=text")
    plain = (await session.agent.read_contents(where, as_text, session.options.timeout))["contents"]
    is_same = [_words(part.get("text")) for part in plain] == [_words(part.get("text")) for part in contents]
    return plain if is_same else contents


async def tree(session: Session, computer: str | None, called: str, as_json: bool) -> int:
    """Show a document, its pages and their elements."""
    place = await locate(session, computer, called)
    if place is None:
        return NOT_THERE
    uri = place.uri
    if parse_dpe_uri(uri).doc_ref is None:
        raise InvalidDPEUriError(f"{uri} is the address of a catalogue; give the address of a document")
    seconds = session.options.timeout
    where, document = await session.find(
        place.computer, uri, lambda each: session.agent.read_document_metadata(each, uri, seconds)
    )
    slots = asyncio.Semaphore(PAGES_AT_ONCE)

    async def page(index: int) -> dict[str, Any]:
        async with slots:
            try:
                return await session.agent.read_page(where, uri, index, timeout=seconds)
            except SMCPError as error:  # one page that cannot be read must not hide the others
                return {"page_index": index, "title": f"cannot be read: {error.message} ({error.code})"}

    pages = await asyncio.gather(*(page(index) for index in range(page_count(document))))
    if as_json:
        print_json({**document, "pages": pages})
    else:
        show(views.tree(document, list(pages)))
    return 0


async def complete(session: Session, computer: str | None, start: str, as_json: bool) -> int:
    """List addresses that begin with `start`."""
    found = await addresses(session, start, session.chosen(computer), session.options.timeout)
    if as_json:
        print_json(found)
    else:
        for uri in found:
            print(printable(uri) if sys.stdout.isatty() else uri)
    return 0


async def config(session: Session, computer: str) -> int:
    """Print the configuration of a Computer."""
    session.chosen(computer)
    print_json(await session.agent.get_config_from_computer(computer, session.options.timeout))
    return 0


async def watch(session: Session, uris: Sequence[str], count: int | None, as_json: bool) -> int:
    """Print changes, also of the resources at these addresses, until `count` of them have been printed."""
    seen = 0
    async with Watch(session) as watching:
        for uri in uris:
            await _watch_resource(session, uri)
        logger.info("watching")
        if not as_json and sys.stderr.isatty():
            here = printable(", ".join(session.agent.computers) or "no Computers")
            print(f"watching {session.options.office} ({here}); press Ctrl-C to stop", file=sys.stderr)
        async for news in watching:
            if as_json:
                print(shared.as_json(news.to_json()), flush=True)  # a program at the other end of a pipe waits for it
            else:
                lines = list(views.news(news))
                if not lines:
                    continue
                show(*lines)
                sys.stdout.flush()
            seen += 1
            if count is not None and seen >= count:
                break
    return 0


async def unwatch(session: Session, uris: Sequence[str]) -> None:
    """Stop watching resources: the prompt goes on."""
    asked = (
        session.agent.watch_resource(each, uri, watch=False, timeout=session.options.timeout)
        for uri in uris
        for each in session.agent.computers
    )
    await asyncio.gather(*asked, return_exceptions=True)


async def _watch_resource(session: Session, uri: str) -> None:
    """Watch a resource at each Computer that has it.

    Raises:
        SMCPError: none of them has it, or can watch it.
    """
    asked = (session.agent.watch_resource(each, uri, timeout=session.options.timeout) for each in session.chosen(None))
    problems = [outcome for outcome in await asyncio.gather(*asked, return_exceptions=True) if outcome is not None]
    if len(problems) == len(session.chosen(None)):
        # "Not found" is the answer of the Computers that do not have it, so the reason of another one comes first.
        raise next((each for each in problems if not isinstance(each, NotFoundError)), problems[0])


def _words(text: str | None) -> str | None:
    """The text inside the JSON of a document, or the text itself; None for other JSON, which `views.resource` shows."""
    if text is None:
        return None
    try:
        body: Any = json.loads(text)
    except ValueError:
        return text
    if not isinstance(body, dict):
        return text
    envelope = cast("dict[str, Any]", body)
    words = envelope.get("content_markdown", envelope.get("content_text"))
    return words if isinstance(words, str) else None


def _unwrapped(part: ResourceContents) -> ResourceContents:
    """The contents with the text that is inside the JSON of a document, if they are such JSON."""
    text = part.get("text")
    words = _words(text)
    return part if words is None or words == text else {**part, "text": words, "mimeType": "text/markdown"}
