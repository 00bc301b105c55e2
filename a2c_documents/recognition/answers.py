"""What a recognizer answers: checked here, because any program can be one."""

from __future__ import annotations

import json
from typing import Any

from a2c_documents.loose import as_dict, as_list

MAX_LINES, MAX_RULES, MAX_TEXT = 10_000, 4_000, 5_000
MAX_NUMBER = 1e7
_CORNERS, _ENDS = 8, 4


class InvalidAnswerError(ValueError):
    """An answer has another shape than documented."""


class RefusedError(Exception):
    """The recognizer says why it could not read a picture."""

    def __init__(self, problem: str, *, is_final: bool) -> None:
        super().__init__(problem)
        self.is_final = is_final
        """Whether the picture is the reason, so that another attempt fails in the same way."""


def checked(line: bytes) -> dict[str, Any]:
    """An answer with its `lines` and `rules`, complete and in the right types.

    Raises:
        InvalidAnswerError: it has another shape.
        RefusedError: it is a problem, and no text.
    """
    try:
        answer: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidAnswerError("it is no JSON") from None
    if not isinstance(answer, dict):
        raise InvalidAnswerError("it is no object")
    body = as_dict(answer)
    if isinstance(problem := body.get("problem"), str):
        raise RefusedError(problem[:500], is_final=body.get("cause") != "machine")
    if not isinstance(body.get("lines"), list):
        raise InvalidAnswerError("it has no lines")
    return {
        "lines": [_line(as_dict(one)) for one in as_list(body["lines"])[:MAX_LINES]],
        "rules": [_numbers(one, _ENDS) for one in as_list(body.get("rules"))[:MAX_RULES]],
    }


def _line(one: dict[str, Any]) -> dict[str, Any]:
    confidence = one.get("confidence", 1.0)
    if not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise InvalidAnswerError("a confidence is no number from 0 to 1")
    return {
        "text": _text(one.get("text")),
        "confidence": float(confidence),
        "box": _numbers(one.get("box"), _CORNERS),
        "words": [_word(word) for word in as_list(one.get("words"))[:MAX_TEXT]],
    }


def _word(value: Any) -> list[Any]:
    """A word of a line: where it begins and ends, as a part of the line's length, and its text."""
    parts = as_list(value)
    return [*_numbers(parts[:2], 2), _text(parts[2] if len(parts) == 3 else None)]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidAnswerError("a line has no text")
    # Line breaks and control characters would end a line of Markdown.
    return "".join(letter if letter.isprintable() else " " for letter in value[:MAX_TEXT])


def _numbers(value: Any, count: int) -> list[float]:
    numbers = [float(one) for one in as_list(value) if isinstance(one, int | float) and abs(one) < MAX_NUMBER]
    if len(numbers) != count:
        raise InvalidAnswerError(f"{count} coordinates are expected")
    return numbers
