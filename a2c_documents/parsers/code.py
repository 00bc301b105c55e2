"""Source code: the unchanged file, in pieces that begin at its classes and functions.

Python has a parser in the standard library. For other languages a regular expression finds definitions at the beginning
of a line, which is enough to divide a file.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from a2c_documents.model import MAX_SUMMARY, Element, Facts, Page, PagesSource, Source, code
from a2c_documents.paging import paginate
from a2c_documents.parsers.common.decoding import read_text
from a2c_documents.parsers.common.plain_text import split_lines
from a2c_documents.registry import LANGUAGES, NAMES, suffix_of
from a2c_documents.wording import shortened

MAX_CODE = 32_000_000
MAX_PIECE = 400
"""Lines of a piece in code without definitions."""
_SHEBANG = re.compile(r"#!.*?\b(python|node|bash|sh|zsh|ruby|perl|php|lua)[\d.]*\s*$")
_INTERPRETERS = {"node": "javascript", "sh": "bash"}


def open_code(path: Path) -> Source:
    """A source file.

    Raises:
        UnreadableFileError: it is empty, too large, or no text.
    """
    source, encoding = read_text(path, "source file", MAX_CODE)
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    lines = split_lines(source)
    language = _language(path, lines)
    found, words = outline(source, lines, language)
    names = [definition.name for definition in found if definition.name]
    facts = Facts(
        summary=shortened(words or ", ".join(names), 2 * MAX_SUMMARY),
        details={"language": language, "lines": len(lines), "encoding": encoding},
    )
    return PagesSource(facts, paginate([Page("", list(_pieces(lines, found, language)))]))


def _language(path: Path, lines: Sequence[str]) -> str:
    suffix = suffix_of(path)
    if known := LANGUAGES.get(suffix) or NAMES.get(suffix) or NAMES.get(path.name.lower()):
        return known
    found = _SHEBANG.match(lines[0][:200]) if lines else None
    return _INTERPRETERS.get(found[1], found[1]) if found else ""


def _pieces(lines: Sequence[str], found: Sequence[Definition], language: str) -> Iterator[Element]:
    starts: dict[int, Definition | None] = {0: None}
    for definition in found:
        # A definition without a name marks the end of another one. It must not replace one that begins on the same
        # line.
        if definition.name or definition.line not in starts:
            starts[definition.line] = definition
    edges = sorted(start for start in starts if start < len(lines))
    for start, end in zip(edges, [*edges[1:], len(lines)], strict=True):
        definition = starts[start]
        named = definition is not None and bool(definition.name)
        for first, last in _cuts(lines, start, end, whole=named):
            piece = code("\n".join(lines[first:last]), language, lines=[first + 1, last])
            if definition is not None and first == start:
                piece.summary = _describe(definition)
            yield piece


def _cuts(lines: Sequence[str], start: int, end: int, *, whole: bool) -> Iterator[tuple[int, int]]:
    """Ranges without empty lines around them. Code without definitions is cut by size, if possible at an empty line."""
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    while not whole and end - start > MAX_PIECE + MAX_PIECE // 2:
        near = range(start + MAX_PIECE, start + MAX_PIECE // 2, -1)
        cut = next((number for number in near if not lines[number].strip()), start + MAX_PIECE)
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def _describe(definition: Definition) -> str:
    members = ", ".join(definition.members)
    return shortened(f"{definition.name}: {members}" if members else definition.name)


# ---------------------------------------------------------------------------------------------------------- definitions


MAX_PARSED = 2_000_000
"""Characters of Python that are parsed."""
MAX_NAMES = 12
MAX_COMMENT = 80
"""Lines at the top that are searched for a description."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or function on the top level: its first line, counted from 0, its name, and the names of its members."""

    line: int
    name: str
    members: tuple[str, ...] = ()


_NAME = r"([A-Za-z_$][\w$]*)"
_C_LIKE = (
    rf"(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|export|default|declare|data|open|"
    rf"case|async|inline|const|unsafe|pub|pub\([a-z]+\)|extern)\s+){{0,6}}"
    rf"(class|interface|enum|record|struct|trait|object|namespace|module|function\*?|func|fun|fn|type|impl|mod|protocol|"
    rf"extension|union)\s+{_NAME}"
)
_PATTERNS: dict[str, str] = {
    "go": rf"(func|type)\s+(?:\([^)]{{0,80}}\)\s*)?{_NAME}",
    "rust": _C_LIKE + r"|(impl)(?:<[^>]{0,80}>)?\s+([A-Za-z_][\w:]*)",
    "ruby": r"(class|module|def)\s+([A-Za-z_][\w.:?!]*)",
    "php": _C_LIKE,
    "sql": r"(?i:create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(table|view|function|procedure|trigger|index)"
    r"\s+(?:if\s+not\s+exists\s+)?[\"'`\[]?([\w.]+))",
    "bash": rf"(function)\s+{_NAME}|([A-Za-z_][\w-]*)\s*\(\)\s*\{{?",
    "lua": r"(?:local\s+)?(function)\s+([\w.:]+)",
    "elixir": r"(defmodule|def|defp)\s+([\w.]+)",
    "r": rf"{_NAME}\s*(?:<-|=)\s*(function)",
    "make": r"([A-Za-z_][\w.-]*)\s*:(?!=)",
    "protobuf": rf"(message|service|enum)\s+{_NAME}",
    "graphql": rf"(type|input|enum|interface|union|scalar|query|mutation)\s+{_NAME}",
    "terraform": r"(resource|data|module|variable|output|provider|locals)\s+(\"[^\"]{1,80}\"(?:\s+\"[^\"]{1,80}\")?)",
    "diff": r"(diff)\s+--git\s+(\S+)",
    "ini": r"(\[)([^\]]{1,80})\]",
    # For files that do not parse: too long, in Python 2, or with a syntax error.
    "python": rf"(?:async\s+)?(class|def)\s+{_NAME}",
    "julia": rf"(function|struct|module|macro)\s+{_NAME}",
    "perl": rf"(sub|package)\s+{_NAME}",
    "powershell": r"(?i:(function|class)\s+([\w-]+))",
}
_ARROW = re.compile(
    rf"(?:export\s+(?:default\s+)?)?(?:const|let|var)\s+{_NAME}\s*(?::[^=]{{0,80}})?=\s*(?:async\s*)?(?:\(|function|[\w$]+\s*=>)"
)
# A semicolon after the opening parenthesis shows a declaration or a call, which divides nothing.
_C_FUNCTION = re.compile(r"(?:[A-Za-z_][\w:<>*&]*\s+){1,5}[*&]{0,3}([A-Za-z_~][\w:~]*)\s*\([^;]{0,200}$")
_C_LANGUAGES = frozenset(("c", "cpp", "objective-c", "java", "csharp", "dart"))
_LEGAL = re.compile(
    r"copyright|©|\(c\) \d|licen[sc]ed? |SPDX-|all rights reserved|warrant(?:y|ies)|redistribut", re.IGNORECASE
)
_COMMENTS = ("//", "#", "--", ";", "%", "'", "*", "/*", "@", "[")


