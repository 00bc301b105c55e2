"""JSON, YAML, TOML, XML and JSON lines."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from a2c_documents.model import UnreadableFileError
from a2c_documents.paging import size_of
from a2c_documents.parsers.data.data_file import open_data
from tests.support.documents.reading import Read, read


def shown(folder: Path, name: str, content: Any) -> Read:
    return read(open_data, folder / name, content if isinstance(content, str | bytes) else json.dumps(content))


def categories(found: Read) -> list[str]:
    return [one.category for one in found.elements]


# ----------------------------------------------------------------------------------------------------------------- JSON


def test_an_outline_names_keys_types_and_counts(tmp_path: Path) -> None:
    data = {
        "title": "T",
        "n": 1.5,
        "on": True,
        "none": None,
        "tags": ["a", "b"],
        "deep": {"list": [{"x": 1}, {"x": 2}]},
    }
    found = shown(tmp_path, "a.json", data)
    deep = {"text": "list: list of 2 objects (x)", "items": ["x: 1"], "ordered": False}
    assert found.of("list")[0]["items"] == [
        'title: "T"',
        "n: 1.5",
        "on: true",
        "none: null",
        "tags: list of 2 texts",
        {"text": "deep: object with 1 key", "items": [deep], "ordered": False},
    ]
    assert found.elements[0].summary == "Structure: object with 6 keys"
    assert found.facts.title == "T"


@pytest.mark.parametrize(
    ("name", "content", "summary"),
    [
        ("a.json", '{"description": "What\\n it is", "x": 1}', "What it is"),
        ("a.json", '{"id": 1, "users": [{"a": 1}, {"a": 2}]}', "Object with 2 keys: id, users (2)"),
        ("a.json", '[{"a": 1}, {"a": 2}]', "List of 2 objects (a)"),
        ("a.json", "7", "7"),
        ("a.yaml", "a: 1\n---\nb: 2\n", "List of 2 objects (a, b)"),
        ("a.toml", "[tool]\nx = 1\n", "Object with 1 key: tool"),
        ("a.xml", "<all><b/><b/></all>", "Object with 1 key: b (2)"),
        ("a.jsonl", "1\n", "1 line of JSON"),
        ("a.json", "{", ""),
    ],
)
def test_a_summary_says_what_the_data_are(tmp_path: Path, name: str, content: str, summary: str) -> None:
    found = shown(tmp_path, name, content)
    assert (found.facts.summary, found.facts.title, found.titles) == (summary, "", [""])


def test_similar_objects_are_a_table(tmp_path: Path) -> None:
    found = shown(tmp_path, "a.json", [{"id": 1, "name": "Ada"}, {"id": 2, "name": None, "tags": ["x"]}, {"id": 3.5}])
    assert categories(found) == ["list", "table"]
    rows = [["1", "Ada", ""], ["2", "", '["x"]'], ["3.5", "", ""]]
    assert found.of("table") == [{"headers": ["id", "name", "tags"], "rows": rows}]


def test_tables_inside_an_object_are_tables_too(tmp_path: Path) -> None:
    found = shown(tmp_path, "a.json", {"v": 1, "users": [{"a": 1}, {"a": 2}]})
    assert categories(found) == ["list", "code", "heading", "table"]
    assert found.of("code") == [{"code": '{\n  "v": 1\n}', "language": "json"}]
    assert found.of("heading") == [{"level": 2, "text": "users"}]


@pytest.mark.parametrize(
    "data", [[{"a": 1}], [{"a": 1}, 2], [{"a": {"b": 1}}, {"a": {"b": 2}}], [{"a": 1}, {"b": 1}, {"c": 1}]]
)
def test_what_is_no_table_is_shown_as_it_is(tmp_path: Path, data: Any) -> None:
    assert categories(shown(tmp_path, "a.json", data)) == ["list", "code"]


def test_written_json_keeps_its_lines_and_minified_json_gets_some(tmp_path: Path) -> None:
    written = '{\n   "a" : [1,\n 2]\n}\n'
    found = shown(tmp_path, "a.json", written)
    assert (found.of("code")[0]["code"], found.elements[1].metadata) == (written.rstrip(), {"lines": [1, 4]})
    found = shown(tmp_path, "b.json", {"a": list(range(300)), "ü": "ö"})
    assert found.of("code")[0]["code"].startswith('{\n  "a": [\n    0,')
    assert '"ü": "ö"' in found.of("code")[0]["code"]


def test_a_long_table_continues_on_further_pages(tmp_path: Path) -> None:
    found = shown(tmp_path, "a.json", [{"id": number, "words": "w" * 50} for number in range(10_000)])
    assert len(found.pages) > 3
    assert sum(len(one["rows"]) for one in found.of("table")) == 10_000
    assert all(sum(map(size_of, page)) <= 200_000 for page in found.pages)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '{"a": [1, 2}'),
        ("a.json", "[" * 200_000),
        ("a.json", "[" * 200_000 + "]" * 200_000),
        ("a.yaml", "a: [1\nb: }"),
        ("a.yaml", "[" * 100_000),
        ("a.yaml", "- " * 5_000 + "x"),
        ("a.yaml", "!!python/object/apply:os.system ['true']"),
        ("a.yaml", "&a [*a]"),
        ("a.toml", "a = "),
        ("a.toml", "a = " + "[" * 50_000 + "]" * 50_000),
        ("a.xml", "<a><b></a>"),
    ],
)
def test_broken_or_hostile_data_are_shown_as_text_with_the_reason(tmp_path: Path, name: str, content: str) -> None:
    found = shown(tmp_path, name, content)
    assert found.elements[0].category == "annotation"
    assert found.elements[0].content["text"].startswith("This is no valid ")
    assert "".join(one["code"] for one in found.of("code")) == content


def test_odd_values_can_be_sent_on(tmp_path: Path) -> None:
    found = shown(tmp_path, "a.json", '[{"a": "\\ud800", "n": ' + "9" * 5_000 + '}, {"a": "x", "n": 1}]')
    assert found.of("table")[0]["rows"][0] == ["\ufffd", "9" * 5_000]


def test_only_an_integer_of_too_many_digits_is_text(tmp_path: Path) -> None:
    found = shown(tmp_path, "a.json", '{"a": 1, "b": ' + "9" * 5_000 + ', "c": [-2]}')
    assert found.of("list")[0]["items"] == ["a: 1", f'b: "{"9" * 59}…"', "c: list of 1 number"]


# -------------------------------------------------------------------------------------------------------- YAML and TOML


def test_yaml_is_shown_as_it_is_written(tmp_path: Path) -> None:
    words = "# A comment\nbase: &b {k: v}\nuse: *b\nwhen: 2024-01-02\ncloud: !Ref Thing\n"
    found = shown(tmp_path, "a.yml", words)
    assert found.of("code") == [{"code": words.rstrip(), "language": "yaml"}]
    assert found.of("list")[0]["items"][2:] == ["when: 2024-01-02", 'cloud: "!Ref Thing"']


def test_yaml_of_several_documents_has_an_outline_of_each(tmp_path: Path) -> None:
    assert categories(shown(tmp_path, "a.yaml", "a: 1\n---\nb: 2\n")) == ["list", "list", "code"]


def test_a_yaml_list_of_objects_is_a_table(tmp_path: Path) -> None:
    assert shown(tmp_path, "a.yaml", "- {a: 1, b: x}\n- {a: 2, b: y}\n").of("table")[0]["rows"] == [
        ["1", "x"],
        ["2", "y"],
    ]


@pytest.mark.parametrize("line", ["{new}: &{new} [{old}]\n", "{new}: &{new} {{<<: [{old}]}}\n"])
def test_bombs_of_aliases_do_not_go_off(tmp_path: Path, line: str) -> None:
    names = "abcdefghijkl"
    words = f"{names[0]}: &{names[0]} {{k: v}}\n"
    for old, new in itertools.pairwise(names):
        words += line.format(new=new, old=", ".join([f"*{old}"] * 10))
    assert "too large" in shown(tmp_path, "a.yaml", words).elements[0].content["text"]


def test_toml_has_an_outline(tmp_path: Path) -> None:
    found = shown(tmp_path, "a.toml", '[project]\ndescription = "What it does"\nsince = 2024-01-02\n')
    assert found.of("list")[0]["items"][0]["items"] == ['description: "What it does"', "since: 2024-01-02"]
    assert found.facts.summary == "What it does"


# ------------------------------------------------------------------------------------------------------------------ XML


def test_xml_records_are_a_table(tmp_path: Path) -> None:
    words = '<?xml version="1.0" encoding="ISO-8859-1"?><all><b id="1"><t>été</t></b><b id="2"><t>x</t></b></all>'
    found = shown(tmp_path, "a.xml", words.encode("latin-1"))
    assert found.of("table") == [{"headers": ["@id", "t"], "rows": [["1", "été"], ["2", "x"]]}]
    assert found.of("list")[0]["items"][0]["items"][0]["text"] == "b: list of 2 objects (@id, t)"


def test_other_xml_is_shown_and_given_lines_if_it_has_none(tmp_path: Path) -> None:
    words = '<a>\n  <b k="v">text</b>\n</a>'
    assert shown(tmp_path, "a.xml", words).of("code") == [{"code": words, "language": "xml"}]
    inner = "".join(f'<p n="{number}">{"w" * 50}</p><q/>' for number in range(30))
    lines = shown(tmp_path, "b.xml", f"<a><x>{inner}</x>&amp;</a>").of("code")[0]["code"].split("\n")
    assert lines[:4] == ["<a>", "  <x>", f'    <p n="0">{"w" * 50}</p>', "    <q/>"]
    assert lines[-3:] == ["  </x>", "  &amp;", "</a>"]


@pytest.mark.parametrize("use", ["<z>&l9;</z>", '<z a="&l9;">x</z>', "<z>&file;</z>"])
def test_entities_are_not_expanded(tmp_path: Path, use: str) -> None:
    (tmp_path / "secret.txt").write_text("do not show")
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    file = f'<!ENTITY file SYSTEM "{(tmp_path / "secret.txt").as_uri()}">'
    found = shown(tmp_path, "a.xml", f'<!DOCTYPE z [<!ENTITY l0 "lol">{levels}{file}]>{use}')
    assert "annotation" in categories(found)
    assert "do not show" not in str(found.shapes)
    assert len(str(found.shapes)) < 10_000


def test_deep_xml_is_read(tmp_path: Path) -> None:
    found = shown(tmp_path, "a.xml", "<a>" * 20_000 + "x" + "</a>" * 20_000)
    assert categories(found)[0] == "list"


# ----------------------------------------------------------------------------------------------------------- JSON lines


def test_json_lines_are_pages_of_rows(tmp_path: Path) -> None:
    lines = [json.dumps({"id": number, "words": f"größe {number}"}) for number in range(1, 2_501)]
    found = shown(tmp_path, "a.jsonl", "\n".join(lines) + "\n")
    assert found.titles == ["Lines 1–1000", "Lines 1001–2000", "Lines 2001–2500"]
    assert found.facts.summary == "2,500 lines of JSON: id, words"
    assert found.elements[0].summary == "2,500 lines of JSON"
    assert [len(one["rows"]) for one in found.of("table")] == [1_000, 1_000, 500]
    assert found.of("table")[2]["rows"][-1] == ["2500", "größe 2500"]
    assert found.pages[1][0].metadata["lines"] == [1_001, 2_000]


@pytest.mark.parametrize("first", ["x" * 600_000, ["x" * 600_000], {"a": "x" * 600_000}])
def test_a_line_longer_than_a_page_is_shortened_and_whole_in_detail(tmp_path: Path, first: Any) -> None:
    found = shown(tmp_path, "a.jsonl", "\n".join([json.dumps(first), '{"a": "next"}', '{"a": "last"}']))
    assert all(sum(map(size_of, page)) <= 200_000 for page in found.pages)
    whole = next(one for one in found.pages[0] if one.metadata.get("shortened"))
    assert len(str(whole.detail)) > 600_000
    assert "next" in str(found.pages[1][0].content)


def test_lines_that_are_no_json_are_named(tmp_path: Path) -> None:
    found = shown(tmp_path, "a.ndjson", '{"a": 1}\n{"a": \n\n{"a": 2}\n' + "[" * 5_000 + "\n")
    assert found.of("table")[0]["rows"] == [["1"], ["2"]]
    assert [one["text"][:14] for one in found.of("annotation")] == ["Line 2 is no J", "Line 5 is no J"]


def test_lines_of_different_shapes_are_shown_as_they_are(tmp_path: Path) -> None:
    assert shown(tmp_path, "a.jsonl", '[1,2]\n"x"\n').of("code") == [{"code": '[1, 2]\n"x"', "language": "json"}]


# ------------------------------------------------------------------------------------------------------------- any data


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.yaml", "a.toml", "a.xml"])
@pytest.mark.parametrize("content", [b"", b"\n \n", b"\x00\x01\x02\x03" * 50])
def test_what_is_no_text_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableFileError):
        open_data(tmp_path / name)
