"""Writes the report of a run into its folder."""

from __future__ import annotations

from pathlib import Path

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.report.markdown import markdown
from pytest_kafkacheck.report.render import comparison, report
from pytest_kafkacheck.report.run_data import read_run

NAME = "report.html"
MARKDOWN = "report.md"


def write_report(home: Path, out: Path | None = None) -> Path:
    """Returns the file: `out`, or report.html in the run's folder.

    Raises UsageError for what is no run, and where the file cannot be written.
    """
    return _written(report(read_run(home)), out or home / NAME)


def write_markdown(home: Path, out: Path | None = None) -> Path:
    """The same for report.md."""
    return _written(markdown(read_run(home)), out or home / MARKDOWN)


def write_comparison(homes: list[Path], out: Path) -> Path:
    """The runs side by side."""
    return _written(comparison([read_run(home) for home in homes]), out)


def _written(text: str, file: Path) -> Path:
    try:
        file.write_text(text)
    except OSError as error:
        raise UsageError(
            f"{file}: the report cannot be written ({error.strerror}); name another file with -o"
        ) from error
    return file
