"""What the tests of the documentation need of a page in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} (?P<title>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block. line: of its first line, from 1."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        indent = re.compile(f"^{match['indent']}", re.MULTILINE)
        yield Block(page.name, line, match["language"], indent.sub("", match["text"]))


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    return [match["target"] for match in LINK.finditer(prose(page))]


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub and the site make them."""
    found: set[str] = set()
    for match in HEADING.finditer(prose(page)):
        slug = anchor(match["title"])
        number = 0
        while (unique := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(unique)
    return found


def anchor(title: str) -> str:
    text = re.sub(r"\]\([^)]*\)|[`\[\]]", "", title).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
