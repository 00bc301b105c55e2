"""What is told to have changed when two states are compared."""

from __future__ import annotations

import pytest

from a2c_smcp.cli.agent.watching import differences_of, state_of


def told(before: str, after: str, total_before: int, total_after: int) -> list[str]:
    """The differences of two lists of documents, each named by a letter and its time."""
    states = [
        state_of("finder", {"documents": [_document(*each) for each in text.split()], "total_count": total})
        for text, total in ((before, total_before), (after, total_after))
    ]
    return [f"{difference.how} {difference.item.name}" for difference in differences_of(*states)]


def _document(name: str, changed: str) -> dict[str, str]:
    return {"uri": f"dpe://h/{name}", "title": name, "last_modified": changed, "server": "s"}


@pytest.mark.parametrize(
    ("before", "after", "totals", "expected"),
    [
        ("a1 b1", "a1 b1", (2, 2), []),
        ("a1 b1", "b1 a1", (2, 2), []),
        ("a1 b1", "a2 c1", (2, 2), ["changed a", "added c", "removed b"]),
        ("a1 b1", "c2 a1", (9, 9), ["changed c"]),
        ("a1 b1", "c2 a1", (9, 10), ["added c"]),
        ("a1 b1", "b1", (9, 8), ["removed a"]),
        ("a1 b1", "b1 a1", (9, 10), []),
    ],
)
def test_a_document_out_of_sight_is_not_removed(
    before: str, after: str, totals: tuple[int, int], expected: list[str]
) -> None:
    assert told(before, after, *totals) == expected
