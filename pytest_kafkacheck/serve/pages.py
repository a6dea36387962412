"""The pages of ``kafkacheck serve``: an address to a page, without HTTP.

| address | shows |
|---|---|
| ``/``, ``/?failed=1`` | the runs, the latest first |
| ``/run/NAME`` | the report of the run in the folder of that name |
| ``/compare?run=NAME&run=NAME`` | runs side by side |
| ``/trend?test=NAME`` | a test over its runs |

No address becomes a path: a name is compared with those of the runs that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.kept_runs.figures import NAMES, SHOWN, figure_text, of_test, trend
from pytest_kafkacheck.kept_runs.run_summary import RunSummary, runs_in
from pytest_kafkacheck.report.render import comparison, environment, report
from pytest_kafkacheck.report.run_data import RunData, read_run

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, kw_only=True)
class Page:
    status: HTTPStatus = HTTPStatus.OK
    html: str


class _NoPageError(Exception):
    """Says what is missing."""


def page(address: str, directory: Path) -> Page:
    """The page of an address, such as ``/compare?run=a&run=b``, about the runs in a directory as they are now."""
    split = urlsplit(address)
    query = parse_qs(split.query)
    runs = runs_in(directory)
    try:
        match split.path.split("/")[1:]:
            case [""]:
                return _listing(runs, directory, only_failed="failed" in query)
            case ["run", name]:
                return Page(html=report(_data(unquote(name), runs)))
            case ["compare"]:
                return _comparison(query.get("run", []), runs)
            case ["trend"]:
                return _trend(query.get("test", [""])[0], runs)
        raise _NoPageError(f"There is no page {split.path}.")
    except _NoPageError as error:
        return _message(HTTPStatus.NOT_FOUND, str(error))
    except UsageError as error:
        return _message(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))


def _listing(runs: Sequence[RunSummary], directory: Path, *, only_failed: bool) -> Page:
    shown = [run for run in reversed(runs) if not (only_failed and run.is_as_expected)]
    return Page(
        html=_rendered("listing", runs=shown, count=len(runs), directory=directory, only_failed=only_failed)
    )


def _comparison(names: Sequence[str], runs: Sequence[RunSummary]) -> Page:
    if len(names) < 2:
        raise UsageError("Choose two or more runs in the list to compare them.")
    return Page(html=comparison([_data(name, runs) for name in names]))


def _trend(test: str, runs: Sequence[RunSummary]) -> Page:
    chosen = of_test(runs, test)
    if not chosen:
        raise _NoPageError(f"There is no run of a test {test}.")
    found = trend(chosen)
    rows = [
        (run, [figure_text(name, figures.to_json()[name]) for name in SHOWN])
        for run, figures in zip(found.runs, found.figures, strict=True)
    ]
    headings = [NAMES[name] for name in SHOWN]
    return Page(html=_rendered("trend", test=test, rows=rows, headings=headings, summary=found.summary))


def _data(name: str, runs: Sequence[RunSummary]) -> RunData:
    by_name: Mapping[str, RunSummary] = {run.path.name: run for run in runs}
    if name not in by_name:
        raise _NoPageError(f"There is no run {name}.")
    home = by_name[name].path
    # To read these would be to finish them, and the run may still be going on.
    if (home / "history" / "segments").is_dir():
        raise UsageError(f"{name} goes on, or was interrupted. If it has ended: kafkacheck analyze {home}")
    return read_run(home)


def _message(status: HTTPStatus, text: str) -> Page:
    return Page(status=status, html=_rendered("message", status=status, text=text))


def _rendered(name: str, **values: Any) -> str:
    return environment(TEMPLATES).get_template(f"{name}.html.j2").render(**values)
