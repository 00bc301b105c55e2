"""Skills: front matter, the folder of the owner, and what of it an Agent can read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.computer.offer.skills.front_matter import FrontMatterError, parse, split
from a2c_smcp.computer.offer.skills.skill import read_skill
from tests.support.hosting import offering
from tests.support.offices import Office, office
from tests.support.peer import request
from tests.support.waiting import eventually

KNOWN = ("name", "description", "tags", "metadata")


def head(text: str) -> dict[str, Any]:
    return dict(parse(text.strip("\n").split("\n"), KNOWN))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("plain words", "plain words"),
        ("words # a comment", "words"),
        ("a#b", "a#b"),
        ('"quoted: \\"yes\\"\\n" # a comment', 'quoted: "yes"\n'),
        ("'it''s: # here'", "it's: # here"),
        ("1.0", "1.0"),
        ("true", "true"),
        ("first\n  second\n\n  third", "first second\nthird"),
        ("\n  on its own line", "on its own line"),
        (">\n  folded\n  text\n\n  more", "folded text\nmore\n"),
        (">-\n  folded\n  text", "folded text"),
        ("|\n  literal\n    indented\n  text", "literal\n  indented\ntext\n"),
        ("|-\n  key: value", "key: value"),
        ("[a, 'b, c', \"d\"]", ["a", "b, c", "d"]),
        ("[a,\n  b]", ["a", "b"]),
        ("[]", []),
        ("\n  - a\n  - 'b: c' # d", ["a", "b: c"]),
        ("\n- a\n- b", ["a", "b"]),
        ("\n  x: 1\n  # a comment\n  y: 'z'", {"x": "1", "y": "z"}),
        ("", ""),
    ],
)
def test_the_usual_spellings_of_values_are_read(written: str, read: Any) -> None:
    assert head(f"name: a\ntags: {written}\ndescription: after") == {"name": "a", "tags": read, "description": "after"}


@pytest.mark.parametrize(
    "written",
    [
        "&anchor text",
        "*alias",
        "!!python/object:os.system x",
        "{a: b}",
        "a: b",
        "ends:",
        '"open',
        "'open",
        '"\\x41"',
        "[a",
        "[[a]]",
        "[a {b}]",
        "\n  - [a]\n  - b",
        "\n  - a\n  b",
        "\n  x: 1\n    y: 2",
        "\n  x:\n    - 1",
        "\n\tx: 1",
        "|\nnot indented",
        "@text",
        "%text",
        "- text",
    ],
)
def test_the_rest_of_yaml_is_rejected_with_its_line(written: str) -> None:
    with pytest.raises(FrontMatterError, match=r"^line [0-9]+: "):
        head(f"name: a\ntags: {written}")


def test_fields_with_other_names_are_skipped_whatever_they_hold() -> None:
    text = "hooks:\n  - {a: [b]}\n  - &x !y\nname: a\nother: {\n  }"
    assert head(text) == {"name": "a"}
    with pytest.raises(FrontMatterError, match="second name"):
        head("name: a\nname: b")


def test_what_follows_the_front_matter_is_the_body() -> None:
    assert split("\ufeff---\r\nname: a\r\n---\r\n\r\n# Title\n---\n") == (["name: a"], "# Title\n---\n")
    for text in ("", "# Title", "---\nname: a\n", "----\nname: a\n---"):
        with pytest.raises(FrontMatterError):
            split(text)
    with pytest.raises(FrontMatterError, match="more than"):
        split("---\n" + "a: b\n" * 501 + "---\n")


@given(st.lists(st.sampled_from([*"ab-:#'\"[]{}|>&, \n\\", "name", "tags", "\n  ", "\n- "]), max_size=30))
def test_any_text_is_read_or_rejected(parts: list[str]) -> None:
    try:
        found = head("".join(parts))
    except FrontMatterError:
        return
    assert found.keys() <= set(KNOWN)


def test_a_skill_says_what_the_documents_define() -> None:
    text = """---
name: pdf-tools
description: >
  Fills in
  forms.
license: MIT
compatibility: Needs poppler
allowed-tools: Bash(pdftotext:*) Read
version: 1.0
tags: documents, office work
metadata:
  author: "ann"
