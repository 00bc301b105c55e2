"""Tool parameters as a person types them, and as a tool's schema is shown."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from a2c_smcp.cli.agent.views import tool, tools
from a2c_smcp.cli.arguments import read_arguments
from a2c_smcp.smcp import SMCPTool

STRING = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {**STRING, "description": "Words to look for."},
        "limit": {"type": "integer", "default": 10, "minimum": 1},
        "order": {"enum": ["newest", "best"], "type": "string"},
        "author": {"anyOf": [STRING, {"type": "null"}], "default": None},
        "where": {"$ref": "#/$defs/Place"},
        "tags": {"type": "array", "items": STRING},
    },
    "required": ["query"],
    "$defs": {
        "Place": {
            "type": "object",
            "properties": {"folder": STRING, "inside": {"$ref": "#/$defs/Place"}},
            "required": ["folder"],
        }
    },
}


def closed(**further: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"text": STRING}, **further}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["query=3", "limit=3"], {"query": "3", "limit": 3}),
        (["query=x", "author=7"], {"query": "x", "author": "7"}),
        (["query=x", "author=null"], {"query": "x", "author": None}),
        (["query:=null"], {"query": None}),
        (['{"query": "x", "limit": 2}'], {"query": "x", "limit": 2}),
    ],
)
def test_a_value_is_text_where_the_tool_wants_text(words: list[str], expected: dict[str, Any]) -> None:
    assert read_arguments(words, schema=SCHEMA) == expected


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["query=x", "limt=3"], "no such parameter: limt; did you mean limit?"),
        (["query=x", '{"zzz": 1}'], "no such parameter: zzz; there are query, limit, order, author, where, tags"),
        (["limit=3"], "missing: query"),
    ],
)
def test_a_parameter_that_the_tool_does_not_know_is_not_passed(words: list[str], says: str) -> None:
    with pytest.raises(ValueError, match="^" + says.replace("?", r"\?") + "$"):
        read_arguments(words, schema=SCHEMA)


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "object"},
        {"type": "object", "properties": {}},
        closed(additionalProperties=True),
        closed(additionalProperties={"type": "integer"}),
        closed(patternProperties={"^x-": STRING}),
        closed(anyOf=[{"properties": {"x-other": STRING}}]),
    ],
)
def test_a_tool_that_takes_other_parameters_gets_them(schema: dict[str, Any] | None) -> None:
    assert read_arguments(["x-other=1"], schema=schema) == {"x-other": 1}


def seen(*parts: Any) -> str:
    """What a person sees in 80 columns."""
    console = Console(width=80, file=io.StringIO())
    for part in parts:
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def entry(name: str, description: str, schema: dict[str, Any]) -> SMCPTool:
    return {"name": name, "description": description, "params_schema": schema, "return_schema": None}


def test_a_tool_is_shown_with_all_that_its_schema_says() -> None:
    shown = seen(*tool("my laptop", entry("search", "Finds pages.\n\nBy their words.", SCHEMA)))
    assert shown == (
        "search on my laptop\n"
        "asks the Computer's owner first\n"
        "  | Finds pages.\n  |\n  | By their words.\n"
        "\nParameters\n"
        "  query  string, required\n"
        "      | Words to look for.\n"
        "  limit  integer, minimum 1, default 10\n"
        '  order  string, one of "newest", "best"\n'
        "  author  string or null\n"
        "  where  object\n"
        "    folder  string, required\n"
        "    inside  object\n"
        "      folder  string, required\n"
        "      inside  object\n"
        "        folder  string, required\n"
        "        inside  object\n"
        "          folder  string, required\n"
        "          inside  object\n"
        "  tags  list of string\n"
        "\n$ a2c agent call 'my laptop' search query=…"
    )


def test_tools_are_listed_by_their_names_and_first_sentences() -> None:
    long = "Reads a file from the disk of the machine, e.g. a report of the last week. Then closes it."
    listed = [entry("read", long, {}), entry("unpack_archive", "读取文件。然后关闭。", {})]
    listed[1]["meta"] = {"a2c_tool_meta": '{"auto_apply": true}'}
    assert seen(*tools({"pc": listed, "idle": []})).splitlines() == [
        "pc",
        "?  read            | Reads a file from the disk of the machine, e.g. a",
        "                   | report of the last week.",
        "   unpack_archive  | 读取文件。",
        "idle",
        "   no tools",
        "? asks the Computer's owner first",
    ]
