"""Links within the documentation lead to pages and headings that exist, and the index names every page.

Links to other sites are not followed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, ROOT, anchor, anchors, links

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@each_page
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    broken = []
    for target in links(page):
        if "://" in target:
            continue
        name, _, fragment = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (fragment and fragment not in anchors(file)):
            broken.append(target)
    assert not broken


@each_page
def test_a_page_of_the_documentation_links_only_what_the_site_has(page: Path) -> None:
    if page.parent == ROOT:
        pytest.skip("README.md is read in the repository and in package indexes only")
    outside = [target for target in links(page) if target.startswith("..")]
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
