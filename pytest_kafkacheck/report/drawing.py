"""Values of charts as the text of SVG paths: x is ms, y counts from the top in hundredths of the height."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_kafkacheck.report.lane import Chart, Points

HEIGHT = 100


def line(chart: Chart, points: Points) -> str:
    """A line from point to point, interrupted where a value is None."""
    parts, is_open = [], False
    for time, value in points:
        if value is None:
            is_open = False
            continue
        parts.append(f"{'L' if is_open else 'M'}{time} {_y(chart, value):g}")
        if not is_open:
            parts.append("h0.1")  # A point on its own is drawn as a dot by its round end.
        is_open = True
    return "".join(parts)


def areas(chart: Chart, width: int) -> Iterator[str]:
    """Of a stacked chart: the area of each series, on top of those before it. width: of a step, ms."""
    below = [0.0] * max((len(each.points) for each in chart.series), default=0)
    for series in chart.series:
        above = [base + (value or 0) for base, (_, value) in zip(below, series.points, strict=True)]
        times = [time for time, _ in series.points]
        yield _area(chart, times, below, above, width)
        below = above


def _area(chart: Chart, times: list[int], below: list[float], above: list[float], width: int) -> str:
    """A path around each stretch in which there is anything."""
    parts: list[str] = []
    start = 0
    while start < len(times):
        if above[start] <= below[start]:
            start += 1
            continue
        end = start
        while end < len(times) and above[end] > below[end]:
            end += 1
        steps = range(start, end)
        parts.append(f"M{times[start]} {_y(chart, below[start]):g}")
        parts += [f"V{_y(chart, above[at]):g}h{width}" for at in steps]
        parts += [f"V{_y(chart, below[at]):g}h-{width}" for at in reversed(steps)]
        parts.append("z")
        start = end
    return "".join(parts)


def nice_top(value: float) -> float:
    """The smallest round number that is not below the value; report.js chooses the same."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value * 0.999)


def _y(chart: Chart, value: float) -> float:
    share = value / chart.top if chart.top else 0.0
    if chart.logarithmic:
        low, high = math.log10(chart.bottom), math.log10(chart.top)
        share = (math.log10(max(value, chart.bottom)) - low) / ((high - low) or 1)
    return round(HEIGHT * (1 - min(max(share, 0), 1)), 1)
