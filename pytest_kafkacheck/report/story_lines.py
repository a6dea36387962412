"""The story of a verdict, line by line, so that its times can be links."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

LINE = re.compile(r"\s*(?P<time>[\d,]+\.\d) s\s\s+(?:(?P<since>fault|\+[\d,]+\.\d s)\s\s)?\s*(?P<text>.+)")
LABEL = re.compile(r"   (?P<label>with|why|try|seen|but|unknown)(?:\s+(?P<text>.*))?$")


@dataclass(frozen=True, kw_only=True)
class StoryLine:
    text: str
    time: str = ""
    """As the story writes it, such as ``10.4``."""
    since: str = ""
    """``fault``, or the time since the fault above."""
    label: str = ""
    """What the line is about, such as ``why``; empty for a step and for what follows from it."""

    @property
    def ms(self) -> int:
        return round(float(self.time.replace(",", "")) * 1000)

    @property
    def is_fault(self) -> bool:
        return self.since == "fault"


def story_lines(story: str) -> tuple[StoryLine, ...]:
    """Of the text of `analyzers.causes.story.story`, without its headline.

    Reasons why something is unknown are on lines of their own below the label; each gets it.
    """
    lines: list[StoryLine] = []
    label = ""
    for line in (_line(text) for text in story.splitlines()[1:] if text.strip()):
        if line.label and not line.text:
            label = line.label
        else:
            lines.append(replace(line, label=line.label or label))
    return tuple(lines)


def _line(text: str) -> StoryLine:
    if match := LINE.fullmatch(text):
        return StoryLine(text=match["text"], time=match["time"], since=match["since"] or "")
    if match := LABEL.fullmatch(text):
        return StoryLine(text=match["text"] or "", label=match["label"])
    return StoryLine(text=text.strip())
