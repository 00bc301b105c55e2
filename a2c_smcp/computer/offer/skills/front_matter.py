"""The front matter of a `SKILL.md`: the part of YAML that skills use, and nothing else of it. Pure.

Values are texts, lists of texts and mappings of texts, in the usual spellings: plain, quoted, folded (`>`) and literal
(`|`) texts, lists in brackets or lines, mappings in lines. A field with another name is skipped, whatever it holds.
Anchors, tags, nested values and all else that YAML has are rejected: a text that looks harmless must not mean something
else here than to the program that reads it next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import TypeAlias

Value: TypeAlias = str | list[str] | dict[str, str]

MAX_LINES = 500
MAX_CHARACTERS = 16_384

_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)[ ]*:(?: +(.*))?")
_BLOCK = re.compile(r"([|>])[1-9]?([+-]?)[1-9]?(?: +#.*)?")
_COMMENT = re.compile(r"\s#")
_RESERVED = "&*!?%@`{}[],|>"
"""Characters with which no plain text begins."""


class FrontMatterError(ValueError):
    """The front matter is missing, or cannot be read."""


def split(text: str) -> tuple[list[str], str]:
    """The lines of the front matter, and the text after it.

    Raises:
        FrontMatterError: there is none, or it is too long.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() != "---":
        raise FrontMatterError("it does not begin with front matter (---)")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise FrontMatterError("its front matter has no end (---)")
    head = [line.rstrip() for line in lines[1:end]]
    if len(head) > MAX_LINES or sum(map(len, head)) > MAX_CHARACTERS:
        raise FrontMatterError(f"its front matter has more than {MAX_LINES} lines or {MAX_CHARACTERS} characters")
    return head, "\n".join(lines[end + 1 :]).lstrip("\r\n")


def parse(lines: Sequence[str], known: Collection[str]) -> dict[str, Value]:
    """The fields with known names.

    Raises:
        FrontMatterError: it cannot be read; the message names the line.
    """
    found: dict[str, Value] = {}
    number = 0
    while number < len(lines):
        line, start = lines[number], number
        number += 1
        if _is_empty(line):
            continue
        field = _KEY.fullmatch(line)
        if field is None:
            raise _error(start, "a field such as `name: value` is expected")
        # What is indented belongs to the field; so do the items of a list, which need not be.
        while number < len(lines) and (_is_empty(lines[number]) or lines[number].startswith((" ", "\t", "- "))):
            number += 1
        key, rest = field[1], field[2] or ""
        if key in found:
            raise _error(start, f"there is a second {key}")
        if key in known:
            try:
                found[key] = _value(rest.strip(), lines[start + 1 : number])
            except FrontMatterError as error:
                raise _error(start, f"{key}: {error}") from None
    return found


def _value(rest: str, block: Sequence[str]) -> Value:
    """The value of a field: what is on its line, and the lines below it."""
    if any("\t" in line[: len(line) - len(line.lstrip())] for line in block):
        raise FrontMatterError("it is indented with tabs")
    if rest.startswith("#"):
        rest = ""
    if (header := _BLOCK.fullmatch(rest)) is not None:
        return _block_text(block, is_folded=header[1] == ">", keeps=header[2])
    if rest:
        return _inline([rest, *block])
    lines = [line for line in block if not _is_empty(line)]
    if not lines:
        return ""
    if lines[0].lstrip().startswith("- "):
        return [_item(line) for line in lines]
    if _KEY.fullmatch(lines[0].strip()) is not None:
        return _mapping(lines)
    return _inline(lines)


def _inline(lines: Sequence[str]) -> Value:
    """A text or a list that begins on the line of its field, and may go on below."""
    first = lines[0].strip()
    if first.startswith("["):
        return _list(" ".join(_without_comment(line.strip()) for line in lines).strip())
    if first[0] in "\"'":
        return _quoted(_folded([line.strip() for line in lines]))
    return _plain(_folded([_without_comment(line.strip()) for line in lines if not line.lstrip().startswith("#")]))


def _scalar(text: str) -> str:
    return _quoted(text) if text[:1] in ("'", '"') else _plain(_without_comment(text))


def _plain(text: str) -> str:
    text = text.strip()
    if text and (text[0] in _RESERVED or text.startswith(("- ", "? "))):
        raise FrontMatterError(f"a text that begins with {text[0]} needs quotes")
    if ": " in text or text.endswith(":"):
        raise FrontMatterError("a text with a colon needs quotes")
    return text


def _quoted(text: str) -> str:
    quote = text[0]
    # The closing quote is the first one that is not escaped; after it, only a comment may follow.
    pattern = r'"((?:[^"\\]|\\.)*)"' if quote == '"' else r"'((?:[^']|'')*)'"
    match = re.match(pattern, text, re.DOTALL)
    after = text[match.end() :].strip() if match is not None else ""
    if match is None or (after and not after.startswith("#")):
        raise FrontMatterError("its quotes do not close")
    if quote == "'":
        return match[1].replace("''", "'")
    try:
        return str(json.loads(f'"{match[1]}"', strict=False))
    except ValueError:
        raise FrontMatterError("it has an escape that JSON does not know") from None


def _list(text: str) -> list[str]:
    if not text.endswith("]"):
        raise FrontMatterError("its list does not close")
    items: list[str] = []
    rest = text[1:-1].strip()
    while rest:
        item = re.match(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,\[\]{}]+)\s*(,|$)""", rest)
        if item is None:
            raise FrontMatterError("its list holds more than texts")
        items.append(_scalar(item[1].strip()))
        rest = rest[item.end() :].lstrip()
    return items


def _item(line: str) -> str:
    if not line.lstrip().startswith("- "):
        raise FrontMatterError("each line of its list begins with a dash")
    text = line.lstrip()[2:].strip()
    if text.startswith(("[", "{", "- ")):
        raise FrontMatterError("its list holds more than texts")
    return _scalar(text)


def _mapping(lines: Sequence[str]) -> dict[str, str]:
    indent = len(lines[0]) - len(lines[0].lstrip())
    found: dict[str, str] = {}
    for line in lines:
        field = _KEY.fullmatch(line.strip())
        if field is None or len(line) - len(line.lstrip()) != indent:
            raise FrontMatterError("it holds more than names and texts")
        found[field[1]] = _scalar((field[2] or "").strip())
    return found


def _block_text(lines: Sequence[str], *, is_folded: bool, keeps: str) -> str:
    """A text after `>` or `|`."""
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    if indent == 0 and any(line.strip() for line in lines):
        raise FrontMatterError("its text is not indented")
    shown = [line[indent:] for line in lines]
    text = (_folded(shown) if is_folded else "\n".join(shown)).rstrip("\n")
    return text if keeps == "-" or not text else f"{text}\n"


def _folded(lines: Sequence[str]) -> str:
    """Lines as one text: a line end is a space, and an empty line a line end."""
    text = ""
    for line in lines:
        if not line:
            text += "\n"
        else:
            text += f" {line}" if text and not text.endswith("\n") else line
    return text.rstrip()


def _without_comment(text: str) -> str:
    comment = _COMMENT.search(text)
    return text[: comment.start()].rstrip() if comment is not None else text


def _is_empty(line: str) -> bool:
    return not line or line.lstrip().startswith("#")


def _error(number: int, problem: str) -> FrontMatterError:
    # The first line is the one with the dashes.
    return FrontMatterError(f"line {number + 2}: {problem}")
