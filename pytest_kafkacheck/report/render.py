"""The page as HTML: one file with its style, its script and its data, which needs no network.

For pages that show a comparison, lanes are drawn as one SVG without a script: groups one below the other, with the
same axis of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_kafkacheck.report import drawing
from pytest_kafkacheck.report.axis import clock
from pytest_kafkacheck.report.comparison import Comparison, compared
from pytest_kafkacheck.report.lane import Group, Lane, Strip
from pytest_kafkacheck.report.page import Page, page
from pytest_kafkacheck.report.run_data import RunData

if TYPE_CHECKING:
    from jinja2 import Environment


TEMPLATES = Path(__file__).parent / "templates"


def report(run: RunData) -> str:
    """HTML of the report of one run."""
    return _rendered("report.html.j2", page=page(run))


def comparison(runs: Sequence[RunData]) -> str:
    """HTML of several runs side by side."""
    return _rendered("comparison.html.j2", comparison=compared(runs))


def _rendered(template: str, **values: Page | Comparison) -> str:
    return environment(TEMPLATES).get_template(template).render(**values)


@cache
def environment(templates: Path) -> Environment:
    """Of the templates in a folder. ``asset(name)`` is a file of the report, such as its style.

    Every text is escaped: topics, errors and clients have names that others choose.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["clock"] = clock
    made.filters["line"] = lambda points, chart: drawing.line(chart, points)
    made.filters["areas"] = lambda chart, width: list(drawing.areas(chart, width))
    made.tests["strip"] = _is_strip
    made.globals["asset"] = lambda name: (TEMPLATES / name).read_text()
    return made


def _is_strip(lane: Lane) -> bool:
    return isinstance(lane, Strip)


WIDTH, LEFT, RIGHT = 860, 150, 10
"""Of the picture, of the names and of the margin."""

HEADING, ROW, CHART = 24, 18, 64
"""Heights."""

MOST_TICKS = 12


def picture(title: str, groups: Sequence[Group], *, span: int) -> str:
    """span: ms from the left to the right end."""
    scale = (WIDTH - LEFT - RIGHT) / span
    headings: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    charts: list[dict[str, Any]] = []
    y = 0
    for group in groups:
        headings.append({"text": group.title, "y": y + HEADING - 8})
        y += HEADING
        for lane in group.lanes:
            if isinstance(lane, Strip):
                for row in lane.rows:
                    rows.append({"name": row.name, "y": y, "spans": _spans(row.spans, scale)})
                    y += ROW
            else:
                charts.append(
                    {
                        "lane": lane,
                        "y": y + 4,
                        "height": CHART - 10,
                        "top": f"{lane.top:,g}",
                        "unit": lane.unit,
                        "names": lane.series,
                    }
                )
                y += CHART
    return environment(TEMPLATES).get_template("static.svg.j2").render(
        title=title,
        width=WIDTH,
        height=y + 22,
        left=LEFT,
        top=HEADING,
        bottom=y + 2,
        span=span,
        ticks=_ticks(span, scale),
        headings=headings,
        rows=rows,
        charts=charts,
    )  # fmt: skip


def _spans(spans: Sequence[Any], scale: float) -> list[dict[str, Any]]:
    return [
        {
            "x": round(LEFT + each.begin * scale, 1),
            "width": max(1.0, round((each.end - each.begin) * scale, 1)),
            "look": each.look,
            "text": each.text if (each.end - each.begin) * scale > 6 * len(each.text) else "",
            "title": each.title,
        }
        for each in spans
    ]


def _ticks(span: int, scale: float) -> list[dict[str, Any]]:
    step = next(
        step * 10**power
        for power in range(2, 9)
        for step in (1, 2, 5)
        if span / (step * 10**power) <= MOST_TICKS
    )
    return [{"x": round(LEFT + at * scale, 1), "text": f"{at / 1000:g}"} for at in range(0, span + 1, step)]
