"""The documentation site: it builds without a complaint, asks no other host for anything, and leaves nothing out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel
from typing_extensions import is_typeddict

from a2c_smcp import agent, computer, server, smcp
from a2c_smcp.computer.config.model import BaseServerConfig, MCPServerConfig, MCPServerInput, ToolMeta
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.server.settings import ServerSettings
from scripts.docs_reference import PAGES, commands, configuration, errors, examples, wire
from scripts.docs_reference.fields import docs_of
from tests.support.pages import DOCS, ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it. A dead link, a dead anchor or a page outside the navigation ends the build."""
    folder = tmp_path_factory.mktemp("site")
    outcome = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return folder


class _Loaded(HTMLParser):
    """What a browser loads for a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.addresses.append(attributes.get("src") or "")
        elif tag == "link":
            self.addresses.append(attributes.get("href") or "")


def test_every_page_is_there_and_has_its_pictures(site: Path) -> None:
    for source in (path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")):
        page = site / Path(source).with_suffix(".html")
        for address in _Loaded(page.read_text("utf-8")).addresses:
            if address:
                assert (page.parent / urlsplit(address).path).exists(), f"{source}: {address}"


def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not [a for a in _Loaded(page.read_text("utf-8")).addresses if urlsplit(a).netloc], page
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text("utf-8")), sheet


def test_the_search_knows_every_page_and_works_from_a_folder(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text("utf-8")
    for source in PAGES:
        assert f'"location":"{Path(source).with_suffix(".html").as_posix()}"' in index.replace(": ", ":")
    assert "assets/iframe-worker.js" in (site / "index.html").read_text("utf-8")


# -------------------------------------------------------------------------------------------------------- the reference


def test_every_command_and_option_is_described() -> None:
    page = PAGES["reference/cli.md"]()
    assert len(list(commands.walk())) > 20
    for command in commands.walk():
        assert command.path == "a2c" or f"## {command.path}\n" in page
        assert command.help, command.path
        for option in command.options:
            assert option.help, f"{command.path} {option.flags}"
            assert all(f"`{flag}`" in page for flag in option.flags)


def test_every_setting_of_the_server_is_described() -> None:
    page = PAGES["reference/settings.md"]()
    flags = {option.name: option for option in commands.command_at("server").options}
    for name in ServerSettings.model_fields:
        assert f"`A2C_{name.upper()}`<br>`{name}`" in page
        assert name in flags or docs_of(ServerSettings)[name]
    assert flags.keys() - ServerSettings.model_fields.keys() == {"config"}


def test_every_field_of_every_configuration_is_described() -> None:
    page = PAGES["reference/configuration.md"]()
    servers = [server for server, _ in configuration.SERVERS.values()]
    parameters = [parameters for _, parameters in configuration.SERVERS.values()]
    assert servers == _choices(MCPServerConfig)
    assert list(configuration.INPUTS) == _choices(MCPServerInput)
    models: list[type[BaseModel]] = [BaseServerConfig, ToolMeta, *servers, *parameters, *configuration.INPUTS]
    for model in models:
        for name in model.model_fields:
            assert docs_of(model).get(name), f"{model.__name__}.{name} says nothing of itself"
            assert f"| `{name}` |" in page
    for field in fields(Policy):
        assert docs_of(Policy).get(field.name), field.name
        assert f"| `{field.name}` |" in page


def _choices(union: Any) -> list[type]:
    """The models that an annotated union is of."""
    while get_origin(union) is Annotated:
        union = get_args(union)[0]
    return [get_args(choice)[0] if get_origin(choice) is Annotated else choice for choice in get_args(union)]


def test_every_error_code_says_who_answers_it_and_what_to_do() -> None:
    codes = [error.code for error in errors.classes()]
    assert sorted(map(int, errors.ADVICE)) == codes
    page = PAGES["reference/errors.md"]()
    for code in codes:
        assert f'<a id="{code}"></a>' in page


@pytest.mark.parametrize(("package", "page"), [(agent, "agent"), (computer, "computer"), (server, "server")])
def test_every_public_name_of_a_package_is_described(package: ModuleType, page: str) -> None:
    text = PAGES[f"reference/python/{page}.md"]() + PAGES["reference/python/results.md"]()
    assert not [name for name in package.__all__ if f"`{name}`" not in text]


def test_every_event_and_payload_is_described() -> None:
    constants = [name for name in vars(smcp) if name.isupper()]
    shapes = [name for name, value in vars(smcp).items() if is_typeddict(value)]
    assert not {*constants, *shapes} - wire.names()


def test_every_example_says_what_it_is() -> None:
    page = PAGES["examples.md"]()
    for path in examples.files():
        assert examples.about(path), path
        assert f"(../examples/{path.name})" in page


def test_every_threat_on_the_security_page_names_tests_that_exist() -> None:
    page = (DOCS / "security.md").read_text("utf-8")
    rows = [line.split("|") for line in page.partition("## Threats")[2].partition("\n## ")[0].splitlines()]
    threats = [row[1].strip() for row in rows if len(row) == 5 and not row[1].startswith("-")][1:]
    tests = {row[1].strip(): re.findall(r"`(test_\w+)`", row[2]) for row in rows if len(row) == 4}
    known = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(threats) > 10
    for threat in threats:
        assert tests.get(threat), f"no test is named for: {threat}"
        assert [name for name in tests[threat] if f"def {name}(" not in known] == []
