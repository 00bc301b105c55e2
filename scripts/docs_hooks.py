"""What the site builder calls: it adds the pages that the code writes."""

from __future__ import annotations

from docs_reference import PAGES
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those that are in `docs/`."""
    for place, write in PAGES.items():
        files.append(File.generated(config, place, content=write()))
    return files
