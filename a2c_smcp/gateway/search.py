"""Finds tools by words: an inverted index with weights, made once for each list of tools.

The score of a tool is BM25's, over words of its name, title, description, parameters and tags. A word of the query
also matches longer words that begin with it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence

NAME, TITLE, TEXT, PARAMETER = 8.0, 4.0, 1.0, 1.5
"""The weights of words, by where they are."""
_SATURATION = 1.2
_PREFIX = 0.6
"""The weight of a word that only begins with a word of the query."""
_SHORTEST_PREFIX = 3
_MOST_PREFIXED = 50
"""Longer words that a word of the query stands for."""

_WORDS = re.compile(r"[^\W_]+", re.UNICODE)
_CJK = "\u2e80"
"""The first of the characters that are written without spaces between words."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STOP = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "this", "to", "with")
)


def words_of(text: str) -> list[str]:
    """The words of a text, in their simple form."""
    found: list[str] = []
    for word in _WORDS.findall(_CAMEL.sub(" ", text)):
        lower = word.lower()
        if not lower.isascii() and len(lower) > 1 and any(char >= _CJK for char in lower):
            # Scripts without spaces: every two characters that follow each other.
            found += [lower[place : place + 2] for place in range(len(lower) - 1)]
        elif lower not in _STOP:
            found.append(_simple(lower))
    return found


def _simple(word: str) -> str:
    """A word without the endings of plurals and verbs, so that `issues` finds `issue`."""
    if not word.isascii() or len(word) < 4:
        return word
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + instead
    return word


class Index:
    """The words of things, each a sequence of texts with weights."""

    def __init__(self, things: Sequence[Iterable[tuple[str, float]]]) -> None:
        self._found: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, texts in enumerate(things):
            counted: defaultdict[str, float] = defaultdict(float)
            for text, weight in texts:
                for word in words_of(text):
                    counted[word] += weight
            for word, weight in counted.items():
                # Saturates: a word that is in a description ten times is not ten times as important.
                self._found[word].append((number, weight / (weight + _SATURATION)))
        self._sorted = sorted(self._found)
        self._size = len(things)

    def search(self, query: str, most: int) -> list[int]:
        """The numbers of the things that match, best first."""
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words_of(query)):
            for match, factor in self._matches(word):
                places = self._found[match]
                rarity = factor * math.log(1 + self._size / len(places))
                for number, weight in places:
                    scores[number] += rarity * weight
        # Ties in the order of the list, so that the answer is the same every time.
        return sorted(scores, key=lambda number: (-scores[number], number))[:most]

    def _matches(self, word: str) -> list[tuple[str, float]]:
        matches = [(word, 1.0)] if word in self._found else []
        if len(word) >= _SHORTEST_PREFIX:
            place = bisect_left(self._sorted, word)
            for longer in self._sorted[place : place + _MOST_PREFIXED]:
                if not longer.startswith(word):
                    break
                if longer != word:
                    matches.append((longer, _PREFIX))
        return matches
