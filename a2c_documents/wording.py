"""How numbers and long texts are told to a person."""

from __future__ import annotations

from a2c_documents.model import MAX_SUMMARY


def counted(number: int, what: str) -> str:
    """ "1 page", "2,500 pages"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def shortened(words: str, longest: int = MAX_SUMMARY) -> str:
    """As many words as there is room for, and a sign that there are more; `longest` is in characters."""
    if len(words) <= longest:
        return words
    cut = words[: longest - 1]
    gap = cut.rfind(" ", longest // 2)
    return f"{(cut if gap < 0 else cut[:gap]).rstrip(' ,;')}…"


def size_words(size: int) -> str:
    """ "12.3 kB"."""
    for unit, factor in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return counted(size, "byte")
