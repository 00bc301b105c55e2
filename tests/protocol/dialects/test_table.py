"""Every dialect × event × answer, refusal, empty or malformed ack: what a Computer says, and what an Agent reads."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from a2c_smcp import smcp
from a2c_smcp.errors import (
    CapabilityMissingError,
    CrossOfficeError,
    HiddenOfficeError,
    InAnotherOfficeError,
    MCPServerNotFoundError,
    NameTakenError,
    NotFoundError,
    OfficeFullError,
    RateLimitedError,
    SMCPError,
    TimedOutError,
    ToolDisabledError,
)
from a2c_smcp.protocol.answers import failure_in
from a2c_smcp.protocol.dialects.dialect import TRANSLATED, Dialect, needs_translation
from a2c_smcp.protocol.dialects.known import DIALECTS, HOME, PLAIN, V0_2, V0_3, V0_3_0, V0_4, V0_5, dialect_named

EVENTS = sorted(event for name, event in vars(smcp).items() if name.endswith("_EVENT") and event.startswith("client:"))
ALL = list(DIALECTS.values())
OFFICIAL = [each for each in ALL if each.is_official]
RECOGNISED = [404, 4006, 4007, 4008, 4014, 4015, 4016, 4017, 4018]
"""By every official client."""


def config_of(dialect: Dialect) -> dict[str, Any]:
    """A configuration as a Computer of the dialect writes it."""
    key = "My_Server" if dialect.has_bundle_ids else "My Server!"
    entry: dict[str, Any] = {"name": "My Server!", "type": "stdio", "server_parameters": {"command": "x"}}
    if dialect.has_bundle_ids:
        entry["bundle_id"] = key
    options: list[Any] = ["a", "b"]
    if dialect.options == "objects":
        options = [{"label": "A", "value": "a"}, {"label": "b", "value": "b"}]
    pick = {"id": "i", "type": "pickString", "description": "", "options": options, "default": "b"}
    return {"servers": {key: entry}, "inputs": [pick, {"id": "j", "type": "promptString", "description": ""}]}


def tools_of(dialect: Dialect) -> dict[str, Any]:
    """A list of tools, likewise."""
    tool: dict[str, Any] = {"name": "t", "description": "d", "params_schema": {}, "return_schema": None}
    return {"tools": [{**tool, "bundle_id": "theirs"} if dialect.has_bundle_ids else tool], "req_id": "r"}


def answer_of(dialect: Dialect, event: str) -> dict[str, Any]:
    """An answer of a Computer of the dialect."""
    match event:
        case smcp.GET_CONFIG_EVENT:
            return config_of(dialect)
        case smcp.GET_TOOLS_EVENT:
            return tools_of(dialect)
        case smcp.TOOL_CALL_EVENT:
            return {"content": [{"type": "text", "text": "x"}], "isError": False, "meta": None}
        case _:
            return {"anything": [1, {"else": None}], "req_id": "r"}


def relayed(theirs: Dialect, ours: Dialect, event: str, ack: Any) -> Any:
    return ours.from_home(event, theirs.to_home(event, ack), computer="Lab PC")


def pairs(of: list[Dialect] = ALL) -> list[Any]:
    return [pytest.param(*both, id="-".join(each.name for each in both)) for both in product(of, of)]


# -------------------------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize(("theirs", "ours"), pairs())
def test_an_answer_that_all_spell_alike_is_passed_on_as_it_is(theirs: Dialect, ours: Dialect) -> None:
    for event in (event for event in EVENTS if event not in TRANSLATED):
        answer = answer_of(theirs, event)
        assert not needs_translation(event, answer)
        assert relayed(theirs, ours, event, answer) is answer


@pytest.mark.parametrize(("theirs", "ours"), pairs())
def test_every_tool_has_the_bundle_id_that_the_agent_needs(theirs: Dialect, ours: Dialect) -> None:
    answer = tools_of(theirs)
    read = relayed(theirs, ours, smcp.GET_TOOLS_EVENT, answer)
    if ours.has_bundle_ids:
        expected = "theirs" if theirs.has_bundle_ids else "Lab_PC"
        assert [tool["bundle_id"] for tool in read["tools"]] == [expected]
    if theirs.has_bundle_ids or not ours.has_bundle_ids:
        assert read is answer


@pytest.mark.parametrize(("theirs", "ours"), pairs())
def test_a_configuration_has_the_keys_and_options_that_the_agent_reads(theirs: Dialect, ours: Dialect) -> None:
    answer = config_of(theirs)
    read = relayed(theirs, ours, smcp.GET_CONFIG_EVENT, answer)
    assert list(read["servers"]) == list(config_of(ours)["servers"])
    [entry] = read["servers"].values()
    assert entry["name"] == "My Server!"
    assert ("bundle_id" in entry) >= ours.has_bundle_ids
    pick, other = read["inputs"]
    assert other == answer["inputs"][1]
    values: list[Any] = [option["value"] if isinstance(option, dict) else option for option in pick["options"]]
    assert values == ["a", "b"]
    if ours.options != "any":
        assert {type(option) for option in pick["options"]} == {dict if ours.options == "objects" else str}
    if theirs is ours:
        assert read == answer


def test_names_that_repeat_keep_their_bundle_ids_as_keys() -> None:
    entries = [("one", "same"), ("two", "same"), ("three", "other"), ("other", "fourth")]
    servers = {key: {"name": name, "bundle_id": key} for key, name in entries}
    read = V0_4.to_home(smcp.GET_CONFIG_EVENT, {"servers": servers})
    assert list(read["servers"]) == ["one", "two", "three", "fourth"]
    assert V0_4.from_home(smcp.GET_CONFIG_EVENT, read)["servers"] == servers


def test_no_mcp_server_is_left_out_because_two_have_one_id() -> None:
    servers: dict[str, Any] = {
        name: {"name": name, "type": "stdio", "server_parameters": {}} for name in ("a b", "a_b")
    }
    read = V0_4.from_home(smcp.GET_CONFIG_EVENT, {"servers": servers})
    assert [(key, entry["name"]) for key, entry in read["servers"].items()] == [("a_b", "a b"), ("a_b-2", "a_b")]
    assert [entry["bundle_id"] for entry in read["servers"].values()] == ["a_b", "a_b-2"]


def test_an_input_that_would_cost_the_whole_configuration_is_made_valid() -> None:
    pick = {"id": "i", "type": "pickString", "options": ["", "a", {"label": "", "value": "b"}, 5], "default": "gone"}
    [read] = V0_4.from_home(smcp.GET_CONFIG_EVENT, {"servers": {}, "inputs": [pick]})["inputs"]
    assert read["options"] == [{"label": "a", "value": "a"}, {"label": "b", "value": "b"}]
    assert "default" not in read


def test_a_computer_whose_name_has_no_usable_character_has_an_id_of_its_own() -> None:
    ids = {
        V0_3.from_home(smcp.GET_TOOLS_EVENT, tools_of(HOME), computer=name)["tools"][0]["bundle_id"] for name in "実験"
    }
    assert len(ids) == 2
    assert all(each.startswith("bundle_") for each in ids)


# --------------------------------------------------------------------------------------------------------------- errors


def error_of(dialect: Dialect, code: int, **details: Any) -> dict[str, Any]:
    """An error as a Computer of the dialect writes it."""
    body: dict[str, Any] = {"code": code, "message": "no"}
    if dialect.errors is None:
        return {"error": {**body, "details": details} if details else body}
    server = details.pop("mcp_server", None)
    written = {**body, **({"details": details} if details else {})}
    return {**written, dialect.errors.server_field: server} if server is not None else written


@pytest.mark.parametrize(("theirs", "ours"), pairs())
def test_an_error_of_a_computer_is_one_for_every_agent(theirs: Dialect, ours: Dialect) -> None:
    for event, code in product(EVENTS, RECOGNISED):
        given = error_of(theirs, code, reason="because")
        assert needs_translation(event, given)
        assert relayed(theirs, ours, event, given) == error_of(ours, code, reason="because")


@pytest.mark.parametrize(("theirs", "ours"), pairs())
def test_the_mcp_server_of_an_error_is_where_the_agent_looks_for_it(theirs: Dialect, ours: Dialect) -> None:
    given = error_of(theirs, MCPServerNotFoundError.code, mcp_server="git")
    assert relayed(theirs, ours, smcp.GET_RESOURCES_EVENT, given) == error_of(ours, 4014, mcp_server="git")


@pytest.mark.parametrize("ours", OFFICIAL, ids=lambda each: each.name)
@pytest.mark.parametrize("event", [event for event in EVENTS if event != smcp.TOOL_CALL_EVENT])
def test_a_code_that_a_client_does_not_recognise_is_in_the_details(ours: Dialect, event: str) -> None:
    given = error_of(HOME, 4001, tool="t")
    read = ours.from_home(event, given)
    assert read == {"code": 404, "message": "no", "details": {"tool": "t", "code": 4001}}
    assert ours.to_home(event, read) == given


@pytest.mark.parametrize("ours", ALL, ids=lambda each: each.name)
def test_a_failed_call_of_our_computer_is_a_result_for_every_agent(ours: Dialect) -> None:
    given = HOME.refused(smcp.TOOL_CALL_EVENT, ToolDisabledError("no"))
    read = ours.from_home(smcp.TOOL_CALL_EVENT, given)
    assert {key: read[key] for key in given} == given
    assert (read.get("code") == 4002) is ours.is_official


@pytest.mark.parametrize("theirs", OFFICIAL, ids=lambda each: each.name)
def test_a_result_stays_a_result_whatever_else_is_in_it(theirs: Dialect) -> None:
    result: dict[str, Any] = {"content": [], "code": 404, "message": "of a tool"}
    assert theirs.to_home(smcp.TOOL_CALL_EVENT, result) is result


ERRORS = [
    NotFoundError("gone"),
    HiddenOfficeError("elsewhere"),
    CrossOfficeError("elsewhere"),
    TimedOutError("late"),
    RateLimitedError("slow down", details={"retry_after": 1.5}),
    CapabilityMissingError("no", details={"mcp_server": "git", "capability": "resources"}),
]


@pytest.mark.parametrize("ours", ALL, ids=lambda each: each.name)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("event", EVENTS)
def test_a_rejection_of_the_server_is_an_error_for_every_agent(ours: Dialect, error: SMCPError, event: str) -> None:
    ack = ours.refused(event, error)
    failure = failure_in(ack)
    assert failure is not None
    assert failure.message == error.message
    if event == smcp.TOOL_CALL_EVENT:
        # A result for who reads results, and an error in both forms.
        code = 404 if ours.is_official and isinstance(error, CrossOfficeError) else error.code
        assert ack["isError"] is True
        assert ack["content"][0]["type"] == "text"
        assert ack["meta"]["error_code"] == ack["error"]["code"] == code
        assert ack.get("code") == (code if ours.is_official else None)
    elif ours.errors is None:
        assert ack["error"]["code"] == error.code
    else:
        assert "error" not in ack
        assert ack["code"] in ours.errors.codes
        assert ack["code"] == (error.code if error.code in RECOGNISED else 404)


def test_4104_does_not_leave_the_dialect_that_has_it() -> None:
    error = CrossOfficeError("elsewhere")
    for each in OFFICIAL:
        assert each.refused(smcp.GET_TOOLS_EVENT, error) == {"code": 404, "message": "elsewhere"}
    assert V0_5.refused(smcp.LIST_ROOM_EVENT, error)["code"] == 4104
    assert V0_4.refused(smcp.LIST_ROOM_EVENT, error)["code"] == 404


# ---------------------------------------------------------------------------------------------------------------- rooms


@pytest.mark.parametrize("event", [smcp.JOIN_OFFICE_EVENT, smcp.LEAVE_OFFICE_EVENT])
@pytest.mark.parametrize("dialect", ALL, ids=lambda each: each.name)
def test_a_join_and_a_leave_are_answered_as_each_client_reads_it(dialect: Dialect, event: str) -> None:
    refused = dialect.refused(event, NotFoundError("no"))
    if dialect is V0_5:
        assert (dialect.joined(), dialect.joined({"more": 1})) == (None, None)
        assert refused == {"code": 404, "message": "no"}
    else:
        assert dialect.joined() == (True, None)
        assert dialect.joined({"more": 1}) == (True, None, {"more": 1})
        assert refused == (False, "no (404)")


def test_0_5_has_codes_of_its_own_for_a_refused_join() -> None:
    seat = {"office_id": "o", "role": "agent"}
    expected = {"code": 4101, "message": "no", "details": seat}
    assert V0_5.refused(smcp.JOIN_OFFICE_EVENT, OfficeFullError("no", details={**seat, "agent": "a"})) == expected
    assert V0_5.refused(smcp.JOIN_OFFICE_EVENT, NameTakenError("no", details=seat)) == expected
    elsewhere = V0_5.refused(smcp.JOIN_OFFICE_EVENT, InAnotherOfficeError("no", details={"office_id": "p"}))
    assert elsewhere == {"code": 4106, "message": "no", "details": {"office_id": "p"}}


# ----------------------------------------------------------------------------------------------------- empty, malformed

REQUEST = {"agent": "a", "computer": "c", "req_id": "r", "name": "skill", "mcp_server": "git"}


@pytest.mark.parametrize("event", [*EVENTS, "client:unheard_of"])
@pytest.mark.parametrize("ours", ALL, ids=lambda each: each.name)
def test_what_a_computer_cannot_do_has_an_answer_that_the_agent_reads(ours: Dialect, event: str) -> None:
    ack = ours.cannot(event, REQUEST)
    if not ours.is_official:
        assert ack is None
    elif event == smcp.GET_SKILLS_EVENT:
        assert ack == {"skills": [], "req_id": "r"}
    else:
        expected: dict[str, tuple[int, dict[str, Any]]] = {
            smcp.GET_SKILL_EVENT: (4014, {"name": "skill"}),
            smcp.GET_BLOB_EVENT: (4018, {"reason": "invalid_handle"}),
            smcp.PUT_BLOB_EVENT: (4019, {"reason": "forbidden"}),
            smcp.GET_RESOURCES_EVENT: (4015, {}),
        }
        code, details = expected.get(event, (404, {"event": event}))
        if ours in (V0_2, V0_3_0, V0_3) and code == 4019:
            code, details = 404, {**details, "code": 4019}
        assert ack["code"] == code
        assert ack.get("details", {}) == details


def test_the_mcp_server_without_resources_is_named_as_each_version_does() -> None:
    assert V0_2.cannot(smcp.GET_RESOURCES_EVENT, REQUEST)["mcp_server_name"] == "git"
    assert V0_4.cannot(smcp.GET_RESOURCES_EVENT, REQUEST)["mcp_server"] == "git"
    assert V0_4.cannot(smcp.GET_RESOURCES_EVENT, {})["capability"] == "resources"


MALFORMED: list[Any] = [
    None, True, 7, "text", [], [1], {}, {"error": None}, {"error": "text"}, {"error": {"code": "404"}},
    {"code": True, "message": "no"}, {"code": 404}, {"code": 404, "message": None},
    {"code": 404, "error": 5, "message": ""},
    {"tools": None}, {"tools": "x"}, {"servers": 5}, {"servers": {"a": None}}, {"servers": {"a": 1, "b": {}}},
    {"servers": {}, "inputs": {}}, {"servers": {}, "inputs": [None, {"type": "pickString"}]},
    {"servers": {}, "inputs": [{"type": "pickString", "options": "abc"}]}, {"servers": []},
    {"content": None, "isError": 1},
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), pairs())
def test_what_cannot_be_understood_is_passed_on_as_it_is(theirs: Dialect, ours: Dialect) -> None:
    for event, value in product(EVENTS, MALFORMED):
        assert relayed(theirs, ours, event, value) == value


@pytest.mark.parametrize("ours", OFFICIAL, ids=lambda each: each.name)
def test_bad_entries_of_a_list_do_not_keep_the_others_from_being_read(ours: Dialect) -> None:
    tools = ours.from_home(smcp.GET_TOOLS_EVENT, {"tools": [None, "x", {"name": "t"}]}, computer="pc")["tools"]
    assert tools[:2] == [None, "x"]
    odd: dict[str, Any] = {
        "a": {"name": 5, "type": [], "server_parameters": {"args": 7, "env": "x", "headers": 3}},
        "実": {},
    }
    servers = ours.from_home(smcp.GET_CONFIG_EVENT, {"servers": odd})["servers"]
    assert len(servers) == 2


def test_a_dialect_of_a_newer_node_counts_as_plain() -> None:
    assert dialect_named("0.4") is V0_4
    assert dialect_named("9.9") is PLAIN