def outline(source: str, lines: Sequence[str], language: str) -> tuple[list[Definition], str]:
    """The definitions on the top level in order, and the first paragraph of the docstring or comment at the top."""
    if language == "python" and len(source) <= MAX_PARSED and (tree := _parse(source)) is not None:
        docstring = ast.get_docstring(tree)
        return _in_tree(tree, lines), _first_paragraph(docstring.split("\n") if docstring else _leading_comment(lines))
    return list(_by_pattern(lines, language)), _first_paragraph(_leading_comment(lines))


def _by_pattern(lines: Sequence[str], language: str) -> Iterator[Definition]:
    pattern = re.compile(_PATTERNS.get(language, _C_LIKE))
    for number, line in enumerate(lines):
        # Indented lines belong to a definition above them. A line this long is minified code, where the patterns take
        # long and their matches mean nothing.
        if not line[:1].strip() or len(line) > 1_000:
            continue
        if name := _named(pattern, line) or _in_family(line, language):
            yield Definition(_with_comments(lines, number), name)


def _named(pattern: re.Pattern[str], line: str) -> str:
    found = pattern.match(line)
    groups = [group for group in found.groups() if group] if found else []
    return " ".join(groups[-2:]).replace("[ ", "").strip()


def _in_family(line: str, language: str) -> str:
    if language in ("javascript", "typescript", "jsx", "tsx", "vue", "svelte"):
        found = _ARROW.match(line)
        return f"function {found[1]}" if found else ""
    if language in _C_LANGUAGES and not line.startswith(("return", "else", "if", "#", "typedef", "using", "}")):
        found = _C_FUNCTION.match(line)
        return f"function {found[1]}" if found else ""
    return ""


def _with_comments(lines: Sequence[str], number: int) -> int:
    """The first line of the comments and decorators right above a definition."""
    while number > 0 and lines[number - 1].strip().startswith(_COMMENTS):
        number -= 1
    return number


def _leading_comment(lines: Sequence[str]) -> list[str]:
    """The lines of the comments at the top, without their marks; an empty one between two comments."""
    words: list[str] = []
    block = ""
    for line in lines[:MAX_COMMENT]:
        stripped = line.strip()
        if not block and (not stripped or stripped.startswith(("#!", "<?php", "# -*-", "'use strict'"))):
            words.append("")
            continue
        if not block and stripped.startswith(("/*", "<!--", "{-", "(*")):
            block = {"/*": "*/", "<!": "-->", "{-": "-}", "(*": "*)"}[stripped[:2]]
        if block:
            words.append(stripped.replace(block, "").lstrip("/*<!-{( ").rstrip("* "))
            if block in stripped:
                words.append("")
                block = ""
        elif stripped.startswith(("//", "#", "--", ";;", "%", "REM ")) and not stripped.startswith(
            ("#include", "#define", "#[")
        ):
            words.append(re.sub(r"^(?://+!?|#+|--+|;+|%+|REM)\s?", "", stripped))
        else:
            break
    return words


def _first_paragraph(lines: Sequence[str]) -> str:
    """The first paragraph that is not a copyright or licence notice."""
    paragraphs = [" ".join(part.split()) for part in "\n".join(line.strip() for line in lines).split("\n\n")]
    return next((words for words in paragraphs if words and not _LEGAL.search(words)), "")


def _parse(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the file are not our concern
            return ast.parse(source)
    # Depending on the version of Python, null bytes raise SyntaxError or ValueError, and deep nesting raises
    # RecursionError or MemoryError.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _in_tree(tree: ast.Module, lines: Sequence[str]) -> list[Definition]:
    found: list[Definition] = []
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        # A piece begins with its decorators and with the comment directly above them.
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
        while first > 0 and lines[first - 1].startswith("#"):
            first -= 1
        if isinstance(node, ast.ClassDef):
            members = [part.name for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
            found.append(Definition(first, f"class {node.name}", tuple(members[:MAX_NAMES])))
        else:
            found.append(Definition(first, f"function {node.name}"))
        end = node.end_lineno or node.lineno
        found.append(Definition(end, ""))  # what follows is not part of it
    return found
