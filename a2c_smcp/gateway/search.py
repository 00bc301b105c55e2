"""Finds tools by words: an inverted index with weights, made once for each list of tools.

A tool scores for each word of the query that it has: more for a rare word, and more where the word is in its name than
in its title, tags or description. A word of the query also matches longer words that begin with it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import nlargest

NAME, TITLE, PARAMETER, TEXT = 8.0, 4.0, 1.5, 1.0
"""The weights of words, by where they are."""
_AGAIN = 0.4
"""The further weight of a word that a tool has more than once. It is small: however often a word is in a description, a
tool that has it in its title or name must be found first."""
_WHOLE = 1.5
"""The factor for a tool of which the query has every word of the name."""
_PREFIX = 0.6
"""The weight of a word that only begins with a word of the query."""
_SHORTEST_PREFIX = 3
_MOST_PREFIXED = 50
"""Longer words that a word of the query stands for."""
_LONGEST_KEPT = 500
"""Characters of a text of which the words are kept."""
_LONGEST_QUERY = 500
"""Characters of a query. It runs on the event loop, and takes a fraction of a millisecond for each word."""

# Scripts that write no spaces between words: Chinese, Japanese, Thai and their neighbours.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORDS = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_STOP = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "this", "to", "with")
)
_VOWELS = frozenset("aeiouy")


def words_of(text: str, *, is_query: bool = False) -> Sequence[str]:
    """The words of a text, in their simple form."""
    # Most texts are the same in the next list of tools, and names of parameters are the same in many tools.
    return _words(text, is_query=is_query) if is_query or len(text) > _LONGEST_KEPT else _kept_words(text)


@lru_cache(maxsize=20_000)
def _kept_words(text: str) -> Sequence[str]:
    return tuple(_words(text))


def _words(text: str, *, is_query: bool = False) -> list[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    found: list[str] = []
    for word in _WORDS.findall(_CAMEL.sub(" ", text)):
        lower = word.lower()
        if _IS_UNSPACED.match(lower):
            # Every two characters that follow each other. A query of one character finds it anywhere.
            if len(lower) == 1 or not is_query:
                found += lower
            found += [lower[place : place + 2] for place in range(len(lower) - 1)]
        elif lower not in _STOP:
            found.append(simple(lower))
    return found


def simple(word: str) -> str:
    """A word without the endings of plurals and verbs, so that `issues` finds `issue`, and `query` finds `queries`."""
    if not word.isascii() or len(word) < 4:
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zzes", "uses")) else word[:-1]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        # `string` and `speed` have no ending: nothing with a vowel is left of them.
        if stem != word and len(stem) >= 3 and not _VOWELS.isdisjoint(stem):
            # `running` is of `run`, but `calling` of `call`.
            is_doubled = len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz"
            word = stem[:-1] if is_doubled else stem
            break
    if len(word) >= 4 and word.endswith(("e", "y")):
        word = word[:-1] + ("i" if word[-1] == "y" else "")
    return word


class Index:
    """The words of things, each a sequence of texts with weights. The first text of a thing is its name."""

    def __init__(self, things: Sequence[Iterable[tuple[str, float]]]) -> None:
        found: dict[str, list[tuple[int, float]]] = defaultdict(list)
        names: list[frozenset[str]] = []
        for number, texts in enumerate(things):
            weights: dict[str, float] = {}
            again: set[str] = set()
            name: Sequence[str] | None = None
            for text, weight in texts:
                words = words_of(text)
                name = words if name is None else name
                for word in words:
                    if word in weights:
                        again.add(word)
                    weights[word] = max(weight, weights.get(word, 0.0))
            names.append(frozenset(name or ()))
            for word, weight in weights.items():
                found[word].append((number, weight + _AGAIN if word in again else weight))
        self._size = len(names)
        self._found = {word: _scored(places, self._size) for word, places in found.items()}
        """The things that have a word, with what it adds to their scores."""
        self._sorted = sorted(found)
        self._names: dict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
        """The things by the rarest word of their name, with all words of it."""
        for number, words in enumerate(names):
            if words:
                self._names[min(words, key=lambda word: (len(found[word]), word))].append((number, words))

    def search(self, query: str, most: int) -> list[int]:
        """The numbers of the things that match, best first."""
        # A list, and one pass for most words: a word such as `name` is in thousands of tools.
        scores = [0.0] * self._size
        wanted = dict.fromkeys(words_of(query[:_LONGEST_QUERY], is_query=True))
        for word in wanted:
            for number, score in self._matches(word):
                scores[number] += score
        for word in wanted:
            for number, name in self._names.get(word, ()):
                if name <= wanted.keys():
                    scores[number] *= _WHOLE
        # Ties in the order of the list, so that the answer is the same every time.
        return nlargest(most, filter(scores.__getitem__, range(self._size)), key=scores.__getitem__)

    def _matches(self, word: str) -> Iterable[tuple[int, float]]:
        """The things that have a word, or a longer one that begins with it, each once."""
        exact = self._found.get(word, ())
        longer: list[str] = []
        if len(word) >= _SHORTEST_PREFIX:
            place = bisect_left(self._sorted, word)
            for other in self._sorted[place : place + _MOST_PREFIXED]:
                if not other.startswith(word):
                    break
                if other != word:
                    longer.append(other)
        if not longer:
            return exact
        # Of several words in one thing, the best counts: `read` must not find `reader_readers` first.
        best = dict(exact)
        for other in longer:
            for number, score in self._found[other]:
                best[number] = max(best.get(number, 0.0), _PREFIX * score)
        return best.items()


def _scored(places: list[tuple[int, float]], size: int) -> list[tuple[int, float]]:
    """The things that have a word, with a weight that is higher for a rare word."""
    rarity = math.log(1 + size / len(places))
    return [(number, rarity * weight) for number, weight in places]
