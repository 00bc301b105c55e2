"""§8 and §10: the Desktop as an Agent sees it, through Server and Computer, from real MCP servers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.types import ServerState
from tests.support.hosting import AUTO, shelves
from tests.support.mcp_servers import SERVERS, received
from tests.support.offices import Office, office
from tests.support.peer import request
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio


async def desktop(here: Office, **fields: Any) -> list[str]:
    answer = await here.agent.ask("client:get_desktop", request(**fields))
    assert answer["req_id"] == "r1"
    return answer["desktops"]


async def until_seen(here: Office, condition: Callable[[list[str]], bool]) -> None:
    """Look, and look again whenever the Desktop is said to have changed, as an Agent does."""
    while not condition(await desktop(here)):
        assert await here.agent.hear("notify:update_desktop") == {"computer": "pc"}


def reads(log: Path) -> list[str]:
    return [message["params"]["uri"] for message in received(log, "resources/read")]


async def settled(here: Office, name: str = "shelves", count: int = 1) -> None:
    await eventually(lambda: here.computer.status_of(name).windows == count)


async def test_every_window_of_every_page_is_rendered() -> None:
    async with office(shelves("shelves", "--windows", "250")) as here:
        await settled(here, count=250)
        shown = await desktop(here)
        assert len(shown) == 250
        assert shown[0] == "window://shelf/w0000\n\nwindow 0 "


async def test_size_and_window_narrow_it() -> None:
    async with office(shelves("shelves", "--windows", "5")) as here:
        await settled(here, count=5)
        assert len(await desktop(here, desktop_size=2)) == 2
        assert await desktop(here, desktop_size=0) == []
        assert await desktop(here, window="window://shelf/w0003") == ["window://shelf/w0003\n\nwindow 3 "]
        assert await desktop(here, window="window://shelf/nothing") == []


async def test_the_most_recently_used_server_comes_first() -> None:
    first = shelves("a", "--windows", "1", "--host", "a")
    second = shelves("b", "--windows", "1", "--host", "b", "--prefix", "b_")
    async with office(first, second) as here:
        await settled(here, "a")
        await settled(here, "b")
        assert [shown.partition("\n")[0] for shown in await desktop(here)] == ["window://a/w0000", "window://b/w0000"]
        await here.call("b_echo", {"text": "x"})
        assert [shown.partition("\n")[0] for shown in await desktop(here)] == ["window://b/w0000", "window://a/w0000"]


async def test_an_unchanged_desktop_costs_no_mcp_traffic_and_a_changed_window_one_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(shelves("shelves", "--windows", "20", "--log", str(log))) as here:
        await settled(here, count=20)
        await eventually(lambda: len(received(log, "resources/subscribe")) == 20)
        for _ in range(3):
            assert len(await desktop(here)) == 20
        assert len(reads(log)) == 20
        await here.call("set_window", {"uri": "window://shelf/w0007", "text": "changed"})
        await until_seen(here, lambda shown: "window://shelf/w0007\n\nchanged" in shown)
        assert reads(log)[20:] == ["window://shelf/w0007"]
        assert len(received(log, "resources/list")) == 1


async def test_windows_that_come_and_go_are_announced() -> None:
    async with office(shelves("shelves", "--windows", "1")) as here:
        await settled(here)
        assert len(await desktop(here)) == 1
        await here.call("set_window", {"uri": "window://shelf/new?priority=9", "text": "new"})
        await until_seen(here, lambda shown: shown[0] == "window://shelf/new?priority=9\n\nnew")
        await here.call("drop_window", {"uri": "window://shelf/w0000"})
        await until_seen(here, lambda shown: len(shown) == 1)


async def test_a_list_that_did_not_change_is_not_announced() -> None:
    async with office(shelves("shelves", "--windows", "1")) as here:
        await settled(here)
        await until_seen(here, lambda shown: len(shown) == 1)
        await here.call("relist", {"count": 50})
        await here.call("set_window", {"uri": "window://shelf/new", "text": "new"})
        await until_seen(here, lambda shown: len(shown) == 2)
        assert [event for event, _ in await here.agent.has_heard() if event == "notify:update_desktop"] == []


async def test_updates_of_other_schemes_are_no_news_of_the_desktop() -> None:
    async with office(shelves("shelves", "--windows", "1", "--documents", "1")) as here:
        await settled(here)
        await desktop(here)
        await here.agent.has_heard()
        here.agent.heard.clear()
        for uri in ("note://readme", "dpe://shelf/d00000"):
            await here.call("touch", {"uri": uri, "count": 3})
        await here.agent.hear("notify:update_finder")
        assert "notify:update_desktop" not in [event for event, _ in await here.agent.has_heard()]


async def test_changes_of_a_server_without_subscribe_reach_nobody() -> None:
    flags = ("--windows", "1", "--documents", "1", "--no-subscribe")
    async with office(shelves("shelves", *flags), shelves("other", "--host", "o", "--prefix", "o_")) as here:
        await eventually(lambda: here.computer.status_of("shelves").notes)
        await here.agent.has_heard()
        here.agent.heard.clear()
        for uri in ("window://shelf/w0000", "dpe://shelf/d00000"):
            await here.call("touch", {"uri": uri, "count": 1})
        await here.call("set_window", {"uri": "window://shelf/new", "text": "new"})
        await here.call("set_document", {"ref": "new", "fields": {}})
        await here.computer.until(lambda: "4 windows and documents" in here.computer.status_of("shelves").notes[0])
        heard = {event for event, _ in await here.agent.has_heard()}
        assert heard <= {"notify:update_resources"}, "they are neither in the Desktop nor in the Finder"


async def test_a_thousand_notices_become_a_handful_of_events_and_other_schemes_none() -> None:
    async with office(shelves("shelves", "--windows", "1")) as here:
        await settled(here)
        await here.call("touch", {"uri": "window://shelf/w0000", "count": 1000})
        await here.agent.hear("notify:update_desktop")
        await here.call("touch", {"uri": "note://readme", "count": 10})
        await here.call("sleep", {"seconds": 0.3})
        heard = [event for event, _ in await here.agent.has_heard()]
        assert heard.count("notify:update_desktop") <= 5
        assert "notify:update_finder" not in heard


async def test_a_failing_read_drops_that_window_alone_and_keeps_its_last_content() -> None:
    async with office(shelves("shelves", "--windows", "3")) as here:
        await settled(here, count=3)
        await here.call("break", {"uri": "window://shelf/w0001", "how": "error"})
        assert len(await desktop(here)) == 2
        assert any("w0001" in note for note in here.computer.status_of("shelves").notes)
        assert len(await desktop(here, window="window://shelf/w0002")) == 1
        await here.call("break", {"uri": "window://shelf/w0002", "how": "error"})
        assert "window://shelf/w0002\n\nwindow 2 " in await desktop(here)


async def test_a_slow_window_does_not_hold_up_the_others_and_is_announced_when_it_comes() -> None:
    async with office(shelves("shelves", "--windows", "3"), patience=0.3) as here:
        await settled(here, count=3)
        await here.call("break", {"uri": "window://shelf/w0001", "how": "slow"})
        assert len(await desktop(here)) == 2
        await here.call("release")
        await until_seen(here, lambda shown: len(shown) == 3)


async def test_blobs_and_nonsense_are_left_out() -> None:
    async with office(shelves("shelves", "--windows", "1")) as here:
        await settled(here)
        await here.call("set_blob", {"uri": "window://shelf/picture"})
        await here.call("break", {"uri": "window://shelf/w0000", "how": "nonsense"})
        await settled(here, count=2)
        assert await desktop(here) == []


async def test_windows_with_an_invalid_address_are_named_in_the_status_with_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wrong = ["window://shelf/a?priority=200", "window://shelf/b?priority=x", "window://shelf/c?fullscreen=perhaps"]
    async with office(shelves("shelves", "--windows", "1")) as here:
        await settled(here)
        for uri in wrong:
            await here.call("set_window", {"uri": uri, "text": "not to be seen"})
        await here.computer.until(lambda: len(here.computer.status_of("shelves").notes) == 3)
        notes = here.computer.status_of("shelves").notes
        for uri, note, reason in zip(wrong, notes, ("priority", "priority", "fullscreen"), strict=True):
            assert uri in note
            assert reason in note.removeprefix(uri)
            assert sum(uri in record.getMessage() for record in caplog.records if record.levelname == "WARNING") == 1
        assert await desktop(here) == ["window://shelf/w0000\n\nwindow 0 "]
        for uri in wrong:
            await here.call("drop_window", {"uri": uri})
        await here.computer.until(lambda: not here.computer.status_of("shelves").notes)


async def test_fullscreen_is_read_in_any_letter_case() -> None:
    async with office(shelves("shelves", "--windows", "2")) as here:
        await settled(here, count=2)
        for written in ("True", "TRUE", "Yes", "oN"):
            uri = f"window://shelf/full?fullscreen={written}"
            await here.call("set_window", {"uri": uri, "text": "all"})
            await settled(here, count=3)
            assert await desktop(here) == [f"{uri}\n\nall"]
            await here.call("drop_window", {"uri": uri})
            await settled(here, count=2)


async def test_annotations_place_a_window_whose_address_does_not() -> None:
    async with office(shelves("shelves", "--windows", "3")) as here:
        await settled(here, count=3)
        low, high, addressed = "window://shelf/w0001", "window://shelf/w0002", "window://shelf/a?priority=50"
        await here.computer.call("set_window", uri=addressed, text="text")
        # Neither a number outside of 0 to 1 nor a text counts, and neither costs the server its window.
        for uri, priority in ((low, 0.2), (high, 0.51), (addressed, 1), ("window://shelf/w0000", 7)):
            await here.computer.call("describe", uri=uri, fields={"annotations": {"priority": priority}})
        expected = [high, addressed, low, "window://shelf/w0000"]
        await until_seen(here, lambda shown: [each.partition("\n")[0] for each in shown] == expected)
        fields = {"annotations": {"priority": 0.2}, "_meta": {"fullscreen": True}}
        await here.computer.call("describe", uri=low, fields=fields)
        await until_seen(here, lambda shown: len(shown) == 1)
        assert (await desktop(here))[0].startswith(f"{low}\n")
        await here.computer.call("describe", uri=low, fields={"_meta": {"fullscreen": "true"}})
        await until_seen(here, lambda shown: len(shown) == 4)
        details = await here.computer.mcp_manager.get_windows_details()
        assert {window.uri: window.priority for window in details}[high] == 51


async def test_when_a_server_dies_its_windows_go_and_come_back_with_it() -> None:
    servers = (
        shelves("a", "--windows", "2", "--host", "a"),
        shelves("b", "--windows", "1", "--host", "b", "--prefix", "b_"),
    )
    async with office(*servers) as here:
        await settled(here, "a", 2)
        await settled(here, "b")
        assert len(await desktop(here)) == 3
        here.agent.heard.clear()
        await here.call("exit", {"code": 1})
        await here.agent.hear("notify:update_desktop")
        await here.computer.until_state("a", ServerState.READY)
        await settled(here, "a", 2)
        assert len(await desktop(here)) == 3


async def test_a_2026_07_28_server_is_listened_to() -> None:
    modern = server_from(
        {"command": sys.executable, "args": [str(SERVERS / "modern.py")], "default_tool_meta": AUTO}, "modern"
    )
    async with office(modern) as here:
        assert here.computer.status_of("modern").protocol_version == "2026-07-28"
        for content in ("one", "two", "three"):
            await here.call("set_window", {"text": content})
            await until_seen(here, lambda shown, content=content: shown == [f"window://modern/w\n\n{content}"])


async def test_without_subscribe_windows_are_gated_and_the_gate_can_be_lifted() -> None:
    gated = shelves("shelves", "--windows", "2", "--no-subscribe")
    async with office(gated) as here:
        await eventually(lambda: here.computer.status_of("shelves").notes)
        assert "require_subscribe" in here.computer.status_of("shelves").notes[0]
        assert await desktop(here) == []
    async with office(gated, require_subscribe=False) as here:
        await settled(here, count=2)
        assert len(await desktop(here)) == 2
        await here.call("set_window", {"uri": "window://shelf/w0001", "text": "nobody was told"})
        assert "window://shelf/w0001\n\nnobody was told" in await desktop(here)


async def test_the_cache_is_bounded_and_what_was_forgotten_is_read_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = shelves("shelves", "--windows", "10", "--size", "10000", "--log", str(log))
    async with office(config, cache_bytes=50_000) as here:
        await settled(here, count=10)
        await eventually(lambda: len(received(log, "resources/subscribe")) == 10)
        for _ in range(2):
            shown = [await desktop(here, window=f"window://shelf/w{n:04}") for n in range(10)]
            assert all(len(one) == 1 for one in shown)
        assert len(reads(log)) == 20
