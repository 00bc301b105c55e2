"""The skills in a folder of the owner's: `FOLDER/NAME/SKILL.md`, and the files beside it. All of this blocks."""

from __future__ import annotations

import logging
import os
import threading
from itertools import islice
from pathlib import Path

from a2c_smcp.computer.offer.skills.content import Content, content_of, open_file
from a2c_smcp.computer.offer.skills.front_matter import FrontMatterError
from a2c_smcp.computer.offer.skills.skill import (
    MAX_SKILL_BYTES,
    SKILL_FILE,
    Skill,
    check_path,
    file_error,
    no_skill,
    read_skill,
)
from a2c_smcp.smcp import SkillReference
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

MAX_SKILLS = 500
"""Skills of a folder; the others are left out."""
MAX_ENTRIES = 10_000
"""Entries of the folder that are looked at."""
LARGE = 1_000_000
"""Bytes of a file that is not read into memory."""

_Stamp = tuple[int, ...]


class SkillFolder:
    """Finds the skills, and reads their files. A `SKILL.md` is read again when it changed. For any threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, tuple[_Stamp, Skill | None]] = {}
        self._problems: dict[str, str] = {}
        """Why there is no skill in a folder that looks like one, by its name."""
        self._turn = threading.Lock()

    @property
    def problems(self) -> list[str]:
        """Messages for the owner."""
        return [f"{name}: {problem}" for name, problem in self._problems.items()]

    def references(self) -> list[SkillReference]:
        """The skills that there are now, by name."""
        with self._turn:
            root = Path(os.path.abspath(self.folder))
            return [skill.reference(name, "user", str(root / name)) for name, skill in self._scan().items()]

    def look(self) -> dict[str, _Stamp]:
        """What differs when a skill came, went or changed."""
        with self._turn:
            return {name: self._known[name][0] for name in self._scan()}

    def read(self, name: str, rel_path: str) -> Content:
        """A file of a skill; of its `SKILL.md`, what follows the front matter.

        Raises:
            MCPServerNotFoundError: there is no such skill.
            SkillFileError: the file does not exist, or is not part of the skill.
        """
        steps = check_path(rel_path)
        with self._turn:
            skill = self._scan().get(name)
        if skill is None:
            if name in self._problems and self._leads_out(self.folder / name):
                raise file_error("forbidden", rel_path, "the skill is outside of the folder for skills")
            raise no_skill(name)
        if rel_path == SKILL_FILE:
            return content_of(name, rel_path, skill.body.encode())
        path = self.folder.joinpath(name, *steps)
        if self._leads_out(path):
            raise file_error("forbidden", rel_path, "it is outside of the folder for skills")
        try:
            number = open_file(path.resolve(strict=True))
        except (OSError, RuntimeError, ValueError):  # a loop of links is a RuntimeError
            raise file_error("not_found", rel_path, "there is no such file") from None
        with open(number, "rb") as file:
            size = os.fstat(number).st_size
            if size > LARGE:
                return content_of(name, rel_path, path.resolve(), size)
            return content_of(name, rel_path, file.read(LARGE))

    def _leads_out(self, path: Path) -> bool:
        """Whether links lead from a path to something outside of the folder."""
        try:
            return not path.resolve().is_relative_to(self.folder.resolve())
        except (OSError, RuntimeError):
            return False  # it cannot be opened, either

    def _scan(self) -> dict[str, Skill]:
        """The skills that there are now, by name."""
        # Both tables are replaced as a whole: the event loop reads the problems meanwhile.
        known: dict[str, tuple[_Stamp, Skill | None]] = {}
        problems: dict[str, str] = {}
        for name in self._candidates(problems):
            path = self.folder / name / SKILL_FILE
            if (stamp := _stamp(path)) is None:
                continue
            before = self._known.get(name)
            if before is not None and before[0] == stamp:
                known[name] = before
                if name in self._problems:
                    problems[name] = self._problems[name]
                continue
            known[name] = stamp, None
            try:
                if self._leads_out(path):
                    raise FrontMatterError(f"a link leads out of {self.folder}")
                known[name] = stamp, read_skill(name, _read(path))
            except (OSError, ValueError) as error:
                problems[name] = getattr(error, "strerror", None) or str(error)
        for name, problem in problems.items():
            if self._problems.get(name) != problem:
                logger.warning("the skill %s is left out: %s", one_line(name), one_line(problem))
        self._known, self._problems = known, problems
        return {name: skill for name, (_, skill) in known.items() if skill is not None}

    def _candidates(self, problems: dict[str, str]) -> list[str]:
        """The folders that may be skills, in the order of their names."""
        try:
            with os.scandir(self.folder) as entries:
                names = sorted(entry.name for entry in islice(entries, MAX_ENTRIES) if entry.is_dir())
        except OSError as error:
            problems["."] = f"{self.folder} cannot be read: {error.strerror or error}"
            return []
        names = [name for name in names if not name.startswith(".")]
        if len(names) > MAX_SKILLS:
            problems["."] = f"{len(names) - MAX_SKILLS} folders are left out: at most {MAX_SKILLS} are skills"
        return names[:MAX_SKILLS]


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    # Inode and size as well: some file systems have times of a second or two.
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(path: Path) -> str:
    with open(open_file(path.resolve(strict=True)), "rb") as file:
        data = file.read(MAX_SKILL_BYTES + 1)
    if len(data) > MAX_SKILL_BYTES:
        raise FrontMatterError(f"its {SKILL_FILE} has more than {MAX_SKILL_BYTES} bytes")
    return data.decode("utf-8")
