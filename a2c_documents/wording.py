"""Numbers and long texts in words for people."""

from __future__ import annotations

from a2c_documents.model import MAX_SUMMARY


def counted(number: int, what: str) -> str:
    """ "1 page", "2,500 pages"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def shortened(words: str, longest: int = MAX_SUMMARY) -> str:
    """The words that fit into `longest` characters, with an ellipsis if there are more."""
    if len(words) <= longest:
        return words
    cut = words[: longest - 1]
    # Cut at a space, if there is one in the second half. Scripts without spaces are cut anywhere.
    gap = cut.rfind(" ", longest // 2)
    return f"{(cut if gap < 0 else cut[:gap]).rstrip(' ,;')}…"


def size_words(size: int) -> str:
    """ "12.3 kB"."""
    for unit, factor in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return counted(size, "byte")
