"""The page as HTML: one file with its style, its script and its data, which needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.report import drawing
from pytest_kafkacheck.report.axis import clock
from pytest_kafkacheck.report.comparison import Comparison, compared
from pytest_kafkacheck.report.lane import Lane, Strip
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
