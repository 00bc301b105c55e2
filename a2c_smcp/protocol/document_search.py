"""What a search over the documents of an office found: the types that a program gets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from a2c_smcp.errors import SMCPError

State: TypeAlias = Literal["current", "changed", "partial", "unknown"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A place in a document where the words of a search are."""

    text: str
    """The text around the words, which are in brackets."""
    uri: str
    """The address of the element."""
    page_uri: str
    page_index: int
    score: float


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """Where a document is."""

    computer: str
    uri: str


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that a search found, with its best passages."""

    title: str
    computer: str
    mcp_server: str
    """The MCP server that has it; empty where the Computer does not tell."""
    uri: str
    file_type: str
    passages: tuple[Passage, ...]
    """The best ones, best first."""
    score: float
    """That of the best passage. Scores of one search can be compared, those of different searches cannot."""
    state: State
    """`current`; `changed` since it was indexed; `partial`, if some pages are not indexed yet; or `unknown`."""
    indexed_at: str | None = None
    """When it was indexed (ISO 8601)."""
    changed_at: str | None = None
    """When the file changed, if that was after it was indexed."""
    last_modified: str | None = None
    digest: str | None = None
    """A hash of the content."""
    other_places: tuple[DocumentPlace, ...] = ()
    """Other files with the same content, on this Computer or on others."""


@dataclass(frozen=True, slots=True)
class SearchSource:
    """A document server that was searched, or a Computer that could not be searched."""

    computer: str
    mcp_server: str = ""
    documents: int = 0
    """The files that it has."""
    indexed: int = 0
    """The files that a search can find."""
    changed: int = 0
    """Those of them that have changed since they were indexed."""
    pending: int = 0
    """The files that are not indexed yet."""
    unreadable: int = 0
    """The files that cannot be read."""
    seconds: float = 0.0
    """How long it took to answer."""
    error: SMCPError | None = None
    """Why it could not be searched."""

    def to_json(self) -> dict[str, Any]:
        """The source as JSON data."""
        fields = {key: getattr(self, key) for key in self.__slots__ if key != "error"}
        if self.error is not None:
            return fields | {"error": {"code": self.error.code, "message": self.error.message}}
        return fields


@dataclass(frozen=True, slots=True)
class DocumentSearch:
    """The result of a search, or what of it has arrived so far."""

    query: str
    documents: tuple[FoundDocument, ...] = ()
    """The best ones of all Computers, best first."""
    sources: tuple[SearchSource, ...] = ()
    """The document servers that were searched, and the Computers that failed."""
    waiting: tuple[str, ...] = ()
    """The Computers that have not answered yet."""

    @property
    def failures(self) -> tuple[SearchSource, ...]:
        """The sources that could not be searched."""
        return tuple(source for source in self.sources if source.error is not None)

    @property
    def document_count(self) -> int:
        """The files of all document servers that answered."""
        return sum(source.documents for source in self.sources)

    @property
    def indexed_count(self) -> int:
        """How many of them a search can find now."""
        return sum(source.indexed for source in self.sources)

    @property
    def is_complete(self) -> bool:
        """Whether all Computers have answered, and none has files that are still to be indexed."""
        return not self.waiting and not any(source.error or source.pending for source in self.sources)

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data. Fields that are not known are left out."""
        return {
            "query": self.query,
            "documents": [_known(asdict(document)) for document in self.documents],
            "sources": [source.to_json() for source in self.sources],
            "waiting": list(self.waiting),
            "document_count": self.document_count,
            "indexed_count": self.indexed_count,
            "is_complete": self.is_complete,
        }


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
