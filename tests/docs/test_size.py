"""The documentation has few pages and few words, and each page says first what one can do after reading it."""

from __future__ import annotations

import re
import runpy

from tests.docs.markdown import ROOT

MOST_PAGES = 25
"""In the menu of the site."""
MOST_WORDS = 30_000
"""Of all pages apart from the reference."""

REFERENCE = {"anomalies", "commands", "defects", "faults", "scenarios"}
"""Pages that a reader searches, and does not read from top to bottom."""

DOCS = ROOT / "docs"
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TARGET = re.compile(r"\]\((<[^>]*>|[^()\s]*)\)")
"""Of a link: a reader sees its text only."""
ENTRY = re.compile(r"^\w+$", re.MULTILINE)


def menu() -> list[str]:
    """The pages that docs/conf.py puts into the menu."""
    tables: str = runpy.run_path(str(DOCS / "conf.py"))["menu"](
        (DOCS / "index.md").read_text(encoding="utf-8")
    )
    return ENTRY.findall(tables)


def words(text: str) -> int:
    """As a reader sees them: tables and examples count, marks, comments and the targets of links do not."""
    return sum(any(map(str.isalnum, word)) for word in TARGET.sub("]", COMMENT.sub("", text)).split())


def test_the_menu_is_short() -> None:
    pages = menu()
    assert {file.stem for file in DOCS.glob("*.md")} == {"index", *pages}
    assert len(pages) <= MOST_PAGES


def test_the_pages_that_people_read_are_short() -> None:
    counts = {
        file.stem: words(file.read_text(encoding="utf-8"))
        for file in DOCS.glob("*.md")
        if file.stem not in REFERENCE
    }
    assert sum(counts.values()) <= MOST_WORDS, counts


def test_each_page_says_first_what_a_reader_can_do_with_it() -> None:
    silent = [page for page in menu() if "you can" not in _first_paragraph(page)]
    assert not silent


def _first_paragraph(page: str) -> str:
    title, first, *_ = (DOCS / f"{page}.md").read_text(encoding="utf-8").split("\n\n")
    assert title.startswith("# ")
    return first


def test_what_a_reader_does_not_see_is_not_counted() -> None:
    text = (
        "# One\n\n<!-- generated: no words -->\n\n| [two](far/away.md#x) | **three** | – |\n|---|---|---|\n"
    )
    assert words(text) == 3
