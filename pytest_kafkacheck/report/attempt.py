"""The report of a run that has its result already: what prevents the report must not hide the result."""

from __future__ import annotations

from pathlib import Path


def written_or_why_not(home: Path) -> str:
    """The file report.html of the run in this folder, or in one line why there is none. Never raises."""
    try:
        from pytest_kafkacheck.report.write import write_report

        return str(write_report(home))
    except Exception as error:
        reason = " ".join(str(error).split())
        return f"not written ({type(error).__name__}: {reason}); try kafkacheck report {home}"
