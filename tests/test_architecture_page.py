"""`docs/architecture.md`: every module it names exists, and each picture shows the hops of its table."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.support.pages import DOCS, ROOT

PAGE = (DOCS / "architecture.md").read_text("utf-8")
PACKAGES = ("a2c_smcp", "a2c_documents")


@dataclass(frozen=True)
class Journey:
    """A section of the page with a picture and a table of hops."""

    title: str
    text: str

    @property
    def hops(self) -> list[str]:
        """The modules of the table, in order."""
        return re.findall(r"^\|(?: \w[\w ]*)? \| `([\w/]+\.py)` \|", self.text, re.MULTILINE)

    @property
    def shown(self) -> list[str]:
        """The modules in the picture, in order."""
        [picture] = re.findall(r"^!\[.+\]\((pictures/[\w-]+\.svg)\)$", self.text, re.MULTILINE)
        names: list[str] = re.findall(r'class="code"[^>]*>([\w/]+\.py)<', (DOCS / picture).read_text("utf-8"))
        return [name if name.startswith(PACKAGES) else f"a2c_smcp/{name}" for name in names]


SECTIONS = [Journey(*section.split("\n", 1)) for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]]
JOURNEYS = [section for section in SECTIONS if section.hops]


def test_every_module_that_the_page_names_exists() -> None:
    named: list[str] = re.findall(rf"`((?:{'|'.join(PACKAGES)}|tests)/[\w/.]*)`", PAGE)
    assert len(named) > 60
    assert not [place for place in named if not (ROOT / place).exists()]


def test_there_are_five_journeys() -> None:
    assert [journey.title for journey in JOURNEYS] == [
        "A tool call",
        "A tool call of an MCP host",
        "A page of the Finder",
        "A changed resource",
        "A page of a PDF file",
    ]


@pytest.mark.parametrize("journey", JOURNEYS, ids=lambda journey: journey.title)
def test_the_picture_of_a_journey_shows_the_hops_of_its_table(journey: Journey) -> None:
    assert journey.shown == journey.hops


@pytest.mark.parametrize("journey", JOURNEYS, ids=lambda journey: journey.title)
def test_the_number_of_hops_of_a_journey_is_right(journey: Journey) -> None:
    [stated] = re.findall(r"passes (\d+) modules", journey.text)
    assert int(stated) == len(set(journey.hops))
