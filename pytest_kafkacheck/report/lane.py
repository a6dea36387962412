"""What a lane of the report consists of. Times are ms since the run's first operation; templates draw these values.

A strip has a row for each thing that changes its state (a broker's replica, a fault, a client). A chart has numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Tags:
    """By which the filters of the page choose rows. An empty one belongs to every choice."""

    log: str = ""
    process: str = ""
    anomaly: str = ""


@dataclass(frozen=True, kw_only=True)
class Span:
    """A state from `begin` to `end`."""

    begin: int
    end: int
    look: str
    """A class of style.css."""
    text: str = ""
    """Shown inside, as far as it fits."""
    title: str = ""
    """What the state is, in full."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A moment."""

    time: int
    look: str
    sign: str
    """One character, so that marks differ without colour."""
    title: str
    link: str = ""
    """The id of the part of the page that says more; empty: the moment itself."""


@dataclass(frozen=True, kw_only=True)
class Row:
    name: str
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()
    tags: Tags = Tags()


@dataclass(frozen=True, kw_only=True)
class Strip:
    title: str
    about: str
    """What is drawn how, in one sentence."""
    rows: tuple[Row, ...]
    folded: bool = False
    """Whether the reader has to open it."""


Points = Sequence[tuple[int, float | None]]
"""Time and value; None interrupts the line."""


@dataclass(frozen=True, kw_only=True)
class Series:
    name: str
    look: str
    points: Points
    dashed: bool = False


@dataclass(frozen=True, kw_only=True)
class Chart:
    title: str
    about: str
    unit: str
    series: tuple[Series, ...]
    top: float
    """The highest value of the vertical axis."""
    bottom: float = 0.0
    """The lowest one; above 0 for a logarithmic axis."""
    stacked: bool = False
    """Whether the series are areas on top of each other, each value lasting until the next one."""
    logarithmic: bool = False
    marks: tuple[Mark, ...] = ()
    tags: Tags = Tags()
    name: str = ""
    """By which report.js finds it to draw it for the chosen filters; empty: it is never drawn again."""
    folded: bool = False


Lane = Strip | Chart


@dataclass(frozen=True, kw_only=True)
class Group:
    """Lanes that belong together, under one heading."""

    title: str
    lanes: tuple[Lane, ...] = field(default=())
