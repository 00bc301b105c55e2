"""The result of a tool call: the MCP type, readable by its wire names too, and its form on our wire.

MCP puts metadata under `_meta`; this protocol puts it under `meta`.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import mcp_types
from pydantic import TypeAdapter, ValidationError

from a2c_smcp.errors import InvalidAnswerError, ToolFailedError, error_for
from a2c_smcp.utils.file_names import media_name, new_file, resource_name
from a2c_smcp.utils.result_meta import BLOB_HANDLE, ERROR_CODE, SAVED_TO


class CallToolResult(mcp_types.CallToolResult):
    """The result of a tool call: MCP's `CallToolResult`, with `content`, `structured_content`, `is_error` and `meta`.

    Programs read it by attribute (`is_error`) or by wire name (`isError`).
    """

    # MCP's types drop the fields that they do not know, so the contents are also kept as they were read. They count
    # only as long as the fields are those that were made of them: a program may replace them. In a slot: a private
    # attribute of pydantic doubles the time of reading a result.
    __slots__ = ("_read",)

    @classmethod
    def read(cls, wire: dict[str, Any], *, by_name: bool | None = None) -> Self:
        """A result from JSON data with MCP's wire names.

        Raises:
            pydantic.ValidationError: it is no `CallToolResult`.
        """
        result = cast("Self", _results.validate_python(wire, by_name=by_name))
        object.__setattr__(result, "_read", (result.content, result.structured_content, wire["content"]))
        return result

    def __copy__(self) -> Self:
        """A copy with the same contents as they were read."""
        copied = super().__copy__()
        if (read := self._as_read()) is not None:
            object.__setattr__(copied, "_read", read)
        return copied

    def _as_read(self) -> tuple[list[Any], Any, list[Any]] | None:
        return getattr(self, "_read", None)

    @property
    def written_content(self) -> list[Any] | None:
        """The contents as JSON data, as they were read; None if they were replaced, or never read."""
        read = self._as_read()
        return read[2] if read is not None and read[0] is self.content else None

    @property
    def is_as_read(self) -> bool:
        """Whether contents and structured result are those that were read, and therefore JSON data."""
        read = self._as_read()
        return read is not None and read[0] is self.content and read[1] is self.structured_content

    @property
    def isError(self) -> bool:
        """Whether the call failed; the same as `is_error`."""
        return self.is_error

    @property
    def structuredContent(self) -> Any:
        """The structured result; the same as `structured_content`."""
        return self.structured_content

    @property
    def error_code(self) -> int | None:
        """The protocol's code of the failure, such as 4003; None for a success.

        A failed result without a code, as another implementation may send it, counts as 4003.
        """
        if not self.is_error:
            return None
        code = (self.meta or {}).get(ERROR_CODE)
        return code if type(code) is int else ToolFailedError.code

    @property
    def text(self) -> str:
        """All text of the result, a line end between its parts."""
        return "\n".join(part.text for part in self.content if isinstance(part, mcp_types.TextContent))

    @property
    def images(self) -> list[bytes]:
        """The pictures of the result, decoded."""
        return [
            _decoded(part.data)
            for part in self.content
            if isinstance(part, mcp_types.ImageContent) and not _is_elsewhere(part)
        ]

    def raise_for_error(self) -> Self:
        """Return the result itself if the call succeeded.

        Raises:
            SMCPError: the call failed. It is of the class of `error_code`, with the text of the result.
        """
        if (code := self.error_code) is None:
            return self
        structured: Any = self.structured_content
        reason = cast("dict[str, Any]", structured).get("error") if isinstance(structured, dict) else None
        words = self.text or (reason if isinstance(reason, str) else "the tool failed")
        raise error_for(code, words)

    @property
    def files(self) -> list[File]:
        """The pictures, recordings and embedded resources of the result, decoded. `saved_files` has those that were
        saved instead."""
        return list(self._files())

    @property
    def saved_files(self) -> list[Path]:
        """The files that the call wrote, with `save_to`."""
        paths: list[Any] = [(part.meta or {}).get(SAVED_TO) for part in self.content]
        return [Path(path) for path in paths if isinstance(path, str)]

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the pictures, recordings and files of the result into a folder, and return their paths.

        The folder is made if it is missing. An existing file is never replaced: the new one gets another name.
        """
        return save_files(self.files, folder)

    def _files(self) -> Iterator[File]:
        for part in self.content:
            if _is_elsewhere(part):
                continue
            if isinstance(part, mcp_types.ImageContent | mcp_types.AudioContent):
                yield File(media_name(part.type, part.mime_type), part.mime_type, _decoded(part.data))
            elif isinstance(part, mcp_types.EmbeddedResource):
                resource = part.resource
                if isinstance(resource, mcp_types.TextResourceContents):
                    yield resource_file(resource.uri, resource.mime_type, resource.text)
                else:
                    yield resource_file(resource.uri, resource.mime_type, _decoded(resource.blob))

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data, as it travels: `content`, `isError`, `structuredContent` and `meta`."""
        return to_wire(self)


def _is_elsewhere(part: mcp_types.ContentBlock) -> bool:
    """Whether the binary of an item is in a file, or was not fetched."""
    return part.meta is not None and (BLOB_HANDLE in part.meta or SAVED_TO in part.meta)


class File(NamedTuple):
    """A file to write: the name that it should have, its MIME type, and its contents."""

    name: str
    mime_type: str
    data: bytes


def resource_file(uri: str, mime_type: str | None, held: str | bytes) -> File:
    """A resource as a file, named after the end of its address. A name without an ending gets that of its type."""
    data = held.encode() if isinstance(held, str) else held
    usual_type, ending = ("text/plain", ".txt") if isinstance(held, str) else ("application/octet-stream", ".bin")
    return File(resource_name(uri, mime_type, ending), mime_type or usual_type, data)


def save_files(files: Iterable[File], folder: str | os.PathLike[str]) -> list[Path]:
    """Write files into a folder, and return their paths. An existing file is never replaced."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return [_write(target, file.name, file.data) for file in files]


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except ValueError:
        raise InvalidAnswerError("the result has a picture, recording or file that is not valid Base64") from None


