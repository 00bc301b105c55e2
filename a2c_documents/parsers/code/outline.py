"""Where the definitions of a source file begin, and what it says about itself at its top."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_PARSED = 2_000_000
"""Characters of Python that are worth a syntax tree."""
MAX_NAMES = 12
MAX_COMMENT = 80
"""Lines at the top in which a file may say what it is."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or function on the top level: its first line, counted from 0, and what to call it."""

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
    "python": rf"(?:async\s+)?(class|def)\s+{_NAME}",
    "julia": rf"(function|struct|module|macro)\s+{_NAME}",
    "perl": rf"(sub|package)\s+{_NAME}",
    "powershell": r"(?i:(function|class)\s+([\w-]+))",
}
_ARROW = re.compile(
    rf"(?:export\s+(?:default\s+)?)?(?:const|let|var)\s+{_NAME}\s*(?::[^=]{{0,80}})?=\s*(?:async\s*)?(?:\(|function|[\w$]+\s*=>)"
)
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
    """A comment or decorator right above belongs to the definition."""
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
    """The first that is about the file; who owns it and what one may do with it says nothing about that."""
    paragraphs = [" ".join(part.split()) for part in "\n".join(line.strip() for line in lines).split("\n\n")]
    return next((words for words in paragraphs if words and not _LEGAL.search(words)), "")


def _parse(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the author's escapes are worth is not asked here
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _in_tree(tree: ast.Module, lines: Sequence[str]) -> list[Definition]:
    found: list[Definition] = []
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
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
