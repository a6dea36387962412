"""What one kept run was and showed, from its JSON files, and which run a user means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_kafkacheck.errors import UsageError

NAME = re.compile(r"(?P<time>\d{8}-\d{6})-(?P<name>.+)-(?P<run>[0-9a-f]+)")
"""The name of a run's directory: time, name, id (see `RunDirectory.create`)."""

NOT_JUDGED = "not judged"
"""The verdict of a run without one, such as an interrupted one."""


@dataclass(frozen=True)
class RunSummary:
    """The folder of one run. A file that is missing or damaged counts as empty, so that other runs can be listed."""

    path: Path

    @cached_property
    def experiment(self) -> Mapping[str, Any]:
        return json_object(self.path / "experiment.json")

    @cached_property
    def verdict(self) -> Mapping[str, Any]:
        return json_object(self.path / "verdict.json")

    @cached_property
    def environment(self) -> Mapping[str, Any]:
        return json_object(self.path / "environment.json")

    @property
    def run(self) -> str:
        match = NAME.fullmatch(self.path.name)
        return str(self.verdict.get("run") or (match["run"] if match else self.path.name))

    @property
    def name(self) -> str:
        """Of the test or experiment."""
        match = NAME.fullmatch(self.path.name)
        return match["name"] if match else str(self.experiment.get("name") or self.path.name)

    @cached_property
    def began(self) -> datetime | None:
        """Local time. None for a folder that says nothing of it."""
        match = NAME.fullmatch(self.path.name)
        try:
            if match:
                return datetime.strptime(match["time"], "%Y%m%d-%H%M%S")
            return datetime.fromtimestamp(self.environment["clock"]["unix_ns"] / 1e9)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    @property
    def result(self) -> str:
        result = self.verdict.get("result")
        return result if result in ("valid", "invalid", "unknown") else NOT_JUDGED

    @property
    def expected(self) -> str:
        return str(self.experiment.get("expect", "valid"))

    @property
    def is_as_expected(self) -> bool:
        return self.result == self.expected

    @property
    def verdict_text(self) -> str:
        """The result, and what was expected where that needs saying."""
        if not self.is_as_expected:
            return self.result if self.expected == "valid" else f"{self.result} (expected {self.expected})"
        return self.result if self.result == "valid" else f"{self.result} (expected)"

    @property
    def anomalies(self) -> dict[str, int]:
        """Anomaly to its count, without those that the workload allows."""
        return {each["anomaly"]: each["count"] for each in self._findings() if not each.get("allowed")}

    @property
    def cause(self) -> str:
        """What the findings came from, or why nothing is known; empty for a valid run."""
        if self.result == "valid":
            return ""
        kinds = [str(each["kind"]) for each in _objects(self.verdict.get("causes")) if "kind" in each]
        known = dict.fromkeys(kind for kind in kinds if kind != "unknown")
        if known:
            return ", ".join(known)
        if anomalies := self.anomalies:
            return ", ".join(anomalies)
        return next((str(each) for each in self.verdict.get("unknowns") or ()), "")

    @property
    def version(self) -> str:
        """The Kafka release. Empty for an attached cluster whose release is not recorded."""
        cluster = self.experiment.get("cluster")
        return str(cluster.get("version", "")) if isinstance(cluster, Mapping) else ""

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(each.stat().st_size for each in self.path.rglob("*") if each.is_file())

    def _findings(self) -> Iterator[Mapping[str, Any]]:
        return (each for each in _objects(self.verdict.get("findings")) if {"anomaly", "count"} <= {*each})

    def to_json(self) -> dict[str, Any]:
        return {
            "file": str(self.path),
            "run": self.run,
            "name": self.name,
            "began": None if self.began is None else self.began.isoformat(),
            "result": self.result,
            "expected": self.expected,
            "cause": self.cause,
            "version": self.version,
            "bytes": self.size,
        }


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run: an experiment is stored before anything starts."""
    return (path / "experiment.json").is_file() or (path / "history" / "format.json").is_file()


def runs_in(directory: Path) -> list[RunSummary]:
    """The runs in a folder of runs, the oldest first."""
    if not directory.is_dir():
        return []
    found = [RunSummary(each) for each in directory.iterdir() if each.is_dir() and is_run(each)]
    return sorted(found, key=lambda run: (run.began or datetime.min, run.path.name))


def soaks_in(directory: Path) -> dict[Path, int]:
    """The folders of soaks in a folder of runs, each with the number of its runs that are kept."""
    folders = sorted(file.parent for file in directory.glob("*/soak.json"))
    return {folder: sum(is_run(each) for each in folder.iterdir() if each.is_dir()) for folder in folders}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


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


def json_object(file: Path) -> dict[str, Any]:
    """The object in a file; an empty one if the file is missing, damaged, or holds something else."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
