"""The site of the documentation: `make docs`.

Sphinx with MyST reads the same Markdown that people read in the repository. mkdocs-material, which was planned,
declares itself inactive (its release 9.8.2), and MkDocs has had no release since August 2024.

The navigation is index.md itself: each of its sections is a part of the menu, with the pages that it links.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "kafkacheck"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["generate"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "kafkacheck"
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_show_copyright = False
html_copy_source = False

PAGE = re.compile(r"\]\((?P<name>\w+)\.md(#[\w-]+)?\)")


def menu(index: str) -> str:
    """Hidden tables of contents, one for each section of the index; a page belongs to the first one that links it."""
    seen: set[str] = set()
    parts = []
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        pages = [name for name in (match["name"] for match in PAGE.finditer(section)) if name not in seen]
        pages = list(dict.fromkeys(pages))
        seen.update(pages)
        if pages:
            title = section.partition("\n")[0]
            parts.append("\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```"]))
    return "\n\n".join(parts)


def _add_menu(_: Sphinx, page: str, source: list[str]) -> None:
    if PurePosixPath(page).name == root_doc:
        source[0] += f"\n\n{menu(source[0])}\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_menu)
