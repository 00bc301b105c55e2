"""The languages of the console. English is in the templates and modules; the texts of others are in `texts/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import cast

TEXTS = Path(__file__).parent.parent / "texts"
ENGLISH = "en"
NAMES = {ENGLISH: "English", "zh": "中文"}
"""The languages, as those who speak them call them."""
MOST_HEADER = 500


@cache
def texts(language: str) -> Mapping[str, str]:
    """The texts of a language, by the English ones. English itself needs none."""
    found: dict[str, str] = {}
    for file in sorted(TEXTS.glob(f"{language}/*.json")):
        found |= cast("dict[str, str]", json.loads(file.read_text("utf-8")))
    return found


def translate(language: str, text: str, values: Mapping[str, object]) -> str:
    """A text in a language, with values in its braces. A text without a translation stays English."""
    found = texts(language).get(text, text)
    # Not `format`: a value comes from a peer, and a text could be one that somebody translated badly.
    for name, value in values.items():
        found = found.replace(f"{{{name}}}", str(value))
    return found


def choose(cookie: str | None, accept_language: str) -> str:
    """The language that a person chose, or the browser asks for."""
    if cookie in NAMES:
        return cookie
    best, chosen = 0.0, ENGLISH
    for part in accept_language[:MOST_HEADER].split(","):
        name, _, weight = part.partition(";")
        language = name.strip().lower().split("-")[0]
        try:
            value = float(weight.strip().removeprefix("q=")) if weight else 1.0
        except ValueError:
            continue
        if language in NAMES and value > best:
            best, chosen = value, language
    return chosen