def _write(folder: Path, name: str, data: bytes) -> Path:
    with new_file(folder, name) as file:
        file.write(data)
    return Path(file.name)


_results = TypeAdapter(CallToolResult).validator


def to_wire(result: mcp_types.CallToolResult) -> dict[str, Any]:
    """A result as JSON data with MCP's wire names."""
    if isinstance(result, CallToolResult) and result.is_as_read:
        # Nearly every result. Pydantic takes twenty times as long.
        wire: dict[str, Any] = {"content": result.written_content}
        if result.structured_content is not None:
            wire["structuredContent"] = result.structured_content
        if result.meta is not None:
            wire["meta"] = result.meta
        wire["isError"] = result.is_error
        return wire
    written = result.written_content if isinstance(result, CallToolResult) else None
    unread = {"content"} if written is not None else None
    wire = result.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=unread)
    if written is not None:
        wire["content"] = written
    del wire["resultType"]  # a field of newer versions of MCP, which this protocol does not have
    meta = wire.pop("_meta", None)
    if meta is not None:
        wire["meta"] = meta
    wire["isError"] = result.is_error
    return wire


def from_wire(wire: dict[str, Any]) -> CallToolResult:
    """A result from our wire; metadata may come under either name.

    Raises:
        pydantic.ValidationError: it is no `CallToolResult`.
    """
    if "meta" in wire:
        wire = {key: value for key, value in wire.items() if key != "meta"} | {"_meta": wire["meta"]}
    return CallToolResult.read(wire)


def read_result(answer: dict[str, Any]) -> CallToolResult:
    """The result in a Computer's answer.

    Raises:
        InvalidAnswerError: the answer is no tool result. The message names the fields, never their values.
    """
    try:
        return from_wire(answer)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        reasons = "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems[:4])
        raise InvalidAnswerError(f"the Computer's answer is no tool result: {reasons}") from None
