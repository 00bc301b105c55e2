"""`find`: full-text search over the document servers of all Computers."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from a2c_smcp.agent.types import DocumentSearch, FoundDocument, SearchSource
from a2c_smcp.cli.agent.session import FAILED, NOT_THERE, Session, complain, exit_code
from a2c_smcp.cli.progress import call_shown
from a2c_smcp.cli.views import print_json, show, with_address
from a2c_smcp.utils.text import one_line, printable

_STATES = {"changed": "changed since it was indexed", "partial": "indexed in part"}


async def find(
    session: Session, computer: str | None, query: str, limit: int, seconds: float, wait: float, as_json: bool
) -> int:
    """Search, and show the best places."""
    chosen = session.chosen(computer)
    with call_shown(printable(f"searching for {query}")) as shown:

        def on_found(found: DocumentSearch) -> None:
            done = len(chosen) - len(found.waiting)
            shown.report(done, len(chosen), f"{done} of {len(chosen)} Computers have answered")

        found = await session.agent.search_documents(
            query, chosen, limit=limit, timeout=seconds, wait=wait, on_found=on_found
        )
    if as_json:
        print_json(found.to_json())
    elif found.sources:
        show(*_view(found))
    for source in found.failures:
        if source.error is not None:
            complain(f"{_place(source)}: {source.error.message} ({source.error.code})")
    if not found.sources:
        complain("no Computer has a document server")
        return NOT_THERE
    errors = [source.error for source in found.sources if source.error is not None]
    if len(errors) == len(found.sources):
        return exit_code(errors[0])
    return FAILED if errors else 0


def _view(found: DocumentSearch) -> Iterable[RenderableType]:
    for document in found.documents:
        yield with_address(document.title, ", ".join(_facts(document)), document.uri)
        for passage in document.passages:
            yield Text(f"  page {passage.page_index}: {one_line(passage.text)}")
    counts = f"{len(found.documents) or 'no'} document{'s' if len(found.documents) != 1 else ''}"
    yield Text(f"{counts} found in {found.indexed_count:,} of {found.document_count:,} files{_rest(found)}", "dim")


def _facts(document: FoundDocument) -> Iterable[str]:
    if document.file_type:
        yield document.file_type
    yield f"on {document.computer}"
    if document.state in _STATES:
        yield _STATES[document.state]
    if document.other_places:
        places = dict.fromkeys(place.computer for place in document.other_places)
        count = len(document.other_places)
        yield f"{count} cop{'ies' if count != 1 else 'y'} on {', '.join(places)}"


def _rest(found: DocumentSearch) -> str:
    """What the search did not cover."""
    pending = sum(source.pending for source in found.sources)
    unreadable = sum(source.unreadable for source in found.sources)
    parts = [f"{pending:,} are not indexed yet"] if pending else []
    parts += [f"{unreadable:,} cannot be read"] if unreadable else []
    return f" ({', '.join(parts)})" if parts else ""


def _place(source: SearchSource) -> str:
    return f"{source.mcp_server} on {source.computer}" if source.mcp_server else source.computer
