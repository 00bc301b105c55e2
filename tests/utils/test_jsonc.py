"""JSON with comments: the value, the line of everything, and where a mistake is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.utils.jsonc import WIDTH, JSONCError, Path, has_comments, parse, with_value, without_item

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


# ------------------------------------------------------------------------------------------------------------- changing


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        ('{"a": false} // on a', ("a",), True, '{"a": true} // on a'),
        ('{"a": 1}', ("b",), True, '{"a": 1, "b": true}'),
        ('{"a": 1,}', ("b",), True, '{"a": 1, "b": true,}'),
        ("{}", ("a", "b"), 1, '{"a": {"b": 1}}'),
        ('{"a": null}', ("a", "b"), 1, '{"a": {"b": 1}}'),
        ('{"a": {"é": 1}}', ("a", "ü"), "ß", '{"a": {"é": 1, "ü": "ß"}}'),
        ("[1]", (1,), 2, "[1, 2]"),
        ("[\n  1, // one\n]", (1,), 2, "[\n  1, // one\n  2,\n]"),
        ('{\n  "a": 1 // on a\n}\n', ("b",), 2, '{\n  "a": 1, // on a\n  "b": 2\n}\n'),
        ('{\n\t"a": 1 /* on\n a */\n}', ("b",), 2, '{\n\t"a": 1, /* on\n a */\n\t"b": 2\n}'),
        ('{\r\n    "a": 1,\r\n}\r\n', ("b",), 2, '{\r\n    "a": 1,\r\n    "b": 2,\r\n}\r\n'),
        ('{\n  "a": 1}', ("b",), 2, '{\n  "a": 1,\n  "b": 2}'),
        ('{\n  "a": {\n  }\n}', ("a", "b"), 2, '{\n  "a": {\n    "b": 2\n  }\n}'),
        ('{ // mine\n}', ("b",), 2, '{ // mine\n  "b": 2\n}'),
        ('\ufeff{"a": "}"}', ("b",), "{", '\ufeff{"a": "}", "b": "{"}'),
    ],
)  # fmt: skip
def test_a_value_is_set_and_the_rest_stays(before: str, path: Path, value: object, after: str) -> None:
    assert with_value(before, path, value) == after


def test_a_long_value_is_written_in_several_lines() -> None:
    text = '{\n  "a": {\n    "x": 1\n  }\n}\n'
    assert with_value(text, ("b",), {"long": "x" * WIDTH}) == (
        f'{{\n  "a": {{\n    "x": 1\n  }},\n  "b": {{\n    "long": "{"x" * WIDTH}"\n  }}\n}}\n'
    )


objects = st.dictionaries(st.text(), values, max_size=3)
LAYOUTS: dict[str, Callable[[object], str]] = {
    "compact": json.dumps,
    "indented": lambda value: json.dumps(value, indent=2),
    "trailing commas": lambda value: re.sub(r"(?<=[^\s{\[])(\n *[}\]])", r",\1", json.dumps(value, indent=4)),
    "comments": lambda value: json.dumps(value, indent=1).replace("\n", " // } ] , \n /* \n { */"),
}


@given(objects, st.lists(st.text(), min_size=1, max_size=3), values, st.sampled_from(sorted(LAYOUTS)))
def test_whatever_is_set_is_read_again(before: dict[str, Any], keys: list[str], value: object, layout: str) -> None:
    changed = with_value(LAYOUTS[layout](before), tuple(keys), value)
    expected = before
    *way, last = keys
    for key in way:
        if not isinstance(expected.get(key), dict):
            expected[key] = {}
        expected = expected[key]
    expected[last] = value
    assert parse(changed)[0] == before


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        ('["a", "b", "c"]', 0, '["b", "c"]'),
        ('["a", "b", "c"]', 1, '["a", "c"]'),
        ('["a", "b", "c"]', 2, '["a", "b"]'),
        ('["a"]', 0, "[]"),
        ('["a", "b",]', 1, '["a", ]'),
        ('[\n  "a", // one\n  "b" // two\n]', 1, '[\n  "a" // one\n]'),
        ('[\n  "a", // one\n  "b" // two\n]', 0, '[\n  "b" // two\n]'),
        ('[\r\n  "a",\r\n  /* x */ "b"\r\n]', 0, '[\r\n  /* x */ "b"\r\n]'),
        ('["a", /* why */ "b"]', 1, '["a" /* why */ ]'),
        ('["a"]', 3, '["a"]'),
    ],
)
def test_an_item_is_removed_and_everything_else_stays(text: str, index: int, expected: str) -> None:
    assert without_item(text, (index,)) == expected
