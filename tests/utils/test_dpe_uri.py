"""PROTOCOL.md §9: the `dpe://` grammar, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.computer.utils import dpe_uri as computer_dpe_uri
from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.utils import ParsedDPEUri, build_dpe_uri, is_dpe_uri, parse_dpe_uri
from a2c_smcp.utils.dpe_uri import ELEMENT_TYPES, extend_dpe_uri, without_query

text = st.text(st.characters(exclude_categories=("Cs",)), min_size=1)
hosts = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9.-]{0,30}", fullmatch=True)
sub_paths = st.none() | st.integers(0, 10**17).map("pages/{}".format) | text.map("elements/{}".format)
known_params = st.fixed_dictionaries(
    {},
    optional={
        "format": st.sampled_from(["json", "markdown", "text"]),
        "depth": st.sampled_from(["metadata", "pages"]),
        "offset": st.integers(0, 10**17).map(str),
        "limit": st.integers(1, 100).map(str),
        "categories": st.lists(st.sampled_from(sorted(ELEMENT_TYPES)), min_size=1).map(",".join),
    },
)
KNOWN = {"format", "depth", "offset", "limit", "categories"}
unknown_params = st.dictionaries(text.filter(lambda key: key not in KNOWN), text | st.just(""))


@pytest.mark.parametrize(
    ("uri", "level", "doc_ref", "sub_path", "params"),
    [
        ("dpe://com.example.docs", 0, None, None, {}),
        ("dpe://h/", 0, None, None, {}),
        ("dpe://h?format=markdown", 0, None, None, {"format": "markdown"}),
        ("dpe://h/rpt-2026", 1, "rpt-2026", None, {}),
        ("dpe://h/pages", 1, "pages", None, {}),
        ("dpe://h/a%2Fb", 1, "a/b", None, {}),
        ("dpe://h/%E6%8A%A5", 1, "报", None, {}),
        ("dpe://h/d?depth=pages&offset=0&limit=10", 1, "d", None, {"depth": "pages", "offset": "0", "limit": "10"}),
        ("dpe://h/d/pages/0", 2, "d", "pages/0", {}),
        ("dpe://h/d/pages/12?categories=table,pivot_table", 2, "d", "pages/12", {"categories": "table,pivot_table"}),
        ("dpe://h/d/pages/1?categories=table%2Ctext", 2, "d", "pages/1", {"categories": "table,text"}),
        ("dpe://h/d/elements/tbl-001", 3, "d", "elements/tbl-001", {}),
        ("dpe://h/d/elements/a%2Fb", 3, "d", "elements/a/b", {}),
        ("dpe://h/d/elements/pages", 3, "d", "elements/pages", {}),
        ("dpe://h/d?limit=5&limit=900", 1, "d", None, {"limit": "5"}),
        ("dpe://h/d?limit=1", 1, "d", None, {"limit": "1"}),
        ("dpe://h/d?limit=100", 1, "d", None, {"limit": "100"}),
        ("dpe://h/d?x=&y", 1, "d", None, {"x": "", "y": ""}),
        ("dpe://h/d/pages/0?depth=pages", 2, "d", "pages/0", {"depth": "pages"}),
        ("dpe://h/d#fragment", 1, "d", None, {}),
    ],
)
def test_a_valid_uri_is_taken_apart(
    uri: str, level: int, doc_ref: str | None, sub_path: str | None, params: dict[str, str]
) -> None:
    host = uri.removeprefix("dpe://").split("/")[0].split("?")[0].split("#")[0]
    parsed = parse_dpe_uri(uri)
    assert parsed == ParsedDPEUri("dpe", host, doc_ref, sub_path, params)
    assert parsed.level == level
    assert is_dpe_uri(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "dpe://",
        "dpe:///d",
        "dpe://?format=json",
        "DPE://h",
        "dpe:/h",
        " dpe://h",
        "window://h",
        "dpe://h\n/d",
        "dpe://h/d/",
        "dpe://h//",
        "dpe://h//pages/0",
        "dpe://h/pages/0",
        "dpe://h/d/pages",
        "dpe://h/d/pages/",
        "dpe://h/d/pages/0/",
        "dpe://h/d/pages/-1",
        "dpe://h/d/pages/+1",
        "dpe://h/d/pages/1_0",
        "dpe://h/d/pages/٣",
        "dpe://h/d/pages/one",
        "dpe://h/d/pages/" + "9" * 100_000,
        "dpe://h/d/elements",
        "dpe://h/d/elements/",
        "dpe://h/d/elements/a/b",
        "dpe://h/d/chapters/1",
        "dpe://h/a/b",
        "dpe://h/d?format=html",
        "dpe://h/d?format=",
        "dpe://h/d?format",
        "dpe://h/d?format=JSON",
        "dpe://h/d?depth=full",
        "dpe://h/d?depth=",
        "dpe://h/d?offset=-1",
        "dpe://h/d?offset=+1",
        "dpe://h/d?offset=",
        "dpe://h/d?offset=1.5",
        "dpe://h/d?limit=0",
        "dpe://h/d?limit=101",
        "dpe://h/d?limit=ten",
        "dpe://h/d?limit=%D9%A3",
        "dpe://h/d/pages/0?categories=",
        "dpe://h/d/pages/0?categories=table,",
        "dpe://h/d/pages/0?categories=tables",
        "dpe://h/d/pages/0?limit=0",
        None,
        7,
        b"dpe://h",
    ],
)
def test_anything_else_is_4204(uri: object) -> None:
    assert not is_dpe_uri(uri)
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # a ValueError by promise
        parse_dpe_uri(uri)  # pyright: ignore[reportArgumentType]
    assert isinstance(caught.value, InvalidDPEUriError)
    assert caught.value.code == 4204


@given(hosts, text, sub_paths, known_params, unknown_params)
def test_build_then_parse_gives_the_same_parts(
    host: str, doc_ref: str, sub_path: str | None, known: dict[str, str], unknown: dict[str, str]
) -> None:
    params = {**known, **unknown}
    assert parse_dpe_uri(build_dpe_uri(host, doc_ref, sub_path, params)) == ParsedDPEUri(
        "dpe", host, doc_ref, sub_path, params
    )


@given(hosts, known_params)
def test_a_catalogue_round_trips(host: str, params: dict[str, str]) -> None:
    assert parse_dpe_uri(build_dpe_uri(host, params=params)) == ParsedDPEUri("dpe", host, None, None, params)


@given(st.text() | st.text().map(lambda rest: "dpe://" + rest))
def test_any_string_is_valid_or_4204(uri: str) -> None:
    assert is_dpe_uri(uri) in (True, False)


@pytest.mark.parametrize(
    ("host", "doc_ref", "sub_path", "params"),
    [
        ("", None, None, None),
        ("a/b", None, None, None),
        ("h", "", None, None),
        ("h", None, "pages/0", None),
        ("h", "d", "pages/x", None),
        ("h", "d", "elements/", None),
        ("h", "d", "other/1", None),
        ("h", "d", None, {"limit": "0"}),
        ("h", "\ud800", None, None),
    ],
)
def test_parts_without_a_valid_form_cannot_be_built(
    host: str, doc_ref: str | None, sub_path: str | None, params: dict[str, str] | None
) -> None:
    with pytest.raises(InvalidDPEUriError):
        build_dpe_uri(host, doc_ref, sub_path, params)


def test_page_and_element_are_read_from_the_sub_path() -> None:
    assert parse_dpe_uri("dpe://h/d/pages/007").page_index == 7
    assert parse_dpe_uri("dpe://h/d/elements/a%2Fb").element_id == "a/b"
    assert parse_dpe_uri("dpe://h/d").page_index is None
    assert parse_dpe_uri("dpe://h/d").element_id is None


def test_there_are_nineteen_element_types() -> None:
    names = "text heading list code table pivot_table chart diagram image formula link annotation header footer "
    names += "separator audio video form widget"
    assert set(names.split()) == ELEMENT_TYPES
    assert len(ELEMENT_TYPES) == 19


def test_the_parser_has_its_second_address() -> None:
    assert computer_dpe_uri.parse_dpe_uri is parse_dpe_uri


@pytest.mark.parametrize(
    ("uri", "sub_path", "params", "expected"),
    [
        ("dpe://h/rpt:2026", "pages/0", None, "dpe://h/rpt:2026/pages/0"),
        ("dpe://h/%e6%8a%a5", "pages/0", {"format": "markdown"}, "dpe://h/%e6%8a%a5/pages/0?format=markdown"),
        ("dpe://H.Example/a(b)~'c", "elements/x/y", None, "dpe://H.Example/a(b)~'c/elements/x%2Fy"),
        ("dpe://h/d/pages/3?format=text&v=%7e1#top", "elements/e 1", None, "dpe://h/d/elements/e%201?v=%7e1"),
        ("dpe://h/d?v=a&limit=5", None, {"depth": "pages"}, "dpe://h/d?v=a&depth=pages"),
        ("dpe://h/d?v=a", None, {"v": "b"}, "dpe://h/d?v=b"),
        ("dpe://h/d/elements/e", None, None, "dpe://h/d"),
    ],
)
def test_an_address_is_extended_as_it_was_written(
    uri: str, sub_path: str | None, params: dict[str, str] | None, expected: str
) -> None:
    assert extend_dpe_uri(uri, sub_path, params) == expected


@pytest.mark.parametrize(
    ("uri", "sub_path", "params"),
    [
        ("dpe://h", "pages/0", None),
        ("http://h/d", None, None),
        ("dpe://h/d", "pages/x", None),
        ("dpe://h/d", "elements/", None),
        ("dpe://h/d", None, {"limit": "0"}),
    ],
)
def test_what_cannot_be_an_address_is_not_built(uri: str, sub_path: str | None, params: dict[str, str] | None) -> None:
    with pytest.raises(InvalidDPEUriError):
        extend_dpe_uri(uri, sub_path, params)


@given(hosts, text, sub_paths, sub_paths, known_params, unknown_params)
def test_an_extended_address_names_the_same_document(
    host: str, doc_ref: str, old: str | None, new: str | None, params: dict[str, str], further: dict[str, str]
) -> None:
    uri = extend_dpe_uri(build_dpe_uri(host, doc_ref, old, {"limit": "3", **further}), new, params)
    assert parse_dpe_uri(uri) == ParsedDPEUri("dpe", host, doc_ref, new, {**further, **params})
    assert parse_dpe_uri(without_query(uri)) == ParsedDPEUri("dpe", host, doc_ref, new)


@pytest.mark.parametrize("uri", ["dpe://", "http://h", "dpe://h/d/pages/x", "dpe://h/d?limit=0", ""])
def test_an_invalid_uri_is_in_the_details_of_its_error(uri: str) -> None:
    with pytest.raises(InvalidDPEUriError) as caught:
        parse_dpe_uri(uri)
    assert (caught.value.code, caught.value.details) == (4204, {"uri": uri})


def test_a_long_invalid_uri_is_cut_in_the_details() -> None:
    with pytest.raises(InvalidDPEUriError) as caught:
        parse_dpe_uri("dpe://h/d/" + "x" * 100_000)
    assert len(str(caught.value.details)) < 3_000
