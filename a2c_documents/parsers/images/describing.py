"""What is said of a picture."""

from __future__ import annotations

_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？")


def described(about: str, what: str) -> str:
    """What its author says about a picture, where he does, and then what kind of picture it is."""
    if not about:
        return what
    return f"{about}{'' if about.endswith(_SENTENCE_ENDS) else '.'} {what}"