---
# PDF
"""
    skill = read_skill("pdf-tools", text)
    assert skill.body == "# PDF\n"
    assert skill.reference("pdf-tools", "user", "/s/pdf-tools") == {
        "name": "pdf-tools",
        "source": "user",
        "path": "/s/pdf-tools",
        "description": "Fills in forms.",
        "license": "MIT",
        "compatibility": "Needs poppler",
        "allowed_tools": ["Bash(pdftotext:*)", "Read"],
        "version": "1.0",
        "tags": ["documents", "office work"],
        "skill_metadata": {"author": "ann"},
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a", "name: b\ndescription: x"),
        ("a", "name: a"),
        ("a", "description: " + "x" * 1_025),
        ("a", "description: [x]"),
        ("a", "description: x\nmetadata: text"),
        ("a", "description: x\ntags:\n  a: b"),
        ("Upper", "description: x"),
        ("two--hyphens", "description: x"),
        ("x" * 65, "description: x"),
    ],
)
def test_what_is_no_skill_is_rejected(name: str, text: str) -> None:
    with pytest.raises(FrontMatterError):
        read_skill(name, f"---\n{text}\n---\n")


# ----------------------------------------------------------------------------------------------------- in an office


def write_skill(folder: Path, name: str, body: str = "Do it.\n", /, **files: bytes) -> Path:
    skill = folder / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}.\n---\n{body}", "utf-8")
    for path, data in files.items():
        file = skill / path.replace("__", "/")
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
    return skill


async def read(here: Office, name: str, rel_path: str | None = None) -> dict[str, Any]:
    fields = {"rel_path": rel_path} if rel_path is not None else {}
    return await here.agent.ask("client:get_skill", request(name=name, **fields))


async def refusal(here: Office, name: str, rel_path: str | None = None) -> tuple[int, Any]:
    error = (await read(here, name, rel_path))["error"]
    return error["code"], error["details"].get("reason", error["details"].get("name"))


async def listed(here: Office) -> list[str]:
    answer = await here.agent.ask("client:get_skills", request())
    assert answer["req_id"] == "r1"
    return [each["name"] for each in answer["skills"]]


@pytest.mark.anyio
async def test_skills_of_a_folder_are_listed_and_read(tmp_path: Path) -> None:
    write_skill(tmp_path, "beta")
    skill = write_skill(tmp_path, "alpha", ref__notes=b"notes", data=b"\x00\x01", long=b"x" * 40_000)
    (tmp_path / "no-skill").mkdir()
    async with office(skills=tmp_path) as here:
        answer = await here.agent.ask("client:get_skills", request())
        assert [each["name"] for each in answer["skills"]] == ["alpha", "beta"]
        reference = {"name": "alpha", "source": "user", "path": str(skill), "description": "About alpha."}
        assert answer["skills"][0] == reference
        found = await read(here, "alpha")
        assert (found["rel_path"], found["mime_type"], found["body"]) == ("SKILL.md", "text/markdown", "Do it.\n")
        assert (await read(here, "alpha", "ref/notes"))["body"] == "notes"
        for path, size in (("data", 2), ("long", 40_000)):
            large = await read(here, "alpha", path)
            assert ("body" in large, large["total_size"]) == (False, size)
            blob = await here.agent.ask("client:get_blob", request(blob_handle=large["blob_handle"]))
            assert (blob["total_size"], blob["sha256"]) == (size, large["sha256"])


@pytest.mark.anyio
async def test_names_and_paths_that_do_not_fit_are_rejected(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "alpha", ref__notes=b"notes", **{".env": b"secret"})
    (tmp_path / "outside").write_text("secret", "utf-8")
    async with office(skills=tmp_path / "skills") as here:
        for name in ("Alpha", "a_b", "../alpha", "a" * 65, "a/b", "mcp::x", "-a"):
            assert await refusal(here, name) == (4016, name)
        for name in ("beta", "mcp:nobody:alpha", "plugin:alpha"):
            assert await refusal(here, name) == (4014, name)
        for path in ("../beta", "/etc/passwd", "ref/../../../outside", "C:\\x", "ref//notes", "./ref", "", "a\0b"):
            assert await refusal(here, "alpha", path) == (4017, "traversal"), path
        for path in ("nothing", "ref", "ref/notes/x", "SKILL.md/x"):
            assert await refusal(here, "alpha", path) == (4017, "not_found"), path
        assert await refusal(here, "alpha", ".env") == (4017, "forbidden")
    async with office() as here:
        assert await listed(here) == []
        assert await refusal(here, "alpha") == (4014, "alpha")


@pytest.mark.anyio
@pytest.mark.skipif(os.name == "nt", reason="links need a right on Windows")
async def test_links_that_lead_out_of_the_folder_are_forbidden(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    skill = write_skill(folder, "alpha", real=b"inside")
    write_skill(tmp_path, "elsewhere")
    (tmp_path / "secret").write_text("secret", "utf-8")
    (skill / "link").symlink_to(skill / "real")
    (skill / "out").symlink_to(tmp_path / "secret")
    (skill / "loop").symlink_to(skill / "loop")
    (skill / "deep").symlink_to(tmp_path)
    (folder / "elsewhere").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(skill / "pipe")
    async with office(skills=folder) as here:
        assert await listed(here) == ["alpha"]
        assert (await read(here, "alpha", "link"))["body"] == "inside"
        for path in ("out", "deep/secret"):
            assert await refusal(here, "alpha", path) == (4017, "forbidden")
        for path in ("loop", "pipe"):
            assert await refusal(here, "alpha", path) == (4017, "not_found")
        assert await refusal(here, "elsewhere") == (4017, "forbidden")
        [problem] = here.computer.skills.problems
        assert "leads out" in problem


@pytest.mark.anyio
async def test_a_folder_that_changes_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("a2c_smcp.computer.offer.skills.catalogue.LOOK_SECONDS", 0.05)
    write_skill(tmp_path, "alpha")
    async with office(skills=tmp_path) as here:
        assert await listed(here) == ["alpha"]
        changes: list[tuple[Callable[[], object], list[str]]] = [
            (lambda: write_skill(tmp_path, "beta"), ["alpha", "beta"]),
            (lambda: (tmp_path / "alpha" / "SKILL.md").write_text("nothing", "utf-8"), ["beta"]),
            (lambda: (tmp_path / "beta" / "SKILL.md").unlink(), []),
        ]
        for change, names in changes:
            change()
            assert await here.agent.hear("notify:update_skills") == {"computer": "pc"}
            assert await listed(here) == names
        assert [problem.partition(":")[0] for problem in here.computer.skills.problems] == ["alpha"]


@pytest.mark.anyio
async def test_skills_of_mcp_servers_are_listed_and_read(tmp_path: Path) -> None:
    write_skill(tmp_path, "alpha")
    server = offering("My Server!", "--skill", "alpha", "--skill", "broken", "--skill", "Upper")
    async with office(server, offering("b", "--prefix", "b-"), skills=tmp_path) as here:
        await here.computer.mcp_manager.be_listed()
        assert await listed(here) == ["alpha", "mcp:My_Server:alpha"]
        reference = (await here.agent.ask("client:get_skills", request()))["skills"][1]
        assert reference == {
            "name": "mcp:My_Server:alpha",
            "source": "mcp",
            "path": "skill://pack/alpha",
            "uri": "skill://pack/alpha/SKILL.md",
            "description": "About alpha.",
        }
        name = reference["name"]
        assert (await read(here, name))["body"] == "# alpha\n"
        assert (await read(here, name, "ref/a b.txt"))["body"] == "text of skill://pack/alpha/ref/a%20b.txt"
        assert (await read(here, name, "x.bin"))["total_size"] == 3
        assert await refusal(here, name, "missing") == (4017, "not_found")
        assert await refusal(here, name, "../broken/x") == (4017, "traversal")
        for absent in ("mcp:My_Server:broken", "mcp:My_Server:other", "mcp:b:alpha"):
            assert await refusal(here, absent) == (4014, absent)
        notes = [note for note in here.computer.status_of("My Server!").notes if "is no skill" in note]
        assert len(notes) == 2


@pytest.mark.anyio
async def test_skills_of_mcp_servers_that_come_and_go_are_announced() -> None:
    async with office(offering("a")) as here:
        await eventually(lambda: here.computer.mcp_manager.view("a") is not None)
        await here.computer.mcp_manager.be_listed()
        assert await listed(here) == []
        await here.computer.call("add", resource="skill://late/SKILL.md")
        await here.agent.hear("notify:update_skills")
        assert await listed(here) == ["mcp:a:late"]
        await here.computer.mcp_manager.astop_client("a")
        await here.agent.hear("notify:update_skills")
        assert await listed(here) == []
