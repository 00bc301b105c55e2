"""Ranks what several document servers found, as one index of all their files would.

The scores of the servers cannot be compared: a word that is rare in one folder may be in every file of another. So each
server returns, with its best passages, how often they have each term, and in how many of all its passages each term is.
The Agent adds these statistics up, and computes BM25 of every passage from the sums. Only the choice of the passages
that a server returns depends on that server alone. Files with the same content are one document.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from a2c_smcp.errors import InvalidAnswerError
from a2c_smcp.protocol.document_search import DocumentPlace, DocumentSearch, FoundDocument, Passage, SearchSource, State
from a2c_smcp.utils.dpe_uri import build_dpe_uri, is_dpe_uri, parse_dpe_uri

MOST_HITS = 100
"""Passages of a document server that are read."""
MOST_PASSAGES = 3
"""Passages of a document that are shown."""
MOST_PLACES = 50
"""Other places of a document that are listed."""
MAX_TEXT = 2_000
"""Characters of a text. An answer comes from another program, and may hold anything."""
MAX_TERMS = 100
_MOST = 1 << 40
"""The largest count that is believed."""
# The constants of BM25 in SQLite, with which the servers choose their passages.
_K1, _B = 1.2, 0.75
_STATES: Mapping[str, State] = {"current": "current", "changed": "changed", "partial": "partial"}
_MARKED = re.compile(r"\[([^\[\]]+)\]")
_WORD = re.compile(r"\w+")


_Key: TypeAlias = tuple[str, str]
"""The host and the reference of a document: its address may be written in several ways."""


@dataclass(frozen=True, slots=True)
class _Hit:
    document: _Key
    passage: Passage
    counts: Mapping[str, int]
    """How often it has each term. A server of an earlier version does not tell: empty."""
    length: int


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a document server."""

    source: SearchSource
    documents: Mapping[_Key, FoundDocument]
    """Without passages."""
    hits: tuple[_Hit, ...]
    passages: int
    characters: int
    terms: Mapping[str, int]
    """How many of its passages have each term."""


def failed(source: SearchSource) -> Found:
    """The answer of a source that could not be searched."""
    return Found(source, {}, (), 0, 0, {})


# ------------------------------------------------------------------------------------------------------------- reading


def read_found(source: SearchSource, body: Mapping[str, Any]) -> Found:
    """Read the answer of a document server, also of one that tells less than ours.

    Raises:
        InvalidAnswerError: it has no list of hits.
    """
    if not isinstance(body.get("hits"), list):
        raise InvalidAnswerError("hits: a list is expected")
    coverage, statistics = _object(body.get("coverage")), _object(body.get("statistics"))
    kept = ("documents", "indexed", "changed", "pending", "unreadable")
    source = replace(source, **{key: _count(coverage.get(key)) for key in kept})
    documents = {
        key: _document(source, entry)
        for entry in _objects(body.get("documents"))
        if (key := _key(entry.get("uri"))) is not None
    }
    hits: list[_Hit] = []
    for entry in _objects(body["hits"]):
        hit = _hit(entry)
        if hit is None:
            continue
        hits.append(hit)
        if hit.document not in documents:
            documents[hit.document] = _untold(source, hit.document, _text(entry.get("title")))
    return Found(
        source,
        documents,
        tuple(hits),
        _count(statistics.get("passages")),
        _count(statistics.get("characters")),
        _counts(statistics.get("terms")),
    )


def _key(uri: Any) -> _Key | None:
    """The document that an address leads to; None if it is not valid."""
    if not is_dpe_uri(uri):
        return None
    address = parse_dpe_uri(uri)
    return (address.host.lower(), address.doc_ref) if address.doc_ref is not None else None


def _document(source: SearchSource, entry: Mapping[str, Any]) -> FoundDocument:
    copies = cast("list[Any]", entry.get("copies")) if isinstance(entry.get("copies"), list) else []
    places = [DocumentPlace(source.computer, copy) for copy in copies[:MOST_PLACES] if is_dpe_uri(copy)]
    return FoundDocument(
        title=_text(entry.get("title")),
        computer=source.computer,
        mcp_server=source.mcp_server,
        uri=entry["uri"],
        file_type=_text(entry.get("file_type")),
        passages=(),
        score=0.0,
        state=_STATES.get(_text(entry.get("state")), "unknown"),
        indexed_at=_text(entry.get("indexed_at")) or None,
        changed_at=_text(entry.get("changed_at")) or None,
        last_modified=_text(entry.get("last_modified")) or None,
        digest=_text(entry.get("digest")) or None,
        other_places=tuple(places),
    )


def _untold(source: SearchSource, key: _Key, title: str) -> FoundDocument:
    """A document of which its server tells nothing but hits."""
    return FoundDocument(title, source.computer, source.mcp_server, build_dpe_uri(*key), "", (), 0.0, "unknown")


