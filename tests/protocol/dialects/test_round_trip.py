"""A translation to the form of this project and back changes nothing, except what is lossy by design."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp import smcp
from a2c_smcp.protocol.dialects.dialect import Dialect
from a2c_smcp.protocol.dialects.known import HOME, PLAIN, V0_2, V0_3, V0_3_0, V0_4, V0_5

OFFICIAL = [V0_2, V0_3_0, V0_3, V0_4, V0_5]

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
ids = st.from_regex(r"[A-Za-z0-9-]{1,8}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


def errors(dialect: Dialect) -> st.SearchStrategy[dict[str, Any]]:
    assert dialect.errors is not None
    own = frozenset(("code", "mcp_server", "mcp_server_name", "capability", "server_version"))
    details = st.dictionaries(words.filter(lambda key: key not in own), values, min_size=1, max_size=3)

    def write(code: int, message: str, details: dict[str, Any] | None, server: str) -> dict[str, Any]:
        written: dict[str, Any] = {"code": code, "message": message}
        if details is not None:
            written["details"] = details
        if code in (4014, 4015):
            written[dialect.errors.server_field if dialect.errors else ""] = server
        if code == 4015:
            written["capability"] = "resources"
        return written

    return st.builds(write, st.sampled_from(sorted(dialect.errors.codes - {4008})), words, st.none() | details, words)


def configurations(dialect: Dialect) -> st.SearchStrategy[dict[str, Any]]:
    def pick(options: list[str], label: str, further: dict[str, Any]) -> dict[str, Any]:
        written: list[Any] = [{"label": label, "value": each} for each in options]
        is_text = dialect.options == "texts"
        return {
            "id": "i",
            **further,
            "type": "pickString",
            "options": options if is_text else written,
            "default": options[0],
        }

    def write(entries: list[tuple[str, str]], inputs: list[Any] | None) -> dict[str, Any]:
        named: dict[str, dict[str, Any]] = {
            key: {"name": name, "type": "stdio", "server_parameters": {}} for key, name in entries
        }
        if dialect.has_bundle_ids:
            servers = {key: {**entry, "bundle_id": key} for key, entry in named.items()}
        else:
            servers = {str(entry["name"]): entry for entry in named.values()}
        return {"servers": servers} if inputs is None else {"servers": servers, "inputs": inputs}

    inputs = st.builds(pick, st.lists(words, min_size=1, max_size=3), words, st.just(dict[str, Any]())) | st.just(
        {"type": "command"}
    )
    entries = st.lists(st.tuples(ids, words | ids), max_size=4, unique_by=lambda entry: entry[0])
    return st.builds(write, entries, st.none() | st.lists(inputs, max_size=3))


def tools(dialect: Dialect) -> st.SearchStrategy[dict[str, Any]]:
    fields: dict[str, Any] = {
        "name": words,
        "description": words,
        "params_schema": st.just(dict[str, Any]()),
        "return_schema": st.none(),
    }
    if dialect.has_bundle_ids:
        fields["bundle_id"] = ids
    return st.fixed_dictionaries({"tools": st.lists(st.fixed_dictionaries(fields), max_size=3), "req_id": words})


@pytest.mark.parametrize("dialect", OFFICIAL, ids=lambda each: each.name)
@given(data=st.data())
def test_an_error_comes_back_as_it_was(dialect: Dialect, data: st.DataObject) -> None:
    for event in (smcp.GET_TOOLS_EVENT, smcp.TOOL_CALL_EVENT, smcp.GET_BLOB_EVENT):
        error = data.draw(errors(dialect))
        home = dialect.to_home(event, error)
        assert home["error"]["code"] == error["code"]
        assert dialect.from_home(event, home) == error


@pytest.mark.parametrize("dialect", OFFICIAL, ids=lambda each: each.name)
@given(data=st.data())
def test_a_configuration_comes_back_as_it_was(dialect: Dialect, data: st.DataObject) -> None:
    config = data.draw(configurations(dialect))
    home = dialect.to_home(smcp.GET_CONFIG_EVENT, config)
    assert len(home["servers"]) == len(config["servers"])
    back = dialect.from_home(smcp.GET_CONFIG_EVENT, home)
    assert back == config
    assert list(back["servers"]) == list(config["servers"])


@pytest.mark.parametrize("dialect", OFFICIAL, ids=lambda each: each.name)
@given(data=st.data())
def test_tools_come_back_as_they_were(dialect: Dialect, data: st.DataObject) -> None:
    listed = data.draw(tools(dialect))
    assert (
        dialect.from_home(smcp.GET_TOOLS_EVENT, dialect.to_home(smcp.GET_TOOLS_EVENT, listed), computer="pc") == listed
    )


@pytest.mark.parametrize("event", [smcp.TOOL_CALL_EVENT, smcp.GET_DESKTOP_EVENT, smcp.GET_SKILLS_EVENT])
@given(answer=st.dictionaries(words.filter(lambda key: key not in ("error", "code")), values, max_size=4))
def test_any_other_answer_is_not_touched(event: str, answer: dict[str, Any]) -> None:
    for dialect in (HOME, PLAIN, *OFFICIAL):
        assert dialect.to_home(event, answer) is answer
        assert dialect.from_home(event, answer) is answer


@given(label=words, value=words)
def test_the_label_of_an_option_is_lost_to_clients_that_read_texts_alone(label: str, value: str) -> None:
    pick = {"id": "i", "type": "pickString", "options": [{"label": label, "value": value}]}
    home = V0_4.to_home(smcp.GET_CONFIG_EVENT, {"servers": {}, "inputs": [pick]})
    assert HOME.from_home(smcp.GET_CONFIG_EVENT, home)["inputs"] == [pick]
    for reader in (PLAIN, V0_2):
        assert reader.from_home(smcp.GET_CONFIG_EVENT, home)["inputs"][0]["options"] == [value]


@given(names=st.lists(words, min_size=1, max_size=4, unique=True))
def test_the_grouping_of_tools_is_lost_where_none_is_known(names: list[str]) -> None:
    listed = {"tools": [{"name": name} for name in names], "req_id": "r"}
    read = V0_3.from_home(smcp.GET_TOOLS_EVENT, listed, computer="pc")
    assert {tool["bundle_id"] for tool in read["tools"]} == {"pc"}
