"""`dpe://host[/doc-ref[/pages/N | /elements/ID]][?query]`: the address of a catalogue, document, page or element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.utils.uri import decode, join_uri, parse_natural, split_uri

SCHEME = "dpe"

_LONGEST_SHOWN = 2_000
"""Characters of an invalid URI that its error repeats."""

# fmt: off
ELEMENT_TYPES = frozenset((
    "text", "heading", "list", "code", "table", "pivot_table", "chart", "diagram", "image", "formula", "link",
    "annotation", "header", "footer", "separator", "audio", "video", "form", "widget",
))
# fmt: on


@dataclass(frozen=True, slots=True)
class ParsedDPEUri:
    """The parts of a valid `dpe://` address, decoded."""

    scheme: str
    """`dpe`."""
    host: str
    """Which MCP server has the document."""
    doc_ref: str | None = None
    """Which document; None for the catalogue."""
    sub_path: str | None = None
    """`pages/N` or `elements/ID`; None for the document as a whole."""
    query_params: dict[str, str] = field(default_factory=dict[str, str])
    """The query, with unknown keys."""

    @property
    def level(self) -> int:
        """0 for the catalogue, 1 for a document, 2 for a page, 3 for an element."""
        if self.doc_ref is None:
            return 0
        if self.sub_path is None:
            return 1
        return 2 if self.sub_path.startswith("pages/") else 3

    @property
    def page_index(self) -> int | None:
        """The page's number, on level 2."""
        return parse_natural(self.sub_path.removeprefix("pages/")) if self.sub_path and self.level == 2 else None

    @property
    def element_id(self) -> str | None:
        """The element's id, on level 3."""
        return self.sub_path.removeprefix("elements/") if self.sub_path and self.level == 3 else None


def parse_dpe_uri(raw: str) -> ParsedDPEUri:
    """Read the parts of a `dpe://` address.

    Raises:
        InvalidDPEUriError: a `ValueError` with code 4204, naming the rule that was broken and the URI.
    """
    try:
        parts = split_uri(raw, SCHEME)
        _check_query(parts.query)
        segments = tuple(decode(segment) for segment in parts.segments)
        if segments == ("",):  # `dpe://host/`
            segments = ()
        doc_ref = segments[0] if segments else None
        sub_path = "/".join(segments[1:]) if len(segments) > 1 else None
        _check_path(segments)
    except ValueError as error:
        details = {"uri": raw[:_LONGEST_SHOWN]} if isinstance(raw, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDPEUriError(f"not a valid dpe:// URI: {error}", details=details) from None
    return ParsedDPEUri(SCHEME, parts.host, doc_ref, sub_path, parts.query)


def build_dpe_uri(
    host: str,
    doc_ref: str | None = None,
    sub_path: str | None = None,
    params: Mapping[str, str] | None = None,
) -> str:
    """Build a `dpe://` URI that parses back into the same parts; `sub_path` is `pages/N` or `elements/ID`, decoded.

    Raises:
        InvalidDPEUriError: a part breaks the grammar.
    """
    if sub_path is not None and doc_ref is None:
        raise InvalidDPEUriError("a sub-path needs a doc_ref")
    segments = (() if doc_ref is None else (doc_ref,)) + _split_sub_path(sub_path)
    query = {key: str(value) for key, value in (params or {}).items()}
    try:
        _check_path(segments)
        _check_query(query)
        return join_uri(SCHEME, host, segments, query.items())
    except ValueError as error:
        raise InvalidDPEUriError(f"not a valid dpe:// URI: {error}") from None


def extend_dpe_uri(uri: str, sub_path: str | None = None, params: Mapping[str, str] | None = None) -> str:
    """The address of a document, or of a page or element in it, from any address inside that document.

    The host, the doc-ref and parameters that the protocol does not know stay as they were written: only the MCP server
    knows which spellings mean the same. `sub_path` and `params` are given decoded.

    Raises:
        InvalidDPEUriError: `uri` is not an address inside a document, or a new part breaks the grammar.
    """
    address = parse_dpe_uri(uri)
    if address.doc_ref is None:
        raise InvalidDPEUriError(f"{uri}: names no document", details={"uri": uri[:_LONGEST_SHOWN]})
    added, new = _split_sub_path(sub_path), dict(params or {})
    try:
        _check_path((address.doc_ref, *added))
        _check_query(new)
    except ValueError as error:
        raise InvalidDPEUriError(f"not a valid dpe:// URI: {error}") from None
    path, _, query = uri.partition("#")[0].partition("?")
    document = "/".join(path.split("/")[:4])  # "dpe:", "", host, doc-ref
    # Parameters that the protocol knows belong to the old address: the `limit` of a list of pages means nothing on one
    # page. All others belong to the MCP server and may be needed everywhere in the document.
    kept = [part for part in query.split("&") if decode(part.partition("=")[0]) not in {*QUERY_KEYS, *new, ""}]
    # The new parts are encoded behind a host that is cut off again, so that one function encodes all addresses.
    suffix = join_uri(SCHEME, "-", added, new.items()).removeprefix(f"{SCHEME}://-")
    suffix, _, pairs = suffix.partition("?")
    query = "&".join([*kept, *filter(None, [pairs])])
    return document + suffix + (f"?{query}" if query else "")


def without_query(uri: str) -> str:
    """The address of the same thing without its parameters, otherwise as it was written."""
    return uri.partition("#")[0].partition("?")[0]


def is_dpe_uri(value: object) -> bool:
    """Whether `value` is a valid `dpe://` URI."""
    try:
        parse_dpe_uri(value)  # pyright: ignore[reportArgumentType]  # anything may be asked about
    except InvalidDPEUriError:
        return False
    return True


def _split_sub_path(sub_path: str | None) -> tuple[str, ...]:
    if sub_path is None:
        return ()
    kind, _, ident = sub_path.partition("/")
    return kind, ident


def _check_path(segments: tuple[str, ...]) -> None:
    match segments:
        case () | (str(),) if all(segments):
            return
        case (doc_ref, "pages", number) if doc_ref and parse_natural(number) is not None:
            return
        case (doc_ref, "elements", ident) if doc_ref and ident:
            return
        case _:
            raise ValueError("the path must be [doc-ref[/pages/<non-negative integer> | /elements/<id>]]")


def _check_query(query: Mapping[str, str]) -> None:
    for key, (is_valid, rule) in _PARAMETERS.items():
        if key in query and not is_valid(query[key]):
            raise ValueError(f"{key} must be {rule}")


def _is_natural(text: str) -> bool:
    return parse_natural(text) is not None


def _is_limit(text: str) -> bool:
    number = parse_natural(text)
    return number is not None and 1 <= number <= 100


# A parameter that has no meaning on its level, such as the `limit` of an element, is validated like any other, and then
# ignored.
_PARAMETERS: dict[str, tuple[Callable[[str], bool], str]] = {
    "format": (frozenset(("json", "markdown", "text")).__contains__, "json, markdown or text"),
    "depth": (frozenset(("metadata", "pages")).__contains__, "metadata or pages"),
    "offset": (_is_natural, "a non-negative integer"),
    "limit": (_is_limit, "an integer 1–100"),
    "categories": (lambda text: ELEMENT_TYPES.issuperset(text.split(",")), "a comma list of element types"),
}
QUERY_KEYS = frozenset(_PARAMETERS)
"""The keys that the protocol knows; any other belongs to the MCP server."""
