"""PROTOCOL.md §8: the `window://` grammar, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.utils import WindowURI, is_window_uri

text = st.text(st.characters(exclude_categories=("Cs",)), min_size=1)
hosts = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9.-]{0,30}", fullmatch=True)


@pytest.mark.parametrize(
    ("uri", "host", "windows", "priority", "fullscreen"),
    [
        ("window://com.example.mcp", "com.example.mcp", [], None, None),
        ("window://h/", "h", [], None, None),
        ("window://h/main/tab1?priority=80&fullscreen=true", "h", ["main", "tab1"], 80, True),
        ("window://h/c%2Fd", "h", ["c/d"], None, None),
        ("window://h/src%2Fmain/file%20name", "h", ["src/main", "file name"], None, None),
        ("window://h/%E4%B8%AD%E6%96%87", "h", ["中文"], None, None),
        ("window://CaseKept/A", "CaseKept", ["A"], None, None),
        ("window://h?priority=0", "h", [], 0, None),
        ("window://h?priority=100", "h", [], 100, None),
        ("window://h?priority=007", "h", [], 7, None),
        ("window://h?priority=5&priority=6", "h", [], 5, None),
        ("window://h?unknown=x", "h", [], None, None),
        ("window://h/a?fullscreen=off#frag", "h", ["a"], None, False),
        *[(f"window://h?fullscreen={yes}", "h", [], None, True) for yes in ("true", "1", "yes", "on")],
        *[(f"window://h?fullscreen={no}", "h", [], None, False) for no in ("false", "0", "no", "off")],
        *[(f"window://h?fullscreen={yes}", "h", [], None, True) for yes in ("True", "TRUE", "Yes", "ON")],
        *[(f"window://h?fullscreen={no}", "h", [], None, False) for no in ("False", "NO", "oFF")],
    ],
)
def test_a_valid_uri_is_taken_apart(
    uri: str, host: str, windows: list[str], priority: int | None, fullscreen: bool | None
) -> None:
    parsed = WindowURI(uri)
    assert (parsed.mcp_id, parsed.windows, parsed.priority, parsed.fullscreen) == (host, windows, priority, fullscreen)
    assert str(parsed) == uri
    assert is_window_uri(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "window",
        "window://",
        "window:///path",
        "window://?priority=1",
        "window:h",
        "Window://h",
        "WINDOW://h",
        " window://h",
        "windows://h",
        "http://h",
        "dpe://h",
        "window://h\n",
        "window://h/a\tb",
        "window://h h",
        "window://h?priority=",
        "window://h?priority",
        "window://h?priority=-1",
        "window://h?priority=+1",
        "window://h?priority=101",
        "window://h?priority=1_0",
        "window://h?priority=1.0",
        "window://h?priority=%201",
        "window://h?priority=٣",
        "window://h?priority=0x10",
        "window://h?priority=" + "9" * 100_000,
        "window://h?fullscreen=",
        "window://h?fullscreen=maybe",
        "window://h?fullscreen=2",
        None,
        5,
        b"window://h",
    ],
)
def test_anything_else_is_invalid(uri: object) -> None:
    assert not is_window_uri(uri)
    with pytest.raises(ValueError):  # noqa: PT011  # the kind is the promise
        WindowURI(uri)  # pyright: ignore[reportArgumentType]


@given(hosts, st.lists(text), st.none() | st.integers(0, 100), st.none() | st.booleans())
def test_build_then_parse_gives_the_same_parts(
    host: str, windows: list[str], priority: int | None, fullscreen: bool | None
) -> None:
    uri = WindowURI.build_uri(host=host, windows=windows, priority=priority, fullscreen=fullscreen)
    parsed = WindowURI(uri)
    assert (parsed.mcp_id, parsed.windows, parsed.priority, parsed.fullscreen) == (host, windows, priority, fullscreen)


@given(st.text() | st.text().map(lambda rest: "window://" + rest))
def test_any_string_is_valid_or_a_value_error(uri: str) -> None:
    assert is_window_uri(uri) in (True, False)


@pytest.mark.parametrize(
    "parts",
    [
        {"host": ""},
        {"host": "a/b"},
        {"host": "a b"},
        {"host": "h", "windows": [""]},
        {"host": "h", "windows": ["\ud800"]},
        {"host": "h", "priority": 101},
        {"host": "h", "priority": -1},
    ],
)
def test_parts_without_a_valid_form_cannot_be_built(parts: dict[str, object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the kind is the promise
        WindowURI.build_uri(**parts)  # pyright: ignore[reportArgumentType]


def test_uris_compare_and_hash_as_their_strings() -> None:
    assert WindowURI("window://h/a") == WindowURI("window://h/a")
    assert len({WindowURI("window://h/a"), WindowURI("window://h/a"), WindowURI("window://h/b")}) == 2
