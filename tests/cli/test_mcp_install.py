"""`a2c mcp install`: the files of MCP hosts get an entry, and keep everything else."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import tomllib
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from a2c_smcp.gateway.host_entries import HOSTS
from tests.support.process import a2c
from tests.support.systems import posix_only

URL = "https://hub.example.com"
FILES = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "gemini-cli": ".gemini/settings.json",
    "codex": ".codex/config.toml",
}
SECTIONS = {"vscode": "servers", "codex": "mcp_servers"}
WITH_TYPE = ("claude-code", "vscode")


@pytest.fixture(params=FILES)
def host(request: pytest.FixtureRequest) -> str:
    return request.param


def install(home: Path, host: str, *flags: str, key: str | None = None) -> CompletedProcess[str]:
    env = {"HOME": str(home), "XDG_CONFIG_HOME": "", "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""}
    return a2c("mcp", "install", host, "--office", "acme", *flags, env=env | ({"A2C_API_KEY": key} if key else {}))


def read(home: Path, host: str) -> dict[str, Any]:
    text = (home / FILES[host]).read_text("utf-8")
    return tomllib.loads(text) if host == "codex" else json.loads(text)


def entry(home: Path, host: str, name: str = "a2c") -> dict[str, Any]:
    return read(home, host)[SECTIONS.get(host, "mcpServers")][name]


# ------------------------------------------------------------------------------------------------------------ new files


def test_a_new_file_starts_this_installation_and_has_the_key(tmp_path: Path, host: str) -> None:
    done = install(tmp_path, host, "--url", URL, "--mode", "search", "--computer", "a", "--read-only", key="hush")
    assert done.returncode == 0, done.stderr
    assert f"the API key is stored in {tmp_path / FILES[host]}" in done.stdout
    assert "hush" not in done.stdout + done.stderr
    made = entry(tmp_path, host)
    assert made.pop("type", None) == ("stdio" if host in WITH_TYPE else None)
    assert Path(made["command"]).is_absolute()
    assert os.access(made["command"], os.X_OK)
    started = made["args"][made["args"].index("mcp") + 1 :]
    assert started == [
        "--url", URL, "--office", "acme", "--mode", "search", "--computer", "a", "--read-only",
    ]  # fmt: skip
    assert made["env"] == {"A2C_API_KEY": "hush"}


@posix_only
def test_a_new_file_is_private(tmp_path: Path, host: str) -> None:
    install(tmp_path, host)
    assert stat.S_IMODE((tmp_path / FILES[host]).stat().st_mode) == 0o600


def test_without_a_key_none_is_stored(tmp_path: Path, host: str) -> None:
    done = install(tmp_path, host)
    assert "env" not in entry(tmp_path, host)
    assert "API key" not in done.stdout


@pytest.mark.parametrize("host", [name for name in FILES if name != "claude-desktop"])
def test_a_host_may_connect_to_the_url_itself(tmp_path: Path, host: str) -> None:
    install(tmp_path, host, "--url", URL, "--http", "--profile", "readers", "--mode", "direct", key="hush")
    headers = "http_headers" if host == "codex" else "headers"
    expected: dict[str, Any] = {
        "httpUrl" if host == "gemini-cli" else "url": f"{URL}/mcp/acme/readers?mode=direct",
        headers: {"Authorization": "Bearer hush"},
    }
    assert entry(tmp_path, host) == expected | ({"type": "http"} if host in WITH_TYPE else {})


def test_a_host_that_takes_no_urls_is_told_so(tmp_path: Path) -> None:
    refused = install(tmp_path, "claude-desktop", "--url", URL, "--http")
    assert refused.returncode == 2
    assert f"{URL}/mcp/acme" in refused.stderr
    assert not (tmp_path / ".config").exists()


# ------------------------------------------------------------------------------------------------------- existing files


OTHERS = {"theme": "dark", "mcpServers": {"mine": {"command": "x", "args": ["1"]}}, "last": [1, 2]}
TOML = """\
# my settings
model = "gpt" # the best

[mcp_servers.mine]
command = "x"

[mcp_servers.mine.env]
A = "1"

