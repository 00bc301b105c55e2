"""What an Agent and a Computer do with each other, step by step, through the public API of their SDK.

Each step raises if it does not work. The steps follow each other in one office. Those that may cost a peer its
connection are the last ones.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tests.interop.seat import OURS, SeatError
from tests.interop.seats.things import QUESTION, WINDOW, picture
from tests.interop.table import NAMESPACE, Table

Step = Callable[[Table], None]
STEPS: dict[str, Step] = {}
"""All steps, in their order."""
NECESSARY = ("connect", "join")
"""Without these there is no use in going on."""
SHORT = 3.0
"""Seconds for a step that is not expected to work, because an answer never comes."""
LARGE = 2_000_000
LONG = 30
"""Seconds that a tool takes if nobody ends it."""


def step(work: Step) -> Step:
    STEPS[work.__name__] = work
    return work


def play(table: Table, hopeless: Collection[str] = (), only: Collection[str] | None = None) -> dict[str, str]:
    """Take the steps, and give those that fail with the reason; those that are `hopeless` get little time."""
    failed: dict[str, str] = {}
    for name, work in STEPS.items():
        if only is not None and name not in only:
            continue
        blocking = next((each for each in NECESSARY if each in failed), None)
        if blocking is not None:
            failed[name] = f"not reached: {blocking} fails"
            continue
        try:
            work(replace(table, patience=SHORT) if name in hopeless else table)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"[:300]
    return failed


# ----------------------------------------------------------------------------------------------------------- the office


@step
def connect(table: Table) -> None:
    table.ask("connect_to_server", table.url)
    reach = "reach" if table.computers.version == OURS else "connect"
    table.have(reach, table.url, **table.credentials)


@step
def join(table: Table) -> None:
    table.ask("join_office", table.office, table.agent, namespace=NAMESPACE)
    table.until(lambda: table.agent in names(table))
    table.have("join_office", table.office)


@step
def see_the_computer_enter(table: Table) -> None:
    table.hears("enter", lambda data: data["computer"] == table.computer)


@step
def list_the_members(table: Table) -> None:
    found = table.ask("get_computers_in_office", table.office)
    assert table.computer in [session["name"] for session in found if session["role"] == "computer"]


@step
def receive_tools_of_a_newcomer(table: Table) -> None:
    table.hears("tools", lambda data: data["computer"] == table.computer and bool(data["tools"]))


# ------------------------------------------------------------------------------------------------------------ the tools


@step
def get_tools(table: Table) -> None:
    found = table.ask("get_tools_from_computer", table.computer)
    echo = next(tool for tool in found["tools"] if tool["name"].endswith("echo"))
    assert echo["description"] == "The tool echo."
    assert echo["params_schema"]["required"] == ["text"]


@step
def call_a_tool(table: Table) -> None:
    result = table.call("echo", {"text": "grüß dich"})
    assert not result["isError"]
    assert result["content"][0]["text"] == "grüß dich"


@step
def hear_that_a_tool_failed(table: Table) -> None:
    result = table.call("fail", {"text": "broken"})
    assert result["isError"]
    assert result["content"][0]["text"] == "broken"


@step
def call_a_tool_that_does_not_exist(table: Table) -> None:
    try:
        result = table.ask("emit_tool_call", table.computer, "nothing", {}, int(table.patience))
    except SeatError:
        return
    assert result["isError"]


@step
def call_a_tool_that_reports_its_progress(table: Table) -> None:
    result = table.call("report", {})
    assert not result["isError"]
    assert result["content"][0]["text"] == "reported"


@step
def call_a_tool_that_asks_a_question(table: Table) -> None:
    result = table.call("ask", {})
    words = result["content"][0]["text"]
    if result["isError"]:  # the Agent, or the Server between it and ours, does not know the fields of a question
        assert table.computers.version == OURS
        assert QUESTION in words
    else:  # our Agent declines it; at the others, nobody can be asked
        assert words in ("the answer is decline", "the answer is error", "nobody can be asked")
    assert table.call("echo", {"text": "still here"})["content"][0]["text"] == "still here"


@step
def time_out(table: Table) -> None:
    begun = time.monotonic()
    result = table.call("sleep", {"seconds": LONG}, timeout=1)
    assert result["isError"]
    assert time.monotonic() - begun < LONG / 2


@step
def cancel(table: Table) -> None:
    note = table.folder / f"{table.office}.cancel"
    call = {"agent": table.agent_id, "computer": table.computer, "req_id": f"cancel-{table.office}"}
    call |= {"tool_name": table.tool("sleep"), "params": {"seconds": LONG, "note": str(note)}, "timeout": LONG * 2}
    begun = time.monotonic()
    answer = table.begin("call", "client:tool_call", call, namespace=NAMESPACE, timeout=LONG * 2)
    table.until(note.exists)
    cancelled = {"agent": table.agent, "req_id": call["req_id"]}
    table.ask("emit", "server:tool_call_cancel", cancelled, namespace=NAMESPACE)
    assert answer.result(table.patience)["isError"]
    assert time.monotonic() - begun < LONG / 2


# --------------------------------------------------------------------------------------------------- what else there is


@step
def get_the_configuration(table: Table) -> None:
    found = table.event("client:get_config")
    configured = next(iter(found["servers"].values()))
    assert configured["name"] == "things"
    assert configured["server_parameters"]["env"]["COLOR"] == "${input:color}"
    pick = next(each for each in found["inputs"] if each["id"] == "color")
    assert [value_of(option) for option in pick["options"]] == ["red", "green"]


@step
def read_the_configuration(table: Table) -> None:
    found = table.ask("get_config_from_computer", table.computer)
    assert next(iter(found["servers"].values()))["name"] == "things"
    assert [each["id"] for each in found["inputs"]] == ["color"]


@step
def get_the_desktop(table: Table) -> None:
    found = table.ask("get_desktop_from_computer", table.computer)
    assert any(WINDOW in window and "on the board" in window for window in found["desktops"])


@step
def list_resources(table: Table) -> None:
    found = table.event("client:get_resources", mcp_server="things")
    assert [resource["uri"] for resource in found["resources"]] == [WINDOW]


@step
def list_skills(table: Table) -> None:
    assert table.event("client:get_skills")["skills"] == []


@step
def hear_that_there_is_no_such_skill(table: Table) -> None:
    assert code_of(table.event("client:get_skill", name="nothing")) == 4014


@step
def hear_that_there_is_no_such_blob(table: Table) -> None:
    assert code_of(table.event("client:get_blob", blob_handle="nothing")) == 4018


@step
def hear_that_nothing_may_be_uploaded(table: Table) -> None:
    content = b"hello"
    declared = {"total_size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "eof": True}
    blob = base64.b64encode(content).decode()
    assert code_of(table.event("client:put_blob", chunk_offset=0, blob=blob, **declared)) == 4019


@step
def hear_that_there_is_no_such_computer(table: Table) -> None:
    try:
        code = code_of(table.event("client:get_tools", computer="nobody"))
    except SeatError as error:  # our Agent knows who is there, and does not ask
        code = error.code
    assert code == 404
    begun = time.monotonic()
    with suppress(SeatError):  # what each release makes of it
        table.ask("get_tools_from_computer", "nobody", timeout=LONG)
        raise AssertionError("there is an answer")
    assert time.monotonic() - begun < LONG / 2


# -------------------------------------------------------------------------------------------------------------- changes


@step
def hear_of_a_new_configuration(table: Table) -> None:
    table.have("emit_update_config")
    table.hears("config", lambda data: data["computer"] == table.computer)


@step
def receive_tools_that_are_new(table: Table) -> None:
    table.call("grow", {"name": "grown"})
    table.hears("tools", lambda data: any(name.endswith("grown") for name in data["tools"]))


@step
def see_the_computer_leave(table: Table) -> None:
    table.have("leave_office", table.office)
    table.hears("leave", lambda data: data.get("computer") == table.computer)
    table.until(lambda: table.computer not in names(table))


@step
def see_the_computer_return(table: Table) -> None:
    before = len(table.agents.heard(table.agent, "enter"))
    table.have("join_office", table.office)
    table.hears("enter", lambda data: data["computer"] == table.computer, after=before)
    assert table.call("echo", {"text": "again"})["content"][0]["text"] == "again"


@step
def leave_and_return(table: Table) -> None:
    table.ask("leave_office", table.office, namespace=NAMESPACE)
    table.ask("join_office", table.office, table.agent, namespace=NAMESPACE)
    table.until(lambda: table.agent in names(table))
    assert table.call("echo", {"text": "again"})["content"][0]["text"] == "again"


# ------------------------------------------------------------------------------------------------------------- pictures


@step
def get_a_picture(table: Table) -> None:
    assert picture_from(table, LARGE // 10) == picture(LARGE // 10)


@step
def get_a_large_picture(table: Table) -> None:
    assert picture_from(table, LARGE) == picture(LARGE)


@step
def give_a_large_picture(table: Table) -> None:
    data = base64.b64encode(picture(LARGE)).decode()
    assert table.call("measure", {"text": data})["content"][0]["text"] == str(len(data))


# -------------------------------------------------------------------------------------------------------------- helpers


def names(table: Table) -> list[str]:
    """Those who are in the office."""
    return [session["name"] for session in table.event("server:list_room", office_id=table.office)["sessions"]]


def picture_from(table: Table, size: int) -> bytes:
    """A picture that a tool gives."""
    item = table.call("picture", {"bytes": size})["content"][0]
    return base64.b64decode(item["data"])


def code_of(answer: dict[str, Any]) -> int:
    """The code of an error, flat or nested."""
    return answer.get("error", answer)["code"]


def value_of(option: Any) -> str:
    """The value of a pick option in either form."""
    return option if isinstance(option, str) else option["value"]
