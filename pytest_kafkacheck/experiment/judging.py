"""Runs' folders to verdicts."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from analyzers.history import remote
from analyzers.history.bad_history import BadHistory
from analyzers.history.sources import Location, local_files
from analyzers.history.validate import run_ids
from analyzers.judge.batch import Judged, analyze_all, unjudged
from analyzers.verdict.verdict import Verdict, amended
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.history.compaction.compact import compact

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Sessions(Protocol):
    def session(self, *, rows: int | None = None) -> SparkSession: ...


@dataclass(frozen=True, kw_only=True)
class Place:
    """A run's folder, or what was named and is none."""

    home: Location
    """A URI of what only Spark reads; see `reached`."""
    experiment: Experiment | None = None
    """None where it holds a history only."""
    rows: int = 0
    """Of records, where it lies elsewhere."""
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    home: Location
    expect: str
    verdicts: tuple[Verdict, ...]
    """One, unless somebody put several runs into the folder."""
    problem: str | None = None
    """What is wrong with its files: then the verdict is unknown."""


def places(paths: Sequence[str]) -> list[Place]:
    """The runs that are meant, each once: a folder of a run, of runs (by name), or a URI of either.

    What lies on another machine is only named: see `reached`. Raises UsageError for a file: URI of another host.
    """
    found: dict[Location, Place] = {}
    for text in paths:
        if _is_distant(text):
            found.setdefault(text.rstrip("/"), Place(home=text.rstrip("/")))
            continue
        for home in _homes(_local(text)):
            found.setdefault(home.resolve(), _place(home))
    return list(found.values())


def reached(spark: Sessions, found: Sequence[Place]) -> list[Place]:
    """With the runs that are there in place of each URI, each once; or with the reason why there is none."""
    places: dict[Location, Place] = {}
    for place in found:
        for one in [place] if isinstance(place.home, Path) else _at(spark.session(), place.home):
            places.setdefault(one.home, one)
    return list(places.values())


def local_run(text: str) -> Place:
    """One run's folder, its history in tables. Raises UsageError for what is none, or holds several."""
    if _is_distant(text):
        raise UsageError(
            f"{text}: expected a path, or a URI such as file:///runs/one; copy the run here first"
        )
    found = places([text])
    if len(found) > 1:
        raise UsageError(f"{text}: holds {len(found)} runs; name one of them")
    (place,) = found
    if problem := place.problem or _compacted(place):
        raise UsageError(problem)
    try:
        runs = run_ids(Path(place.home))
    except BadHistory as error:
        raise UsageError(str(error)) from error
    if len(runs) > 1:
        raise UsageError(f"{text}: its history holds several runs ({', '.join(sorted(runs))}), expected one")
    return place


def judge_all(
    spark: Sessions, found: Sequence[Place], *, allow: Collection[str] = (), examples: int
) -> list[Outcome]:
    """Judge them all in one Spark application, and write verdict.json where there is an experiment.

    found  with `reached` where there may be URIs. Nothing is written to these.
    """
    problems = {place.home: problem for place in found if (problem := place.problem or _compacted(place))}
    good = [place.home for place in found if place.home not in problems]
    rows = sum(place.rows for place in found) + sum(_rows(home) for home in good if isinstance(home, Path))
    sessions = partial(spark.session, rows=rows)
    bounds = {place.home: place.experiment.bounds for place in found if place.experiment is not None}
    told = analyze_all(sessions, good, examples=examples, bounds=bounds) if good else ()
    judged = {one.home: one for one in told}
    judged |= {home: unjudged(home, problem) for home, problem in problems.items()}
    return [_outcome(place, judged[place.home], allow) for place in found]


def _rows(home: Path) -> int:
    """Of records; what cannot be read is told later, with the reason."""
    rows = 0
    with contextlib.suppress(pa.ArrowException, OSError):
        for file in local_files(home, "records"):
            rows += pq.read_metadata(file).num_rows
    return rows


def _homes(path: Path) -> list[Path]:
    inside = [each for each in sorted(path.iterdir()) if _is_run(each)] if path.is_dir() else []
    return inside if inside and not _is_run(path) else [path]


def _is_run(path: Path) -> bool:
    """Also where it cannot be read, or is damaged: that is told later, with the reason."""
    try:
        return (path / "history").exists() or (path / "experiment.json").exists()
    except OSError:
        return True


def _place(home: Path) -> Place:
    if not _is_run(home):
        what = "no folder" if home.exists() else "no such folder"
        if home.is_dir():
            what = "no run's folder (it has neither experiment.json nor history/), and none of runs"
        return Place(home=home, problem=f"{home}: {what}; runs are kept below .kafkacheck/")
    try:
        if not (home / "experiment.json").exists():
            return Place(home=home)
        return Place(home=home, experiment=Experiment.read(home / "experiment.json"))
    except UsageError as error:
        return Place(home=home, problem=str(error))
    except OSError as error:
        return Place(home=home, problem=f"{home}: cannot be read ({error.strerror})")


def _is_distant(text: str) -> bool:
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
        raise UsageError(f"{text}: a file: URI is one of this machine, such as file:///runs/one")
    return Path(unquote(parts.path))


def _at(session: SparkSession, uri: str) -> Iterator[Place]:
    try:
        homes = remote.runs_at(session, uri)
    except BadHistory as error:
        yield Place(home=uri, problem=str(error))
        return
    for home in homes:
        try:
            text = remote.text_at(session, home, "experiment.json")
            experiment = None if text is None else Experiment.parse(text, f"{home}/experiment.json")
        except (BadHistory, UsageError) as error:
            yield Place(home=home, problem=str(error))
        else:
            yield Place(home=home, experiment=experiment, rows=remote.rows_at(session, home))


def _compacted(place: Place) -> str | None:
    """Why the segments of a run cannot be made into tables; None when they are, or there are none."""
    if not isinstance(place.home, Path):
        return None
    try:
        if place.experiment is not None or (place.home / "history" / "segments").is_dir():
            compact(place.home)
    except (ValueError, OSError, pa.ArrowException) as error:
        return f"{place.home}: its history cannot be compacted ({type(error).__name__}: {error})"
    return None


def _outcome(place: Place, judged: Judged, allow: Collection[str]) -> Outcome:
    experiment = place.experiment
    if experiment is not None and len(judged.verdicts) > 1:
        runs = ", ".join(sorted(judged.verdicts))
        judged = unjudged(place.home, f"{place.home}: the history holds several runs ({runs}), expected one")
    allowed = {*allow, *(experiment.workload.allowed if experiment is not None else ())}
    verdicts = tuple(amended(verdict, allow=allowed) for verdict in judged.verdicts.values())
    if experiment is not None:
        (verdict,) = verdicts
    if experiment is not None and isinstance(place.home, Path):
        Run(place.home, verdict).save()
    return Outcome(
        home=place.home,
        expect=experiment.expect if experiment is not None else "valid",
        verdicts=verdicts,
        problem=judged.problem,
    )
