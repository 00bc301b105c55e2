"""Lists over several Computers, page by page."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

from a2c_smcp.errors import MalformedRequestError, NotFoundError, NotSupportedError, SMCPError, TimedOutError
from a2c_smcp.gateway.paging import MOST_EMPTY, PAGE_BYTES, page
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


class Pages:
    """Computers with items, two in a page. A cursor is a position."""

    def __init__(self, **items: list[str] | SMCPError) -> None:
        self.items = items
        self.asked = 0

    async def fetch(self, computer: str, cursor: str | None) -> tuple[list[str], str | None]:
        self.asked += 1
        items = self.items.get(computer, NotFoundError("it left"))
        if isinstance(items, SMCPError):
            raise items
        if cursor is not None and not cursor.isdigit():
            raise MalformedRequestError("cursor: there is no such page")
        start = int(cursor or 0)
        end = start + 2
        return items[start:end], str(end) if end < len(items) else None

    async def everything(self, *, leaving: str | None = None) -> list[str]:
        """The items of all pages; a Computer leaves after the first page."""
        found, cursor = await page(list(self.items), None, self.fetch, full=1)
        if leaving is not None:
            del self.items[leaving]
        while cursor is not None:
            items, cursor = await page(list(self.items), cursor, self.fetch, full=1)
            found += items
        return found


async def test_all_items_of_all_computers_are_listed_in_the_order_of_their_names() -> None:
    pages = Pages(b=["b1"], a=["a1", "a2", "a3"], d=[], c=["c1", "c2"])
    assert await pages.everything() == ["a1", "a2", "a3", "b1", "c1", "c2"]
    assert await Pages().everything() == []
    assert await Pages(a=[], b=[]).everything() == []


async def test_a_page_goes_on_over_the_next_computers_until_it_is_full() -> None:
    pages = Pages(a=["a1", "a2", "a3"], b=["b1"], c=["c1", "c2", "c3", "c4"])
    assert await page(list(pages.items), None, pages.fetch, full=8) == (
        ["a1", "a2", "a3", "b1", "c1", "c2", "c3", "c4"], None,
    )  # fmt: skip
    items, cursor = await page(list(pages.items), None, pages.fetch, full=5)
    assert items == ["a1", "a2", "a3", "b1", "c1", "c2"]
    assert await page(list(pages.items), cursor, pages.fetch) == (["c3", "c4"], None)


async def test_a_page_stays_below_the_size_that_hosts_accept() -> None:
    large = "x" * (PAGE_BYTES // 3)
    pages = Pages(a=[large, large], b=[large], c=["c1"])
    first, cursor = await page(list(pages.items), None, pages.fetch)
    assert (len(first), cursor is None) == (2, False)
    assert await page(list(pages.items), cursor, pages.fetch) == ([large, "c1"], None)


async def test_a_computer_that_is_slow_or_fails_has_a_page_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("a2c_smcp.gateway.paging.FILL_SECONDS", 0.05)
    go_on = asyncio.Event()
    pages = Pages(a=["a1"], b=["b1"], c=TimedOutError("slow"), d=["d1"])

    async def fetch(computer: str, cursor: str | None) -> tuple[list[str], str | None]:
        if computer == "b":
            await go_on.wait()
        return await pages.fetch(computer, cursor)

    async with asyncio.timeout(PATIENCE):
        items, cursor = await page(list(pages.items), None, fetch)
        assert (items, cursor is None) == (["a1"], False)
        go_on.set()
        items, cursor = await page(list(pages.items), cursor, fetch)
        assert (items, cursor is None) == (["b1"], False)
        assert await page(list(pages.items), cursor, fetch) == (["d1"], None)


@pytest.mark.parametrize(
    ("leaving", "expected"),
    [("a", ["a1", "a2", "b1", "c1"]), ("b", ["a1", "a2", "a3", "c1"]), ("c", ["a1", "a2", "a3", "b1"])],
)
async def test_a_computer_may_leave_between_two_pages(leaving: str, expected: list[str]) -> None:
    pages = Pages(a=["a1", "a2", "a3"], b=["b1"], c=["c1"])
    assert await pages.everything(leaving=leaving) == expected


async def test_a_computer_that_fails_does_not_hide_the_others_and_alone_it_fails() -> None:
    assert await Pages(a=TimedOutError("slow"), b=["b1"], c=NotSupportedError()).everything() == ["b1"]
    with pytest.raises(TimedOutError):
        await Pages(a=TimedOutError("slow")).everything()
    assert await Pages(a=NotFoundError("it left")).everything() == []
    assert await Pages(a=NotSupportedError("an old Computer")).everything() == []


def written(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "äö",
        "\ud800",
        written(5),
        written(["a"]),
        written(["a", 5]),
        written([1, None]),
        written(["a", "nonsense"]),
    ],
)
async def test_an_invalid_cursor_is_rejected(cursor: str) -> None:
    with pytest.raises(MalformedRequestError):
        await page(["a", "b"], cursor, Pages(a=["a1"], b=["b1"]).fetch)


async def test_a_cursor_of_a_computer_that_is_unknown_goes_on_with_the_next() -> None:
    pages = Pages(a=["a1"], c=["c1"])
    assert await page(["a", "c"], written(["b", "7"]), pages.fetch) == (["c1"], None)


async def test_pages_without_items_are_passed_over_but_not_for_ever() -> None:
    asked: list[str | None] = []

    async def fetch(computer: str, cursor: str | None) -> tuple[list[str], str | None]:
        asked.append(cursor)
        return [], str(len(asked))

    items, cursor = await page(["a"], None, fetch)
    assert items == []
    assert cursor is not None, "a host may go on"
    assert len(asked) == MOST_EMPTY
