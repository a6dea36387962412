"""Lanes of the report as one SVG without a script, for pages that show a comparison: groups one below the other, with
the same axis of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_kafkacheck.report.lane import Group, Strip
from pytest_kafkacheck.report.render import TEMPLATES, environment

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