def _hit(entry: Mapping[str, Any]) -> _Hit | None:
    uri, page_uri = entry.get("element_uri"), entry.get("page_uri")
    key = _key(uri)
    if key is None or key != _key(page_uri):
        return None
    text, page = _text(entry.get("snippet")), _count(entry.get("page_index"))
    passage = Passage(text, cast("str", uri), cast("str", page_uri), page, 0.0)
    return _Hit(key, passage, _counts(entry.get("counts")), _count(entry.get("length")))


def _objects(value: Any) -> list[dict[str, Any]]:
    listed = cast("list[Any]", value)[:MOST_HITS] if isinstance(value, list) else []
    return [cast("dict[str, Any]", each) for each in listed if isinstance(each, dict)]


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _counts(value: Any) -> dict[str, int]:
    return {term[:MAX_TEXT]: _count(count) for term, count in list(_object(value).items())[:MAX_TERMS]}


def _count(value: Any) -> int:
    return min(max(value, 0), _MOST) if type(value) is int else 0


def _text(value: Any) -> str:
    return value[:MAX_TEXT] if isinstance(value, str) else ""


# ------------------------------------------------------------------------------------------------------------- ranking


def rank(query: str, answers: Iterable[Found], limit: int, waiting: Iterable[str] = ()) -> DocumentSearch:
    """The best documents of all answers, with their best passages."""
    answers = sorted(answers, key=lambda found: (found.source.computer, found.source.mcp_server))
    weigh = _Weights(query, answers)
    # Of a document in several places, the first in this order is shown: one that is current, if there is any.
    groups: dict[str, list[tuple[FoundDocument, list[_Hit]]]] = {}
    for found in answers:
        hits: dict[_Key, list[_Hit]] = {}
        for hit in found.hits:
            hits.setdefault(hit.document, []).append(hit)
        for place, here in hits.items():
            document = found.documents[place]
            key = document.digest or f"{found.source.computer} {document.uri}"
            groups.setdefault(key, []).append((document, here))
    ranked: list[tuple[tuple[bool, float], FoundDocument]] = []
    for places in groups.values():
        places.sort(key=lambda place: place[0].state != "current")
        document, here = places[0]
        # A passage that has all words is better than any that lacks one, as in the search of a single server.
        weighed = sorted(((weigh(hit), hit) for hit in here), key=lambda pair: pair[0], reverse=True)
        passages = tuple(replace(hit.passage, score=weight[1]) for weight, hit in weighed[:MOST_PASSAGES])
        others = tuple(place for other, _ in places[1:] for place in _places(other)) + document.other_places
        best = weighed[0][0]
        ranked.append((best, replace(document, passages=passages, score=best[1], other_places=others[:MOST_PLACES])))
    ranked.sort(key=lambda pair: pair[0], reverse=True)
    sources = tuple(found.source for found in answers)
    return DocumentSearch(query, tuple(document for _, document in ranked[:limit]), sources, tuple(waiting))


def _places(document: FoundDocument) -> list[DocumentPlace]:
    return [DocumentPlace(document.computer, document.uri), *document.other_places]


class _Weights:
    """The weight of a passage: whether it has all terms, and its score by BM25 over all answers."""

    def __init__(self, query: str, answers: Iterable[Found]) -> None:
        answers = list(answers)
        self._passages = sum(found.passages for found in answers)
        characters = sum(found.characters for found in answers)
        self._usual_length = characters / self._passages if self._passages else 0.0
        terms = dict.fromkeys(term for found in answers for term in found.terms)
        # If no server tells its terms, the words of the query as they are.
        self._terms = list(terms) or list(dict.fromkeys(word.lower() for word in _WORD.findall(query)))[:MAX_TERMS]
        having = {term: sum(found.terms.get(term, 0) for found in answers) for term in self._terms}
        self._rarity = {term: self._rarity_of(having[term]) for term in self._terms}

    def _rarity_of(self, having: int) -> float:
        return math.log(1 + (max(self._passages - having, 0) + 0.5) / (having + 0.5))

    def __call__(self, hit: _Hit) -> tuple[bool, float]:
        counts = hit.counts or self._marked(hit)
        length = hit.length / self._usual_length if hit.length and self._usual_length else 1.0
        damping = _K1 * (1 - _B + _B * length)
        score = sum(
            rarity * count * (_K1 + 1) / (count + damping)
            for term, rarity in self._rarity.items()
            if (count := counts.get(term, 0))
        )
        return all(counts.get(term) for term in self._terms), score

    def _marked(self, hit: _Hit) -> Mapping[str, int]:
        """The terms in brackets in the passage, of a server that does not count them."""
        marked = [_joined(words) for words in _MARKED.findall(hit.passage.text)]
        return {term: sum(words.startswith(_joined(term)) for words in marked) for term in self._terms}


def _joined(words: str) -> str:
    return words.lower().replace(" ", "")
