"""Links within the documentation lead to pages and headings that exist, and the index names every page.

Links to other sites are not followed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, ROOT, anchor, anchors, links


def leads_somewhere(page: Path, target: str) -> bool:
    name, _, fragment = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    return file.exists() and (not fragment or fragment in anchors(file))


def test_links_within_the_project_lead_somewhere() -> None:
    inner = [(page, target) for page in PAGES for target in links(page) if "://" not in target]
    assert not [(page.name, target) for page, target in inner if not leads_somewhere(page, target)]


def test_a_page_of_the_documentation_links_only_what_the_site_has() -> None:
    """README.md is read in the repository and in package indexes only."""
    pages = [page for page in PAGES if page.parent != ROOT]
    outside = [(page.name, target) for page in pages for target in links(page) if target.startswith("..")]
    assert not outside, "the site has the files in docs/ only: name the file as code instead"


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    named = {target.partition("#")[0] for target in links(index)}
    assert {page.name for page in PAGES if page.parent == ROOT / "docs"} - {"index.md"} == named


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("TLS and SASL", "tls-and-sasl"),
        ("An experiment with `auto.offset.reset=latest`", "an-experiment-with-autooffsetresetlatest"),
        ("read-your-writes", "read-your-writes"),
        ("[groups](groups.md), again", "groups-again"),
    ],
)
def test_anchors_are_those_of_github(title: str, expected: str) -> None:
    assert anchor(title) == expected
