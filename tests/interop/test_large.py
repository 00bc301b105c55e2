"""A picture that is larger than the messages of any Server."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.interop.places import Places
from tests.interop.seat import OURS, SeatError
from tests.interop.seats.things import picture
from tests.interop.steps import play
from tests.interop.table import Form, Table
from tests.support.waiting import PATIENCE

HUGE = 12_000_000
"""Bytes. Official Computers read what their MCP servers send in a time that grows with the square of its size."""
SECONDS = int(2 * PATIENCE)


@pytest.fixture(scope="module")
def wanted() -> str:
    return hashlib.sha256(picture(HUGE)).hexdigest()


def get(table: Table, size: int = HUGE, **options: Any) -> dict[str, Any]:
    """What the Agent makes of the picture. Only its hash is written to the test."""
    assert not play(table, only=("connect", "join", "get_tools"))
    asked = table.agents.ask(
        "get_picture", table.agent, table.form, table.computer, table.tool("picture"), size, SECONDS, **options
    )
    return asked.result(SECONDS)


@pytest.mark.parametrize(
    ("server", "computer", "agent", "form"),
    [
        (OURS, "0.4.2", OURS, "async"),
        (OURS, OURS, "0.4.2", "async"),
        ("0.4.2", OURS, OURS, "sync"),
    ],
)
def test_it_arrives_whole(places: Places, server: str, computer: str, agent: str, form: Form, wanted: str) -> None:
    with places.table(places.server(server, "async"), agent, computer, form) as table:
        assert get(table)["sha256"] == [wanted]


def test_our_agent_saves_it(places: Places, tmp_path: Path, wanted: str) -> None:
    with places.table(places.server(OURS, "async"), OURS, "0.4.2", "sync") as table:
        saved = Path(get(table, save_to=str(tmp_path / "huge.png"))["saved"][0])
        assert saved == tmp_path / "huge.png"
        with saved.open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == wanted


def test_an_agent_that_can_only_get_it_in_one_message_gets_a_text_that_names_the_sizes(places: Places) -> None:
    with places.table(places.server(OURS, "async"), "0.1.6", "0.4.2") as table:
        made = get(table)
        assert made["sha256"] == []
        assert f"{HUGE} bytes" in made["text"]
        assert not play(table, only=("get_a_large_picture", "call_a_tool"))


@pytest.mark.parametrize("computer", [OURS, "0.1.6"])
def test_an_agent_whose_websocket_has_a_limit_keeps_its_connection(places: Places, computer: str) -> None:
    with places.table(places.server(OURS, "async"), "0.1.6", computer, "async") as table:
        made = get(table, 4_000_000)
        assert made["sha256"] == []
        assert "4000000" in made["text"]
        assert not play(table, only=("call_a_tool",))


@pytest.mark.parametrize("computer", ["0.1.6", "0.4.2"])
def test_a_computer_whose_websocket_has_a_limit_keeps_its_connection(places: Places, computer: str) -> None:
    with places.table(places.server(OURS, "async"), OURS, computer) as table:
        assert not play(table, only=("connect", "join", "get_tools"))
        with pytest.raises(SeatError) as refused:
            table.call("measure", {"text": "x" * 5_000_000})
        assert refused.value.code == 413
        assert not play(table, only=("call_a_tool",))
