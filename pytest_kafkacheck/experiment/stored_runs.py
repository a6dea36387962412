"""Run folders: finding them below paths and URIs, and reading by which rules each one is judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import SparkSession

from analyzers.history import remote
from analyzers.history.sources import Location
from analyzers.history.validate import BadHistory, run_ids
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.imported_lines import ImportedLines, import_run
from pytest_kafkacheck.experiment.run_directory import JudgingRules, RunDirectory
from workloads.history.compaction.compact import compact
from workloads.history.lines.parse import HEADER, is_lines

NO_HISTORY = (
    f"neither the folder of a run nor a history as JSON lines, which is named FILE.jsonl or FILE.jsonl.gz, or whose "
    f'line 1 is such as {{"{HEADER}": 1, "unit": "ms"}} (kafkacheck analyze --explain-schema); --profile jepsen '
    f"reads the histories of Jepsen"
)
"""What is said of another file."""

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class SparkProvider(Protocol):
    """Starts Spark when it is first needed; see `pytest_kafkacheck.spark.Spark`."""

    def session(self, *, rows: int | None = None) -> SparkSession: ...


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """A folder that was named as a run. If it is not one, `problem` says so."""

    home: Location
    """A path, or a URI of a file system that only Spark reads; see `list_remote`."""
    rules: JudgingRules | None = None
    """Of its experiment. None if the folder holds a history only."""
    lines: ImportedLines | None = None
    """The file as which another program wrote it, if it was imported into the folder."""
    rows: int = 0
    """Of all tables, if the run is remote."""
    problem: str | None = None
    """Why it cannot be judged."""


def stored_runs(paths: Sequence[str], *, scratch: Path | None = None) -> list[StoredRun]:
    """The runs at these paths, each once. A path names a run, a folder of runs (taken by name), a URI of either, or a
    history as JSON lines, which is imported into `scratch`.

    A URI of another file system is kept as it is: see `list_remote`. Raises UsageError for a file: URI of another
    host."""
    runs: dict[Location, StoredRun] = {}
    for text in paths:
        if _is_remote(text):
            runs.setdefault(text.rstrip("/"), StoredRun(home=text.rstrip("/")))
            continue
        if is_lines(path := _local(text)) and not path.is_dir():
            runs.setdefault(path.resolve(), _imported(path, scratch, len(runs)))
            continue
        for home in _homes(path):
            runs.setdefault(home.resolve(), _stored_run(home))
    return list(runs.values())


def list_remote(spark: SparkProvider, runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Replace each URI by the runs found there, each once, or by the reason why there is none."""
    listed: dict[Location, StoredRun] = {}
    for run in runs:
        for each in [run] if isinstance(run.home, Path) else _remote_runs(spark.session(), run.home):
            listed.setdefault(each.home, each)
    return list(listed.values())


def local_run(text: str, *, scratch: Path | None = None) -> StoredRun:
    """A single run on this machine, its history compacted. Raises UsageError for anything else.

    scratch  as for `stored_runs`.
    """
    if _is_remote(text):
        raise UsageError(
            f"{text}: expected a path, or a URI such as file:///runs/one; copy the run to this machine first"
        )
    runs = stored_runs([text], scratch=scratch)
    if len(runs) > 1:
        raise UsageError(f"{text}: holds {len(runs)} runs; name one of them")
    (run,) = runs
    if problem := run.problem or compaction_problem(run):
        raise UsageError(problem)
    try:
        ids = run_ids(Path(run.home))
    except BadHistory as error:
        raise UsageError(str(error)) from error
    if len(ids) > 1:
        raise UsageError(f"{text}: its history holds several runs ({', '.join(sorted(ids))}), expected one")
    return run


def compaction_problem(run: StoredRun) -> str | None:
    """Compact the segments of a local run into tables. Returns the reason why that failed; None if it succeeded."""
    if not isinstance(run.home, Path):
        return None
    try:
        if run.rules is not None or (RunDirectory(run.home).history / "segments").is_dir():
            compact(run.home)
    except (ValueError, OSError, pa.ArrowException) as error:
        return f"{run.home}: its history cannot be compacted ({type(error).__name__}: {error})"
    return None


def _homes(path: Path) -> list[Path]:
    inside = [each for each in sorted(path.iterdir()) if _is_run(each)] if path.is_dir() else []
    return inside if inside and not _is_run(path) else [path]


def _is_run(path: Path) -> bool:
    """Also True for a folder that cannot be read: validation reports it later, with the reason."""
    try:
        return RunDirectory(path).history.exists() or RunDirectory(path).experiment.exists()
    except OSError:
        return True


def _imported(path: Path, scratch: Path | None, number: int) -> StoredRun:
    if scratch is None:
        problem = f"{path}: a history as JSON lines, not a run; judge it with kafkacheck analyze {path}"
        return StoredRun(home=path, problem=problem)
    try:
        lines = import_run(path, scratch / str(number))
    except UsageError as error:
        return StoredRun(home=path, problem=str(error))
    return StoredRun(home=lines.home, lines=lines)


def _stored_run(home: Path) -> StoredRun:
    if not _is_run(home):
        what = NO_HISTORY if home.exists() else "no such file or folder"
        if home.is_dir():
            what = (
                "neither the folder of a run (it has no experiment.json and no history/) nor a folder of runs"
            )
        return StoredRun(home=home, problem=f"{home}: {what}; runs are kept below .kafkacheck/")
    try:
        directory = RunDirectory(home)
        if directory.experiment.exists():
            return StoredRun(home=home, rules=directory.read_judging_rules())
        return StoredRun(home=home, lines=ImportedLines.read(home))
    except UsageError as error:
        return StoredRun(home=home, problem=str(error))
    except OSError as error:
        return StoredRun(home=home, problem=f"{home}: cannot be read ({error.strerror})")


def _is_remote(text: str) -> bool:
    return SCHEME.match(text) is not None and not text.startswith("file:")


def _local(text: str) -> Path:
    if "://" in text and not text.startswith("file:"):
        raise UsageError(
            f"{text}: expected a path, or a URI such as file:///runs/one or hdfs://host/runs/one"
        )
    if not text.startswith("file:"):
        return Path(text)
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
        raise UsageError(f"{text}: expected a file: URI of this machine, such as file:///runs/one")
    return Path(unquote(parts.path))


def _remote_runs(session: SparkSession, uri: str) -> Iterator[StoredRun]:
    try:
        homes = remote.runs_at(session, uri)
    except BadHistory as error:
        yield StoredRun(home=uri, problem=str(error))
        return
    for home in homes:
        try:
            text = remote.text_at(session, home, "experiment.json")
            rules = None if text is None else JudgingRules.parse(text, f"{home}/experiment.json")
        except (BadHistory, UsageError) as error:
            yield StoredRun(home=home, problem=str(error))
        else:
            yield StoredRun(home=home, rules=rules, rows=remote.rows_at(session, home))
