"""JSON with comments: the value, the line of everything, and where a mistake is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.utils.jsonc import JSONCError, has_comments, parse

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(values, st.sampled_from([None, 2]))
def test_whatever_json_writes_is_read(value: object, indent: int | None) -> None:
    assert parse(json.dumps(value, indent=indent))[0] == value


def test_comments_and_trailing_commas_are_allowed_and_lines_are_known() -> None:
    text = '// top\n{\n  "a": [1, /* two */ 2,],\n  "b": {"c//": "/* no */",}, // end\n}\n'
    value, lines = parse(text)
    assert value == {"a": [1, 2], "b": {"c//": "/* no */"}}
    assert (lines[()], lines[("a", 1)], lines[("b", "c//")]) == (2, 3, 4)


@pytest.mark.parametrize(
    ("text", "has_some"),
    [
        ('{"a": "http://x"}', False),
        (r'{"a\"//": "/*", "b": "\\"}', False),
        ('{"a": 1} // b', True),
        ('{"a": "x" /* b */}', True),
        ("// a\n1", True),
    ],
)
def test_comments_are_told_from_texts(text: str, has_some: bool) -> None:
    parse(text)
    assert has_comments(text) == has_some


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("{", 1),
        ('{"a" 1}', 1),
        ('{"a": 1\n "b": 2}', 2),
        ('{"a": 1,\n\n "a": 2}', 3),
        ("[1,\n,2]", 2),
        ('{"a": tru}', 1),
        ('{"a": "x\ny"}', 1),
        ("{} {}", 1),
        ("{'a': 1}", 1),
        ("[01]", 1),
        ("[" * 200, 1),
        ("[\n1e999]", 2),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(JSONCError) as caught:
        parse(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1 /* b\n\n', "the comment does not end"),
        ('{"a": "x', "the text in double quotes does not end"),
        ('{"a": "x\ny"}', "a line break or another control character stands in a text; write \\n for a line break"),
        (r'"\q"', 'after a \\ in a text, one of " \\ / b f n r t or u and four hexadecimal digits is expected'),
        (r'"\u12"', 'after a \\ in a text, one of " \\ / b f n r t or u and four hexadecimal digits is expected'),
        ("1e999", "the number is too large"),
    ],
)
def test_what_is_wrong_is_told_in_plain_words(text: str, message: str) -> None:
    with pytest.raises(JSONCError) as caught:
        parse(text)
    assert caught.value.message == message
