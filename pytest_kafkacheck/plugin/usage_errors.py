"""Errors in what a test asks for end at the line of the test, without the source of kafkacheck below it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

OURS = ("pytest_kafkacheck", "nemesis", "workloads", "analyzers")

ROOT = Path(__file__).parents[2]

MADE = "<string>"
"""File of the methods that dataclasses generate."""

RUNNING = ("experiment/harness.py", "experiment/execution.py", "plugin/")
"""Files of a run: an error that is raised below them may be a defect of kafkacheck, and is shown whole."""


def shorten_usage_error(call: pytest.CallInfo[None]) -> None:
    """Replace the error of a call if a value that the test wrote is refused."""
    if call.when != "call" or call.excinfo is None or (shown := _shown(call.excinfo.value)) is None:
        return
    call.excinfo = pytest.ExceptionInfo.from_exception(shown)


def pytest_exception_interact(
    node: pytest.Item | pytest.Collector,
    call: pytest.CallInfo[Any],
    report: pytest.CollectReport | pytest.TestReport,
) -> None:
    """The same for an experiment at the top level of a test file, whose report is made already."""
    if (
        isinstance(report, pytest.CollectReport)
        and call.excinfo is not None
        and isinstance(node, pytest.Collector)
    ):
        shown = _shown(call.excinfo.value)
        if shown is not None:
            report.longrepr = node.repr_failure(pytest.ExceptionInfo.from_exception(shown))


def _shown(error: BaseException) -> BaseException | None:
    """The error as it is shown; None for one that stays as it is."""
    if type(error) not in (ValueError, TypeError) and type(error).__name__ != "UsageError":
        return None
    frames = _frames(error.__traceback__)
    kept = max((number for number, frame in enumerate(frames) if not _is_ours(frame)), default=-1) + 1
    below = frames[kept:]
    from pytest_kafkacheck.errors import UsageError
    from pytest_kafkacheck.wrong_call import wrong_call

    text = str(error)
    if isinstance(error, TypeError):
        said = wrong_call(error)
        if said is None or below:
            return None
        text = said
    elif not kept or not below or (not isinstance(error, UsageError) and any(map(_is_running, below))):
        return None
    shown = UsageError(text)
    tail: TracebackType | None = None
    for frame in reversed(frames[:kept]):
        tail = TracebackType(tail, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return shown.with_traceback(tail)


def _frames(traceback: TracebackType | None) -> list[TracebackType]:
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


def is_our_file(path: Path | str) -> bool:
    """Whether it is a file of one of our packages."""
    path = Path(path)
    return path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in OURS


def _place(frame: TracebackType) -> str:
    """Relative to where kafkacheck lies; empty for another file."""
    file = Path(frame.tb_frame.f_code.co_filename)
    return file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else ""


def _is_ours(frame: TracebackType) -> bool:
    module = str(frame.tb_frame.f_globals.get("__name__", ""))
    is_made = frame.tb_frame.f_code.co_filename == MADE
    return (is_made or bool(_place(frame))) and module.partition(".")[0] in OURS


def _is_running(frame: TracebackType) -> bool:
    return _place(frame).startswith(tuple(f"pytest_kafkacheck/{each}" for each in RUNNING))
