"""The models of RapidOCR: those of its package, and those of a folder for other scripts."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from a2c_smcp.utils.extras import how_to_install

_PARTS = {"detection": "*det*.onnx", "recognition": "*rec*.onnx", "direction": "*cls*.onnx"}


class BrokenModelsError(Exception):
    """A folder has no usable models. The message is shown to people."""


@dataclass(frozen=True, slots=True)
class Models:
    """The files of the models: to find lines, to turn them upright, and to read them."""

    detection: Path
    direction: Path
    recognition: Path
    letters: Path | None = None
    """The letters of the script, one in each line, if the model that reads lines does not have them."""

    @classmethod
    def of(cls, folder: Path | None) -> Models:
        """The models of a folder, completed by those of the package.

        Raises:
            BrokenModelsError: the folder has none that can read lines, or several.
        """
        package = package_folder()
        if package is None:
            raise BrokenModelsError(f"text recognition is not installed: {how_to_install('ocr')}")
        own = {part: _only(package / "models", pattern) for part, pattern in _PARTS.items()}
        found = {part: _only(folder, pattern) if folder is not None else None for part, pattern in _PARTS.items()}
        letters = _only(folder, "*.txt") if folder is not None else None
        if folder is not None and found["recognition"] is None:
            raise BrokenModelsError(f"{folder} has no model that reads lines: a file such as rec.onnx is expected")
        used = {part: found[part] or own[part] for part in _PARTS}
        complete = {part: path for part, path in used.items() if path is not None}
        if missing := [part for part in _PARTS if part not in complete]:
            raise BrokenModelsError(f"the model for {missing[0]} is missing: install rapidocr again")
        return cls(letters=letters, **complete)

    @property
    def files(self) -> list[Path]:
        """All files."""
        return [path for path in (self.detection, self.direction, self.recognition, self.letters) if path is not None]


def package_folder() -> Path | None:
    """The folder of RapidOCR, which is not imported; None if it is not installed completely."""
    if importlib.util.find_spec("onnxruntime") is None or importlib.util.find_spec("cv2") is None:
        return None
    spec = importlib.util.find_spec("rapidocr")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _only(folder: Path, pattern: str) -> Path | None:
    """The file that matches a pattern; None if none does.

    Raises:
        BrokenModelsError: several do, or the folder cannot be read.
    """
    try:
        # `match` compares as the system does: names of models differ in case.
        found = sorted(path for path in folder.iterdir() if path.is_file() and Path(path.name.lower()).match(pattern))
    except OSError as error:
        raise BrokenModelsError(f"the folder of models {folder} cannot be read: {error.strerror}") from None
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:3])
        raise BrokenModelsError(f"{folder} has several models of one kind: {names}; keep one of them")
    return found[0] if found else None
