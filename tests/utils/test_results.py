"""What a result gives a program."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.errors import InvalidAnswerError, ToolTimedOutError
from a2c_smcp.protocol.answers import timed_out
from a2c_smcp.utils.results import CallToolResult, from_wire


def result(*content: dict[str, Any]) -> CallToolResult:
    return from_wire({"content": list(content)})


def blob(uri: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "blob": base64.b64encode(b"data").decode()}}


def test_text_is_all_of_it() -> None:
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    found = result({"type": "text", "text": "a"}, picture, {"type": "text", "text": "b"})
    assert found.text == "a\nb"
    assert found.images == [b"\0\0\0"]


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///tmp/report.pdf", "report.pdf"),
        ("file:///tmp/a%2Fb%00.txt", "a_b_.txt"),
        ("file:///..", "resource.bin"),
        ("file:///%2e%2e%2fetc%2fpasswd", "_etc_passwd"),
        ("x:", "resource.bin"),
        ("file:///C:%5Cautoexec.bat", "C__autoexec.bat"),
        ("file:///.bashrc", "bashrc"),
        (f"file:///tmp/{'名' * 120}.pdf", f"{'名' * 65}.pdf"),
    ],
)
def test_a_file_is_saved_in_the_folder_whatever_its_address_says(uri: str, name: str, tmp_path: Path) -> None:
    [path] = result(blob(uri)).save(tmp_path)
    assert path == tmp_path / name
    assert path.read_bytes() == b"data"


def test_what_mcp_does_not_know_travels_on_as_long_as_the_contents_stay() -> None:
    known: dict[str, Any] = {"type": "text", "text": "a"}
    found = from_wire({"content": [{**known, "further": 1}], "structuredContent": {"b": None}, "isError": False})
    sent = {"content": [{**known, "further": 1}], "structuredContent": {"b": None}, "isError": False}
    assert found.to_json() == sent
    assert found.model_copy(update={"meta": {"k": 1}}).to_json() == {**sent, "meta": {"k": 1}}
    assert found.model_copy(update={"structured_content": None}).to_json()["content"] == sent["content"]
    assert found.model_copy(deep=True).to_json()["content"] == [known]
    found.content = list(found.content)
    assert found.to_json()["content"] == [known]


def test_data_that_is_not_base64_is_an_invalid_answer(tmp_path: Path) -> None:
    broken = result({"type": "image", "data": "A", "mimeType": "image/png"})
    with pytest.raises(InvalidAnswerError):
        broken.images  # noqa: B018
    with pytest.raises(InvalidAnswerError):
        broken.save(tmp_path)


def test_a_failure_is_raised_with_its_code() -> None:
    with pytest.raises(ToolTimedOutError):
        from_wire(timed_out(3)).raise_for_error()
