"""`--output`: writes tool results and resources to files."""

from __future__ import annotations

import base64
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from a2c_smcp.cli.agent.session import complain
from a2c_smcp.smcp import ResourceContents
from a2c_smcp.utils.results import CallToolResult, File, resource_file, save_files
from a2c_smcp.utils.text import printable


@dataclass(frozen=True)
class Written:
    """A file that was written."""

    path: str
    mime_type: str
    size: int

    def to_json(self) -> dict[str, Any]:
        """For a program."""
        return {"path": self.path, "mimeType": self.mime_type, "bytes": self.size}


class Output:
    """The target of `--output`: a file, `-` for standard output, or a folder, which exists or ends with `/`.

    Raises:
        OSError: the folder of the file does not exist.
    """

    def __init__(self, target: str) -> None:
        self.is_stdout = target == "-"
        self._path = Path(target).expanduser()
        self._is_folder = target.endswith(("/", os.sep)) or self._path.is_dir()
        if not (self._is_folder or self.is_stdout or self._path.parent.is_dir()):
            raise FileNotFoundError(f"{self._path.parent}: no such folder")

    def write(self, files: list[File]) -> list[Written] | None:
        """Write the files, and list them on standard error; None, after an error message, if that fails.

        An existing file is replaced. In a folder, where the names come from the result, it is not.
        """
        if self.is_stdout:
            sys.stdout.flush()  # the bytes below bypass the text layer and would overtake what it still holds
            for file in files:
                sys.stdout.buffer.write(file.data)
            sys.stdout.buffer.flush()
            return []
        try:
            paths = self._save(files)
        except OSError as error:
            complain(f"cannot write {error.filename or self._path}: {error.strerror or error}")
            return None
        written = [Written(str(path), file.mime_type, len(file.data)) for path, file in zip(paths, files, strict=True)]
        for each in written:
            print(printable(f"wrote {each.path} ({each.mime_type}, {each.size:,} bytes)"), file=sys.stderr)
        return written

    def _save(self, files: list[File]) -> list[Path]:
        if self._is_folder:
            return save_files(files, self._path)
        paths = [self._numbered(number, file.name) for number, file in enumerate(files, 1)]
        for path, file in zip(paths, files, strict=True):
            path.write_bytes(file.data)
        return paths

    def _numbered(self, number: int, name: str) -> Path:
        """The given path; for further files, the path with a number and the suffix of the file."""
        if number == 1:
            return self._path
        return self._path.with_name(f"{self._path.stem}-{number}{Path(name).suffix or self._path.suffix}")


def files_of_result(result: CallToolResult) -> list[File]:
    """The files of a result; if it has none, its text, or its data."""
    if files := result.files:
        return files
    if not result.text and result.structured_content is not None:
        data = json.dumps(result.structured_content, indent=2, ensure_ascii=False)
        return [File("result.json", "application/json", data.encode())]
    return [File("result.txt", "text/plain", result.text.encode())]


def files_of_resource(contents: list[ResourceContents]) -> list[File]:
    """The contents of a resource as files."""
    return [
        resource_file(part["uri"], part.get("mimeType"), text)
        if (text := part.get("text")) is not None
        else resource_file(part["uri"], part.get("mimeType"), base64.b64decode(part.get("blob", "")))
        for part in contents
    ]