[profiles.deep]
model = "other"
"""


@pytest.mark.parametrize("layout", [2, None, 4, "\t"])
@pytest.mark.parametrize("host", ["claude-desktop", "claude-code", "cursor"])
def test_everything_else_stays_in_its_order(tmp_path: Path, host: str, layout: Any) -> None:
    file = tmp_path / FILES[host]
    file.parent.mkdir(parents=True, exist_ok=True)
    before = json.dumps(OTHERS, indent=layout)
    file.write_text(before)
    file.chmod(0o640)
    done = install(tmp_path, host, key="hush")
    after = read(tmp_path, host)
    assert list(after) == list(OTHERS)
    assert list(after["mcpServers"]) == ["mine", "a2c"]
    del after["mcpServers"]["a2c"]
    assert after == OTHERS
    assert file.with_name(file.name + ".a2c-backup").read_text() == before
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        assert f"chmod 600 {file}" in done.stderr


def test_comments_and_layout_stay(tmp_path: Path) -> None:
    file = tmp_path / FILES["vscode"]
    file.parent.mkdir(parents=True)
    file.write_text('{\n  // mine\n  "servers": {\n    "x": {"command": "y"}, // why\n  },\n  "inputs": [],\n}\n')
    assert install(tmp_path, "vscode").returncode == 0
    text = file.read_text()
    assert text.startswith('{\n  // mine\n  "servers": {\n    "x": {"command": "y"}, // why\n    "a2c": {')
    assert text.endswith('  "inputs": [],\n}\n')


def test_a_toml_file_gets_a_section_at_its_end(tmp_path: Path) -> None:
    file = tmp_path / FILES["codex"]
    file.parent.mkdir()
    file.write_text(TOML)
    assert install(tmp_path, "codex", key="hush").returncode == 0
    assert file.read_text().startswith(TOML)
    assert entry(tmp_path, "codex")["env"] == {"A2C_API_KEY": "hush"}


def test_running_it_twice_changes_nothing(tmp_path: Path, host: str) -> None:
    install(tmp_path, host, "--url", URL, key="hush")
    file = tmp_path / FILES[host]
    before, moment = file.read_bytes(), file.stat().st_mtime_ns
    again = install(tmp_path, host, "--url", URL)  # without the key, which stays
    assert "nothing was changed" in again.stdout
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (before, moment)
    assert [path.name for path in file.parent.iterdir() if path.name.endswith("backup")] == []


def test_another_url_changes_only_our_entry_and_does_not_get_the_key(tmp_path: Path, host: str) -> None:
    file = tmp_path / FILES[host]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(TOML if host == "codex" else json.dumps({"a": 1, "z": {"y": 2}}, indent=2))
    install(tmp_path, host, "--url", URL, key="hush")
    backup = file.with_name(file.name + ".a2c-backup").read_bytes()
    before = read(tmp_path, host)
    assert install(tmp_path, host, "--url", "https://other.example.com").returncode == 0
    after = read(tmp_path, host)
    section = SECTIONS.get(host, "mcpServers")
    changed = after[section].pop("a2c")
    del before[section]["a2c"]
    assert after == before
    assert "https://other.example.com" in changed["args"]
    assert "env" not in changed
    assert file.with_name(file.name + ".a2c-backup").read_bytes() == backup, "the copy is that of the first version"


def test_what_the_owner_added_to_our_entry_stays(tmp_path: Path, host: str) -> None:
    install(tmp_path, host, "--url", URL, key="hush")
    file = tmp_path / FILES[host]
    if host == "codex":
        text = file.read_text().replace("args = ", "startup_timeout_sec = 20\nargs = ")
        file.write_text(text.replace('A2C_API_KEY = "hush"', 'A2C_API_KEY = "hush"\nHTTPS_PROXY = "http://p"'))
    else:
        data = read(tmp_path, host)
        ours = data[SECTIONS.get(host, "mcpServers")]["a2c"]
        ours["startup_timeout_sec"] = 20
        ours["env"]["HTTPS_PROXY"] = "http://p"
        file.write_text(json.dumps(data, indent=2))
    assert install(tmp_path, host, "--url", URL, "--mode", "direct").returncode == 0
    changed = entry(tmp_path, host)
    assert changed["startup_timeout_sec"] == 20
    assert changed["env"] == {"A2C_API_KEY": "hush", "HTTPS_PROXY": "http://p"}
    assert changed["args"][-2:] == ["--mode", "direct"]


@posix_only
def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".cursor").mkdir()
    real = tmp_path / "dotfiles" / "mcp.json"
    real.write_text("{}")
    (tmp_path / FILES["cursor"]).symlink_to(real)
    assert install(tmp_path, "cursor").returncode == 0
    assert (tmp_path / FILES["cursor"]).is_symlink()
    assert "a2c" in json.loads(real.read_text())["mcpServers"]


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("cursor", '{"mcpServers": {'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", "[]"),
        ("cursor", '{"a": 1, "a": 2}'),
        ("codex", "model = "),
        ("codex", 'mcp_servers = { mine = { command = "x" } }\n'),
        ("codex", '[mcp_servers.a2c]\ncommand = "a2c" # mine\nargs = ["mcp", "--office", "old"]\n'),
    ],
)
def test_a_file_that_cannot_be_kept_is_left_alone_and_the_entry_is_printed(
    tmp_path: Path, host: str, text: str
) -> None:
    file = tmp_path / FILES[host]
    file.parent.mkdir()
    file.write_text(text)
    refused = install(tmp_path, host, "--url", URL)
    assert refused.returncode == 1
    assert file.read_text() == text
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert f"add this to {file}:" in refused.stderr
    assert f"a2c: {file} was not changed: " in refused.stderr
    shown = tomllib.loads(refused.stdout) if host == "codex" else json.loads(refused.stdout)
    assert URL in shown[SECTIONS.get(host, "mcpServers")]["a2c"]["args"]


def test_an_mcp_server_of_the_same_name_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / FILES["cursor"]
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"a2c": {"command": "another-a2c"}}}')
    refused = install(tmp_path, "cursor")
    assert refused.returncode == 1
    assert "--name" in refused.stderr
    assert "another-a2c" in file.read_text()
    assert install(tmp_path, "cursor", "--name", "office").returncode == 0
    assert set(read(tmp_path, "cursor")["mcpServers"]) == {"a2c", "office"}


# ------------------------------------------------------------------------------------------------------------- the rest


def test_it_can_only_print(tmp_path: Path, host: str) -> None:
    printed = install(tmp_path, host, "--url", URL, "--print", key="hush")
    assert printed.returncode == 0
    assert list(tmp_path.iterdir()) == []
    assert printed.stderr == f"add this to {tmp_path / FILES[host]}:\n"
    shown = tomllib.loads(printed.stdout) if host == "codex" else json.loads(printed.stdout)
    install(tmp_path, host, "--url", URL, key="hush")
    assert shown == read(tmp_path, host)


def test_programs_get_json(tmp_path: Path) -> None:
    file = str(tmp_path / FILES["cursor"])
    done = json.loads(install(tmp_path, "cursor", "--json", key="hush").stdout)
    assert done == {
        "host": "cursor", "file": file, "name": "a2c", "changed": True, "backup": None, "has_key": True,
    }  # fmt: skip
    printed = json.loads(install(tmp_path, "cursor", "--print", "--json").stdout)
    assert (printed["file"], printed["section"]) == (file, "mcpServers")
    assert "--office" in printed["entry"]["args"]


def test_options_before_install_count_too(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    assert a2c("mcp", "--url", URL, "--office", "acme", "install", "cursor", env=env).returncode == 0
    assert entry(tmp_path, "cursor")["args"][-4:] == ["--url", URL, "--office", "acme"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["curser", "--office", "o"], "curser: unknown host; choose one of .*did you mean cursor"),
        (["cursor"], "no office"),
        (["cursor", "--office", "o", "--name", "a b"], "--name a b: must have"),
        (["cursor", "--office", "o", "--mode", "x"], "--mode x: must be"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, flags: list[str], says: str) -> None:
    refused = a2c("mcp", "install", *flags, env={"HOME": str(tmp_path)})
    assert refused.returncode == 2
    assert re.search(says, refused.stderr)
    assert refused.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("host", "system", "file"),
    [
        ("claude-desktop", "linux", ".config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("vscode", "linux", ".config/Code/User/mcp.json"),
        ("vscode", "darwin", "Library/Application Support/Code/User/mcp.json"),
        ("vscode", "win32", "AppData/Roaming/Code/User/mcp.json"),
        *(
            (host, system, FILES[host])
            for host in ("claude-code", "gemini-cli", "cursor", "codex")
            for system in ("linux", "win32")
        ),
    ],
)
def test_each_system_has_its_places(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str, system: str, file: str
) -> None:
    for variable in ("XDG_CONFIG_HOME", "APPDATA", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    assert HOSTS[host].location(tmp_path, system) == tmp_path / file
