"""Which run a user means: a folder, ``latest``, or the id of a run or the beginning of one."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.kept_runs.run_summary import RunSummary, is_run, runs_in

LATEST = re.compile(r"latest(?:~(?P<back>\d+))?")
PARTS = ("history", "logs", "experiment.json", "verdict.json", "environment.json", "report.html")
"""What lies in the folder of a run, and is named in place of it by mistake."""


def find(text: str, directory: Path) -> Path | None:
    """The folder of the run that `text` names; None where it names none of `directory`, and may be a path.

    ``latest~1`` is the run before the latest. A folder that exists is meant before a run of that id.
    Raises UsageError for a part of a run's folder, for ``latest`` without any run, and for a beginning that several
    ids have.
    """
    path = Path(text)
    if path.exists():
        if path.name in PARTS and is_run(path.resolve().parent):
            raise UsageError(f"{text}: is a part of a run; name the run's folder, {path.parent}")
        return path
    if match := LATEST.fullmatch(text):
        return _latest(text, int(match["back"] or 0), directory)
    named = [run for run in runs_in(directory) if run.path.name == text or run.run.startswith(text)]
    if len(named) > 1:
        raise UsageError(
            f"{text}: begins the ids of {len(named)} runs in {directory}: {', '.join(each.run for each in named)}"
        )
    return named[0].path if text and named else None


def find_one(text: str, directory: Path) -> RunSummary:
    """The run that `text` names. Raises UsageError for anything else, naming near ones."""
    found = find(text, directory)
    if found is not None and is_run(found):
        return RunSummary(found)
    if found is not None:
        inside = len(runs_in(found)) if found.is_dir() else 0
        hint = f"; it has {inside} runs: kafkacheck ls --dir {text} lists them" if inside else ""
        raise UsageError(f"{text}: not the folder of a run, it has no experiment.json{hint}")
    runs = runs_in(directory)
    near = get_close_matches(text, [name for run in runs for name in (run.run, run.path.name)], n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else "."
    raise UsageError(
        f"{text}: no such run in {directory}{hint} Expected a folder, latest, latest~1, or the beginning of a run's "
        f"id; kafkacheck ls --dir {directory} lists {len(runs)} runs"
    )


def _latest(text: str, back: int, directory: Path) -> Path:
    runs = runs_in(directory)
    if back >= len(runs):
        raise UsageError(
            f"{text}: {directory} holds {len(runs) or 'no'} run{'s' * (len(runs) != 1)}; --dir DIR names the folder "
            f"of runs to look in"
        )
    return runs[-1 - back].path
