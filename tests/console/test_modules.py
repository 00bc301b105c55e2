"""The modules of the console: their JSDoc types fit together, and every text that they show has a translation."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from a2c_smcp.console.web.languages import TEXTS, texts
from a2c_smcp.console.web.rendering import FOLDER as TEMPLATES
from a2c_smcp.console.web.static import FOLDER as MODULES
from tests.support.pages import ROOT

TSC = ROOT / "tests" / "js" / "node_modules" / ".bin" / "tsc"
OPTIONS = {
    "allowJs": True,
    "checkJs": True,
    "noEmit": True,
    "strict": True,
    "target": "es2022",
    "module": "es2022",
    "moduleResolution": "bundler",
    "lib": ["es2023", "dom", "dom.iterable"],
    "types": [],
}
_IN_MODULE = re.compile(r"""\bt\(\s*"((?:[^"\\]|\\.)*)""")
_IN_TEMPLATE = re.compile(r"""\b_\(\s*(?:"([^"]*)"|'([^']*)')""")


@pytest.mark.process
@pytest.mark.skipif(not TSC.exists(), reason="TypeScript is not installed: make test brings it")
def test_modules_are_typed(tmp_path: Path) -> None:
    config = tmp_path / "tsconfig.json"
    config.write_text(json.dumps({"compilerOptions": OPTIONS, "include": [f"{MODULES}/**/*.js"]}))
    outcome = subprocess.run([TSC, "-p", config], capture_output=True, text=True, timeout=120, check=False)
    assert outcome.returncode == 0, outcome.stdout


def test_every_text_is_translated() -> None:
    found = {match for file in MODULES.rglob("*.js") for match in _IN_MODULE.findall(file.read_text("utf-8"))}
    for file in TEMPLATES.rglob("*.html"):
        found |= {one or other for one, other in _IN_TEMPLATE.findall(file.read_text("utf-8"))}
    assert len(found) > 100
    assert found - texts("zh").keys() == set()


def test_a_translation_has_the_values_of_its_text() -> None:
    names = re.compile(r"\{\w+\}")
    for english, translated in texts("zh").items():
        assert sorted(names.findall(english)) == sorted(names.findall(translated)), english


def test_no_two_files_translate_a_text_differently() -> None:
    known: dict[str, str] = {}
    for file in sorted(TEXTS.glob("zh/*.json")):
        for english, translated in json.loads(file.read_text("utf-8")).items():
            assert known.setdefault(english, translated) == translated


def test_no_module_reads_markup() -> None:
    harmful = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc")
    for file in MODULES.rglob("*.js"):
        assert harmful.search(file.read_text("utf-8")) is None, file


def test_no_template_has_scripts_or_styles_of_its_own() -> None:
    for file in TEMPLATES.rglob("*.html"):
        text = file.read_text("utf-8")
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|\|\s*safe\b|autoescape", text), file
