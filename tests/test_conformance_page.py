"""`docs/conformance.md`: every requirement names a test that exists, or the decision that replaces it."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "conformance.md"
DOCUMENTS = ["Architecture", "The Computer's Socket.IO client", "Desktop", "Finder", "Finder SDK guide"]
ROWS = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ") and "Verified by" not in line]


@functools.cache
def functions_of(path: Path) -> frozenset[str]:
    """The names of the functions and methods of a file; a method's with its class, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            found |= {f"{node.name}::{method.name}" for method in methods}
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.add(f"{node.targets[0].id}::runTest")  # a state machine of hypothesis
    return frozenset(found)


def cells_of(row: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def test_every_document_has_its_requirements() -> None:
    sections = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert [section.splitlines()[0] for section in sections] == DOCUMENTS
    assert len(ROWS) >= 323
    assert all(section.count("\n| ") >= 50 for section in sections)


def test_every_requirement_names_a_test_or_a_decision() -> None:
    for row in ROWS:
        requirement, proof = cells_of(row)
        assert requirement.endswith("."), row
        assert re.match(r"`[\w/]+\.py::|Decision: |\[", proof), row


@pytest.mark.parametrize("reference", sorted(set(re.findall(r"`([\w/]+\.py::[^`]+)`", "\n".join(ROWS)))))
def test_every_named_test_exists(reference: str) -> None:
    path, _, name = reference.partition("::")
    assert name in functions_of(TESTS / path)
