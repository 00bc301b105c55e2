"""Profiles: a query can only show less."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.gateway.described import Reader
from a2c_smcp.gateway.profile import FIELDS, InvalidProfile, Profile
from tests.support.smcp_tools import smcp_tool

READING = {"annotations": {"readOnlyHint": True}}
COMPUTERS = ("a", "b", "c")
TOOLS = Reader().read(
    {
        computer: [
            smcp_tool(f"{verb}_{server}", server=server, tags=tags, **(READING if verb == "read" else {}))
            for verb in ("read", "write")
            for server in ("files", "web")
            for tags in (["x"] if computer == "a" else ["x", "y"] if computer == "b" else [""],)
        ]
        for computer in COMPUTERS
    }
)
VALUES = {
    "computers": COMPUTERS,
    "servers": ("files", "web"),
    "tags": ("x", "y", "z", ""),
    "tools": ("read_*", "*_web", "write_files"),
}
LISTS = {
    prefix + name: st.lists(st.sampled_from(values), max_size=2)
    for name, values in VALUES.items()
    for prefix in ("", "exclude_")
}
PROFILES = st.fixed_dictionaries({}, optional={"read_only": st.booleans(), **LISTS})


def visible(profile: Profile) -> set[tuple[str, str]]:
    return {
        (computer, tool.name)
        for computer, tools in TOOLS.items()
        if profile.allows_computer(computer)
        for tool in tools
        if profile.allows(tool)
    }


@given(PROFILES, PROFILES)
def test_a_query_can_only_show_less(base: dict[str, Any], wish: dict[str, Any]) -> None:
    profile = Profile.of(base)
    query = {
        name: [str(value)] if name == "read_only" else [",".join(each for each in value if each)]
        for name, value in wish.items()
    }
    try:
        refined = profile.refined(query)
    except InvalidProfile:
        assert profile.tools, "two sets of patterns cannot be combined"
        return
    assert visible(refined) <= visible(profile)
    assert all(profile.allows_server(server) for server in ("files", "web") if refined.allows_server(server))
    alone = Profile().refined(query)
    assert visible(refined) <= visible(alone)


def test_a_query_cannot_undo_what_the_operator_set() -> None:
    profile = Profile.of({"read_only": True, "computers": ["a"], "exclude_servers": ["web"]})
    query = parse_qs("read_only=false&computers=b,c&exclude_servers=&mode=direct", keep_blank_values=True)
    refined = profile.refined(query)
    assert refined.read_only
    assert refined.mode == "direct"
    assert not any(refined.allows_computer(computer) for computer in COMPUTERS)
    assert not refined.allows_server("web")
    assert visible(Profile.of({"tags": ["x"]}).refined({"tags": ["y"]})) == set(), "also not tools with an empty tag"


def test_fields_of_a_query_are_lists_with_commas_and_repetitions() -> None:
    refined = Profile().refined(parse_qs("computers=b,a&computers=a&read_only&unknown=1", keep_blank_values=True))
    assert refined == Profile(read_only=True, computers=("a", "b"))
    assert hash(refined) == hash(Profile.of({"computers": ["a", "b"], "read_only": True})), "hosts share one view"


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("computer", "computers"),
        ("server", "servers"),
        ("tag", "tags"),
        ("tool", "tools"),
        ("readonly", "read_only"),
        ("read-only", "read_only"),
        ("Mode", "mode"),
        ("exclude_tag", "exclude_tags"),
    ],
)
def test_a_misspelled_field_does_not_show_the_whole_office(field: str, meant: str) -> None:
    with pytest.raises(InvalidProfile, match=f"{field}: unknown field; did you mean {meant}"):
        Profile().refined({field: ["x"]})


@pytest.mark.parametrize(
    "fields",
    [
        {"mode": "fast"},
        {"read_only": "perhaps"},
        {"read_only": 1},
        {"computers": 5},
        {"computers": [5]},
        {"nonsense": True},
    ],
)
def test_settings_that_mean_nothing_are_rejected_with_the_field(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidProfile, match=next(iter(fields))):
        Profile.of(fields)


def test_every_field_can_be_set() -> None:
    values: dict[str, Any] = {name: ["v"] for name in FIELDS} | {"mode": "search", "read_only": True}
    profile = Profile.of(values)
    assert {name: getattr(profile, name) for name in FIELDS} == {
        name: ("v",) if isinstance(value, list) else value for name, value in values.items()
    }
