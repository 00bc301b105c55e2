"""Configuration files: every shape that people have, every mistake with its place, and nothing of a secret shown."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters
from pydantic import ValidationError

from a2c_smcp.computer.config.files import ConfigError, load_config, parse_config, server_from
from a2c_smcp.computer.config.importing import candidates, convert, merge
from a2c_smcp.computer.config.model import (
    SseServerConfig,
    StdioServerConfig,
    StreamableHttpServerConfig,
    ToolMeta,
)
from a2c_smcp.computer.config.source import FileChanged


def problems(text: str, **environment: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, environment=environment)
    return [str(problem) for problem in caught.value.problems]


def only_server(text: str, **environment: str) -> Any:
    (server,) = parse_config(text, environment=environment).servers
    return server


# --------------------------------------------------------------------------------------------------------------- models


def test_every_field_has_the_default_of_the_protocol() -> None:
    stdio = StdioServerConfig(name="s", server_parameters={"command": "x"})  # type: ignore[arg-type]
    assert stdio.model_dump(mode="json") == {
        "name": "s",
        "bundle_id": None,
        "disabled": False,
        "forbidden_tools": [],
        "tool_meta": {},
        "default_tool_meta": None,
        "vrl": None,
        "log_level": "warning",
        "type": "stdio",
        "server_parameters": {
            "command": "x",
            "args": [],
            "env": None,
            "cwd": None,
            "encoding": "utf-8",
            "encoding_error_handler": "strict",
        },
    }
    http = StreamableHttpServerConfig(name="h", server_parameters={"url": "http://x"})  # type: ignore[arg-type]
    assert http.model_dump(mode="json")["server_parameters"] == {
        "url": "http://x",
        "headers": None,
        "timeout": "PT30S",
        "sse_read_timeout": "PT5M",
        "terminate_on_close": True,
    }
    sse = SseServerConfig(name="e", server_parameters={"url": "http://x"})  # type: ignore[arg-type]
    assert sse.model_dump(mode="json")["server_parameters"] == {
        "url": "http://x",
        "headers": None,
        "timeout": 5.0,
        "sse_read_timeout": 300.0,
    }


def test_a_file_may_name_the_python_that_runs_the_computer() -> None:
    loaded = load_config(Path(__file__).parents[3] / "examples" / "mcp.json")
    assert {server.parameters()["command"] for server in loaded.servers} == {sys.executable}


def test_models_are_frozen_and_strict() -> None:
    config = StdioServerConfig(name="s", server_parameters={"command": "x"})  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        config.name = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        StdioServerConfig(name="s", server_parameters={"command": "x", "args": [1]})  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        StdioServerConfig(name="s", disabled="yes", server_parameters={"command": "x"})  # type: ignore[arg-type]


def test_the_parameters_of_the_mcp_package_are_accepted() -> None:
    parameters: Any = StdioServerParameters(command="x", args=["a"], cwd=Path("/tmp"))
    config = StdioServerConfig(name="s", server_parameters=parameters)
    assert (config.server_parameters.args, config.server_parameters.cwd) == (["a"], "/tmp")


def test_tool_meta_keeps_further_keys() -> None:
    assert ToolMeta.model_validate({"auto_apply": True, "owner": "me"}).model_dump()["owner"] == "me"


@pytest.mark.process
def test_a_bad_vrl_script_is_a_mistake_even_if_it_crashes_the_compiler() -> None:
    for script in (".a = ", ".a = " + "!" * 10_000 + "true", "x" * 30_000):
        with pytest.raises(ConfigError):
            server_from({"command": "x", "vrl": script}, "s")
    server_from({"command": "x", "vrl": ".a = 1"}, "s")


# --------------------------------------------------------------------------------------------------------------- shapes


@pytest.mark.parametrize(
    "text",
    [
        '{"servers": {"s": {"type": "stdio", "server_parameters": {"command": "x", "args": ["a"]}}}}',
        '{"servers": {"s": {"name": "s", "server_parameters": {"command": "x", "args": ["a"]}}}}',
        '{"mcpServers": {"s": {"command": "x", "args": ["a"]}}}',
        '{"servers": {"s": {"type": "stdio", "command": "x", "args": ["a"]}}, "inputs": []} // VS Code',
    ],
)
def test_the_same_server_in_every_shape(text: str) -> None:
    server = only_server(text)
    assert isinstance(server, StdioServerConfig)
    assert (server.name, server.server_parameters.command, server.server_parameters.args) == ("s", "x", ["a"])


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ('{"url": "http://h/mcp"}', "streamable"),
        ('{"url": "http://h/sse"}', "sse"),
        ('{"url": "http://h/sse?x=1"}', "sse"),
        ('{"type": "http", "url": "http://h/sse"}', "streamable"),
        ('{"type": "streamable-http", "url": "http://h"}', "streamable"),
        ('{"type": "streamable", "server_parameters": {"url": "http://h"}}', "streamable"),
        ('{"type": "sse", "url": "http://h"}', "sse"),
    ],
)
def test_the_type_is_inferred_or_said_under_any_of_its_names(entry: str, kind: str) -> None:
    assert only_server(f'{{"mcpServers": {{"s": {entry}}}}}').type == kind


@pytest.mark.parametrize("written", ['"PT10S"', "10", "10.0"])
def test_a_duration_is_iso_or_seconds(written: str) -> None:
    text = f'{{"servers": {{"s": {{"server_parameters": {{"url": "http://h", "timeout": {written}}}}}}}}}'
    assert only_server(text).server_parameters.timeout == timedelta(seconds=10)


def test_what_other_hosts_add_is_left_out_and_said() -> None:
    loaded = parse_config('{"mcpServers": {"s": {"command": "x", "alwaysAllow": ["a"]}}, "theme": "dark"}')
    assert sorted(warning.path for warning in loaded.warnings) == ["mcpServers.s.alwaysAllow", "theme"]


def test_a_reference_to_an_undefined_input_is_said() -> None:
    loaded = parse_config('{"mcpServers": {"s": {"command": "${input:a}"}}}')
    assert "input a" in loaded.warnings[0].message


def test_the_options_of_an_input_keep_the_form_of_the_file() -> None:
    text = """{"servers": {}, "inputs": [{"id": "a", "type": "pickString", "default": "v", "options":
        ["x", {"label": "The v", "value": "v"}, {"value": "y"}, {"label": "Z", "value": "z", "description": "?"}]}]}"""
    (wanted,) = parse_config(text).inputs
    assert wanted.shown()["options"] == ["x", {"label": "The v", "value": "v"}, "y", {"label": "Z", "value": "z"}]
    for option in ('{"label": "L", "value": ""}', '{"label": 1, "value": "v"}', "7"):
        (problem,) = problems(
            f'{{"servers": {{}}, "inputs": [{{"id": "a", "type": "pickString", "options": [{option}]}}]}}'
        )
        assert "inputs.0.options.0: must be text, or an object of a label and a value" in problem


# ------------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.process
def test_each_mistake_is_one_message_with_its_path_and_line() -> None:
    text = """{
      "servers": {
        "github": {"type": "streamable", "server_parameters": {
          "url": "ftp://x",
          "timeout": "soon"
        }},
        "files": {"command": "x", "args": ["a", 1]},
        "typo": {"type": "stdio", "server_parameters": {"comand": "x"}},
        "kind": {"type": "carrier-pigeon"},
        "empty": {},
        "script": {"command": "x", "vrl": ".a ="}
      },
      "inputs": [
        {"id": "a", "type": "promptString"},
        {"id": "a", "type": "pickString", "options": ["x"], "default": "y"},
        {"id": "b", "type": "guess"}
      ]
    }"""
    found = problems(text)
    places = [problem.rpartition(": ")[0].rpartition(": ")[2] or problem for problem in found]
    starts = [problem.split(": ")[:2] for problem in found]
    assert starts == [
        ["line 4", "servers.github.server_parameters.url"],
        ["line 5", "servers.github.server_parameters.timeout"],
        ["line 7", "servers.files.args.1"],
        ["line 8", "servers.typo.server_parameters.command"],
        ["line 8", "servers.typo.server_parameters.comand"],
        ["line 9", "servers.kind.type"],
        ["line 10", "servers.empty"],
        ["line 11", "servers.script.vrl"],
        ["line 15", "inputs.1"],
        ["line 16", "inputs.2.type"],
    ], places
    assert "did you mean command?" in found[4]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('{"url": "http://h", "timeout": 1e300}', "timeout: is too long"),
        ('{"url": "http://h", "timeout": "99999999999999999999"}', "timeout: is too long"),
        ('{"url": "http://h", "timeout": -1}', "timeout: must be greater than 0"),
        ('{"url": "http://h/sse", "timeout": -1}', "timeout: must be greater than 0"),
        ('{"url": "http://"}', "url: has no host"),
        ('{"url": "https:///mcp"}', "url: has no host"),
        ('{"url": "http://h", "headers": {"A": ["a"]}}', "headers.A: must be text"),
        ('{"url": "http://h", "headers": {"A": {"str": 1}}}', "headers.A: must be text"),
        ('{"url": "http://h/sse", "headers": {"A": true}}', "headers.A: must be text"),
        (
            '{"url": "http://h", "headers": {"A": "ü"}}',
            "headers.A: must be ASCII without line breaks: HTTP headers hold nothing else",
        ),
        ('{"command": "x", "envFile": 5}', "envFile: must be text"),
        ('{"comand": "x", "args": []}', "comand: unknown key; did you mean command?"),
        ('{"server_parameters": {"command": "x"}, "args": []}', "args: belongs in server_parameters"),
        (
            '{"server_parameters": {"command": "x", "disabled": true}}',
            "server_parameters.disabled: belongs in the server, beside server_parameters",
        ),
        ('{"command": "x", "args": "y"}', "args: must be a list"),
        ('{"command": "x", "tool_meta": {"t": {"tags": "y"}}}', "tool_meta.t.tags: must be a list"),
        (
            '{"command": "x", "default_tool_meta": {"auto_apply": "readonly"}}',
            'default_tool_meta.auto_apply: must be true, false or "read-only"',
        ),
    ],
)
def test_a_mistake_is_told_in_plain_words(entry: str, message: str) -> None:
    assert problems(f'{{"servers": {{"s": {entry}}}}}') == [f"line 1: servers.s.{message}"]


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ('{"server": {}}', "server", "is not read; did you mean servers?"),
        ('{"mcpservers": {}}', "mcpservers", "is not read; did you mean mcpServers?"),
        ('{"x": {"command": "y"}}', "x", "is not read; did you mean servers.x?"),
        (
            '{"servers": {"s": {"command": "x", "url": "http://h"}}}',
            "servers.s.url",
            "is not read: a server of type stdio has no url",
        ),
        ('{"servers": {"s": {"command": "x", "arg": []}}}', "servers.s.arg", "is not read; did you mean args?"),
        (
            '{"servers": {"s": {"command": "x", "tool_meta": {"t": {"auto_aply": true, "owner": "me"}}}}}',
            "servers.s.tool_meta.t.auto_aply",
            "unknown key, passed on to Agents; did you mean auto_apply?",
        ),
        (
            '{"mcpServers": {"s": {"command": "x", "args": ["${file:/x}"]}}}',
            "mcpServers.s.args",
            "${file:/x} is not filled in: only inputs and environment variables are",
        ),
    ],
)
def test_what_is_not_read_is_said_with_what_may_have_been_meant(text: str, path: str, message: str) -> None:
    (warning,) = parse_config(text).warnings
    assert (warning.path, warning.message) == (path, message)


def test_headers_may_be_numbers_and_those_of_other_hosts_null() -> None:
    server = only_server('{"mcpServers": {"s": {"url": "http://h", "headers": {"A": 5, "B": null, "C": "${C:-c}"}}}}')
    assert server.server_parameters.headers == {"A": "5", "C": "${C:-c}"}
    nested = '{"servers": {"s": {"server_parameters": {"url": "http://h", "headers": {"A": 5}}}}}'
    assert only_server(nested).server_parameters.headers == {"A": 5}
    assert len(problems(nested.replace("5", "null"))) == 1


@pytest.mark.parametrize(
    "text", ["[]", '"x"', '{"servers": []}', '{"servers": {}, "mcpServers": {}}', '{"inputs": {}}', "{"]
)
def test_a_file_of_the_wrong_form_is_refused(text: str) -> None:
    assert len(problems(text)) == 1


def test_a_mistake_never_shows_a_value() -> None:
    text = '{"servers": {"s": {"server_parameters": {"command": "x", "env": {"TOKEN": ["hush-hush"]}}}}}'
    assert "hush" not in " ".join(problems(text))


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        load_config(tmp_path / "missing.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        load_config(tmp_path / "binary.json")


# ------------------------------------------------------------------------------------------------ environment variables


def test_variables_are_filled_in_beside_what_is_shown() -> None:
    text = """{"mcpServers": {"s": {"command": "${BIN}", "args": ["${env:WHO}-${X:-none}", "${input:i}", "$HOME"],
               "env": {"API_KEY": "${KEY}"}}}}"""
    server = only_server(text, BIN="/bin/x", WHO="me", KEY="hush-hush")
    filled = server.parameters()
    assert (filled["command"], filled["args"]) == ("/bin/x", ["me-none", "${input:i}", "$HOME"])
    assert filled["env"] == {"API_KEY": "hush-hush"}
    assert server.secret_values == ("hush-hush",)
    assert "hush-hush" not in server.model_dump_json()
    assert "hush-hush" not in repr(server)


@pytest.mark.parametrize(
    ("environment", "filled"),
    [({"A": "a"}, "a"), ({"B": "b"}, "b"), ({"A": ""}, "-none-"), ({}, "-none-")],
)
def test_a_default_may_be_a_variable(environment: dict[str, str], filled: str) -> None:
    server = only_server('{"mcpServers": {"s": {"command": "${A:-${B:--none-}}"}}}', **environment)
    assert server.parameters()["command"] == filled


def test_a_default_may_be_an_input() -> None:
    text = '{"servers": {"s": {"command": "x", "env": {"TOKEN": "${T:-${input:t}}"}}}}'
    given = only_server(text, T="hush-hush")
    assert (given.parameters()["env"], given.secret_values) == ({"TOKEN": "hush-hush"}, ("hush-hush",))
    open_ = only_server(text)
    assert (open_.parameters()["env"], open_.secret_values) == ({"TOKEN": "${input:t}"}, ())


def test_a_variable_that_is_not_set_is_a_mistake_unless_its_server_is_disabled() -> None:
    assert "NOPE" in problems('{"mcpServers": {"s": {"command": "${NOPE}"}}}')[0]
    assert only_server('{"mcpServers": {"s": {"command": "${NOPE}", "disabled": true}}}').disabled


def test_programs_that_make_models_keep_their_dollar_signs() -> None:
    config = server_from({"command": "sh", "args": ["-c", "echo ${HOME}"]}, "s")
    assert config.parameters()["args"] == ["-c", "echo ${HOME}"]


def test_an_env_file_is_read_into_memory(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# secrets\nexport TOKEN='hush-hush'\nEMPTY=\n")
    (tmp_path / "mcp.json").write_text('{"servers": {"s": {"command": "x", "envFile": ".env", "env": {"A": "b"}}}}')
    server = load_config(tmp_path / "mcp.json").servers[0]
    assert server.parameters()["env"] == {"TOKEN": "hush-hush", "EMPTY": "", "A": "b"}
    assert "hush-hush" not in server.model_dump_json()


# --------------------------------------------------------------------------------------------------------------- saving


NEW = '"tool_meta": {"t": {"auto_apply": true}}'


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ('{"servers": {"s": {"server_parameters": {"command": "x"}}}} // ours\n', '"x"}', f'"x"}}, {NEW}'),
        (
            '{"mcpServers": {\r\n\t"s": {\r\n\t\t"command": "x", // theirs\r\n\t}\r\n}}',
            "// theirs",
            f"// theirs\r\n\t\t{NEW},",
        ),
        ('\ufeff{"theme": "dark", "mcp": {"servers": {"s": {"command": "x"}}}}', '"x"', f'"x", {NEW}'),
        (
            '{"servers": {"s": {"command": "x", "tool_meta": {"t": {"auto_apply": "read-only", "alias": "u"}}}}}',
            '"read-only"',
            "true",
        ),
    ],
)
def test_a_tool_is_allowed_where_its_server_was_read(text: str, old: str, new: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(text.encode())
    (server,) = load_config(file).servers
    assert server.origin is not None
    server.origin.source.change((*server.origin.place, "tool_meta", "t", "auto_apply"), True)
    assert file.read_bytes().decode() == text.replace(old, new)
    assert load_config(file).servers == [server.ruled("t", True, [])]


def test_a_file_that_changed_or_is_gone_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"servers": {"s": {"command": "x"}}}')
    origin = load_config(file).servers[0].origin
    assert origin is not None
    file.write_text('{"servers": {"s": {"command": "y"}}}')
    with pytest.raises(FileChanged):
        origin.source.change((*origin.place, "disabled"), True)
    assert file.read_text() == '{"servers": {"s": {"command": "y"}}}'
    file.unlink()
    with pytest.raises(FileNotFoundError):
        origin.source.change((*origin.place, "disabled"), True)
    assert list(tmp_path.iterdir()) == []
    assert server_from({"command": "x"}, "s").origin is None


# ------------------------------------------------------------------------------------------------------------ importing


def test_importing_turns_secrets_into_inputs(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(
        """{"mcpServers": {
          "github": {"command": "gh", "args": ["--api-key", "hush-2"],
                     "env": {"GITHUB_TOKEN": "ghp_hush", "HOST": "x"}},
          "web": {"url": "https://me:hush-3@h/mcp?api_key=hush-4&q=1", "headers": {"Authorization": "Bearer hush-5"}},
          "again": {"command": "gh", "env": {"TOKEN": "ghp_hush", "OTHER_KEY": "${OTHER}"}}
        }}"""
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTHER", "hush-6")
        imported = convert(file, load_config(file))
    text = str(imported.data)
    assert "hush" not in text
    servers = imported.data["servers"]
    assert servers["github"]["server_parameters"]["env"] == {
        "GITHUB_TOKEN": "${input:github-github-token}",
        "HOST": "x",
    }
    assert servers["github"]["server_parameters"]["args"] == ["--api-key", "${input:github-api-key}"]
    web = servers["web"]["server_parameters"]
    assert web["headers"] == {"Authorization": "Bearer ${input:web-authorization}"}
    assert web["url"] == "https://me:${input:web-password}@h/mcp?api_key=${input:web-api-key}&q=1"
    assert servers["again"]["server_parameters"]["env"]["TOKEN"] == "${input:github-github-token}"
    assert servers["again"]["server_parameters"]["env"]["OTHER_KEY"] == "${OTHER}"
    assert all(wanted["password"] for wanted in imported.data["inputs"])
    assert len(parse_config(json.dumps(imported.data), environment={"OTHER": "x"}).servers) == 3


NESTED = {"type": "streamable", "server_parameters": {"url": "http://h"}, "disabled": True}
FLAT = {"type": "http", "url": "http://h", "disabled": True}


@pytest.mark.parametrize(
    ("old", "where", "added"),
    [
        ({}, "servers", NESTED),
        ({"servers": None, "inputs": None}, "servers", NESTED),
        ({"servers": {"a": {"server_parameters": {"command": "x"}}}, "$schema": "y"}, "servers", NESTED),
        ({"servers": {"a": {"command": "x"}}, "inputs": [{"id": "i"}]}, "servers", FLAT),
        ({"theme": "dark", "mcpServers": {}}, "mcpServers", FLAT),
        ({"mcp": {"servers": {"a": {"command": "x"}}}, "editor.fontSize": 14}, "mcp.servers", FLAT),
    ],
)
def test_importing_into_a_file_keeps_its_shape_and_all_it_holds(old: Any, where: str, added: Any) -> None:
    before = json.dumps(old)
    merged = merge(old, {"servers": {"b": NESTED}, "inputs": [{"id": "i"}, {"id": "j"}]})
    assert json.dumps(old) == before
    *way, key = where.split(".")
    section, old_section = merged, old
    for step in way:
        section, old_section = section[step], old_section[step]
    assert section.pop(key) == {**(old_section.pop(key, None) or {}), "b": added}
    assert [wanted["id"] for wanted in section.pop("inputs")] == ["i", "j"]
    old_section.pop("inputs", None)
    assert merged == old


def test_an_imported_input_never_takes_the_value_of_another_one() -> None:
    def loaded(server: str, description: str) -> Any:
        text = """{"servers": {"NAME": {"command": "x", "env": {"A": "${input:key}", "TOKEN": "hush-NAME"}}},
                   "inputs": [{"id": "key", "type": "promptString", "description": "TEXT"}]}"""
        return parse_config(text.replace("NAME", server).replace("TEXT", description))

    target = loaded("a", "one")
    other = convert(Path("x"), loaded("b", "two"), target)
    assert other.renamed == {"key": "key-2"}
    assert other.data["servers"]["b"]["server_parameters"]["env"]["A"] == "${input:key-2}"
    assert [wanted["id"] for wanted in other.data["inputs"]] == ["key-2", "b-token"]
    same = convert(Path("x"), loaded("b", "one"), target)
    assert (same.renamed, same.shared) == ({}, ["key"])
    assert same.data["servers"]["b"]["server_parameters"]["env"]["A"] == "${input:key}"
    undefined = loaded("b", "")
    undefined.inputs.clear()
    ghost = convert(Path("x"), undefined, target)
    assert ghost.data["servers"]["b"]["server_parameters"]["env"]["A"] == "${input:key-2}"


def test_a_server_that_is_there_already_brings_nothing_over() -> None:
    text = """{"servers": {"a": {"command": "x", "env": {"TOKEN": "hush", "B": "${input:key}"}}},
               "inputs": [{"id": "key", "type": "promptString"}]}"""
    imported = convert(Path("x"), parse_config(text), parse_config('{"servers": {"a": {"command": "y"}}}'))
    assert (imported.kept, imported.secrets, imported.data) == (["a"], [], {"servers": {}})


def test_every_host_has_places_to_look_at(tmp_path: Path) -> None:
    for host in ("claude", "cursor", "vscode"):
        assert len(candidates(host, tmp_path, tmp_path)) >= 2


FOREIGN: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "cline": (
        """{"mcpServers": {
          "files": {"command": "x", "disabled": false, "autoApprove": ["read", "list"], "timeout": 60},
          "all": {"type": "streamableHttp", "url": "https://h/mcp", "disabled": true, "alwaysAllow": ["*"]},
          "none": {"command": "x", "autoApprove": [], "alwaysAllow": "read"}
        }}""",
        {
            "files": {
                "type": "stdio",
                "disabled": False,
                "tool_meta": {"read": {"auto_apply": True}, "list": {"auto_apply": True}},
                "server_parameters": {"command": "x"},
            },
            "all": {
                "type": "streamable",
                "disabled": True,
                "default_tool_meta": {"auto_apply": True},
                "server_parameters": {"url": "https://h/mcp"},
            },
            "none": {"type": "stdio", "server_parameters": {"command": "x"}},
        },
        ["mcpServers.files.timeout", "mcpServers.none.alwaysAllow"],
    ),
    "windsurf": (
        """{"mcpServers": {
          "far": {"serverUrl": "https://h/sse", "headers": {"X": "${env:X}"}, "disabledTools": ["rm"]},
          "file": {"command": "x", "args": ["${file:/x}"]}
        }}""",
        {
            "far": {
                "type": "sse",
                "forbidden_tools": ["rm"],
                "server_parameters": {"url": "https://h/sse", "headers": {"X": "${env:X}"}},
            },
            "file": {"type": "stdio", "server_parameters": {"command": "x", "args": ["${file:/x}"]}},
        },
        ["mcpServers.file.args"],
    ),
    "zed": (
        """// settings
        {
          "theme": "dark", "vim_mode": true, "agent": {}, "ui_font_size": 16,
          "context_servers": {
            "new": {"source": "custom", "enabled": false, "command": "x", "args": ["a"]},
            "old": {"command": {"path": "x", "args": ["a"], "env": null}, "settings": {}},
            "far": {"url": "https://h/mcp"},
            "extension": {"source": "extension", "enabled": true, "settings": {"a": 1}},
          },
        }""",
        {
            "new": {"type": "stdio", "disabled": True, "server_parameters": {"command": "x", "args": ["a"]}},
            "old": {"type": "stdio", "server_parameters": {"command": "x", "args": ["a"]}},
            "far": {"type": "streamable", "server_parameters": {"url": "https://h/mcp"}},
        },
        ["", "context_servers.extension"],
    ),
}


@pytest.mark.parametrize("host", FOREIGN)
def test_the_servers_of_other_hosts_are_imported_and_what_is_left_out_is_said(host: str) -> None:
    text, servers, left_out = FOREIGN[host]
    imported = convert(Path("theirs"), parse_config(text, expand=False, adopt=True))
    assert imported.data == {"servers": servers}
    assert sorted(warning.path for warning in imported.warnings) == left_out
    allowed = {"files": ["read", "list"], "all": ["*"]} if host == "cline" else {}
    assert imported.allowed == allowed


def test_what_another_host_allows_is_not_allowed_by_reading_its_file() -> None:
    loaded = parse_config(FOREIGN["cline"][0])
    assert not any(server.tool_meta or server.default_tool_meta for server in loaded.servers)
    assert "mcpServers.files.autoApprove" in {warning.path for warning in loaded.warnings}
