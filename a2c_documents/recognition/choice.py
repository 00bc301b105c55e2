"""Which recognizer is used, and why there is none."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass
from hashlib import blake2b
from importlib import metadata
from pathlib import Path

from a2c_documents.recognition.models import BrokenModelsError, Models, package_folder
from a2c_documents.recognition.recognizer import MEMORY_BYTES, Recognizer
from a2c_smcp.utils.extras import how_to_install

VERSION = 1
"""The version of our part of recognition. Raise it when the same models give something else than before."""
SEEN = "The words of this page can only be seen: it is a picture without a text layer."


@dataclass(frozen=True, slots=True)
class Choice:
    """A recognizer, or the reason why there is none."""

    recognizer: Recognizer | None = None
    reason: str = ""
    """What a page says instead of its text."""
    in_background: bool = True
    """Whether all scans are recognized for the search, and not only the pages that clients read."""


def not_installed() -> str:
    """What a page says if the extra is not installed."""
    return f"{SEEN} To have them recognized, install a2c-stack[ocr]: {how_to_install('ocr')}."


NONE = Choice(reason=not_installed())
OFF = Choice(reason=f"{SEEN} Text recognition is turned off.")


def rapid(models: Path | None = None, *, in_background: bool = True) -> Choice:
    """RapidOCR, with the models of a folder for another script.

    Raises:
        BrokenModelsError: the folder has no usable models.
    """
    if package_folder() is None:
        if models is not None:
            raise BrokenModelsError(f"text recognition is not installed: {how_to_install('ocr')}")
        return Choice(reason=not_installed(), in_background=in_background)
    files = Models.of(models).files
    # The folder of the server is not that of the process.
    own = [] if models is None else ["--models", str(models.resolve())]
    # Twice, because onnxruntime reserves much more address space than it uses.
    command = [sys.executable, "-P", "-m", "a2c_documents.recognition.rapid", "--memory", str(2 * MEMORY_BYTES), *own]
    stats = [(path.name, stat.st_size, stat.st_mtime_ns) for path in files if (stat := path.stat())]
    # The package's own models change with its version only.
    known = [version_of("rapidocr"), version_of("onnxruntime"), stats if models is not None else ""]
    return Choice(Recognizer(command, _key("rapidocr", VERSION, *known)), in_background=in_background)


def program(command: str, *, in_background: bool = True) -> Choice:
    """Any program that answers as described on the page about documents.

    Raises:
        ValueError: there is no such program.
    """
    words = shlex.split(command)
    if not words or shutil.which(words[0]) is None:
        raise ValueError(f"no such program: {words[0] if words else command}")
    return Choice(Recognizer(words, _key("program", *words)), in_background=in_background)


def version_of(distribution: str) -> str:
    """The installed version of a package; empty if it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _key(*parts: object) -> str:
    return blake2b(repr(parts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
