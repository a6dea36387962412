"""The file of ``--kafkacheck-summary``: tests and what their runs showed, as Markdown for the summary of a CI job."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_kafkacheck.run import Run

ROW = "kafkacheck-row"
"""The property of a test's report that has what a run of it showed, in JSON."""

OUTCOMES = ("failed", "error", "skipped", "passed", "xfailed", "xpassed")
"""In the order in which tests are listed."""


def row(run: Run) -> str:
    return json.dumps({"result": run.result, "line": run.one_line(), "text": run.text()})


def check_summary_file(config: pytest.Config) -> None:
    """Raises pytest.UsageError for a file that cannot be written."""
    if file := config.getoption("kafkacheck_summary"):
        path = config.invocation_params.dir / file
        if path.is_dir() or not path.parent.is_dir():
            raise pytest.UsageError(f"--kafkacheck-summary {file}: expected a file in a folder that exists")


def write_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if file := config.getoption("kafkacheck_summary"):
        (config.invocation_params.dir / file).write_text(_markdown(terminalreporter.stats), encoding="utf-8")


def _markdown(stats: dict[str, list[Any]]) -> str:
    found = [
        (outcome, report)
        for outcome in OUTCOMES
        for report in stats.get(outcome, ())
        if "kafkacheck" in getattr(report, "keywords", ())
    ]
    counts = Counter(outcome for outcome, _ in found)
    said = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
    lines = [f"## kafkacheck: {said or 'no test with a Kafka cluster was run'}", ""]
    if found:
        lines += ["| test | outcome | what its runs showed |", "|---|---|---|"]
        lines += [_line(outcome, report) for outcome, report in found]
    for outcome, report in found:
        if outcome in ("failed", "error"):
            lines += ["", f"### {report.nodeid}", "", "```", *_evidence(report), "```"]
    return "\n".join(lines) + "\n"


def _line(outcome: str, report: Any) -> str:
    shown = [each["line"] for each in _rows(report)] or [_reason(report)]
    return f"| `{_cell(report.nodeid)}` | {outcome} | {'<br>'.join(map(_cell, shown))} |"


def _evidence(report: Any) -> Iterator[str]:
    texts = [each["text"] for each in _rows(report) if each["result"] != "valid"]
    yield from texts or [_reason(report)]


def _rows(report: Any) -> list[dict[str, str]]:
    return [json.loads(text) for key, text in report.user_properties if key == ROW]


def _reason(report: Any) -> str:
    """Why the test was skipped, or how it failed, in one line."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr or "").partition("\n")[0]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
