"""``kafkacheck analyze`` judges a run by its experiment: allowed anomalies, schedule, bounds, required promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.bounds import Bounds
from pytest_kafkacheck import isolate, kill
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.experiment.experiment import Experiment
from tests.support.analyzed_runs import ONE, Runs, analyzed, good, lost
from workloads.append_log import AppendLog

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_of_tests")]


def twice(s: Any) -> Any:
    return s.phases().send(ONE, 0).final({0: ONE, 1: ONE}, end=2)


def test_an_allowed_anomaly_is_reported_and_not_judged(runs: Runs, tmp_path: Path) -> None:
    """The option allows it for all runs, the workload of an experiment for its own run only.

    The workload of one run lived in a file that is not on this machine. Another one requires sessions and readers.
    """
    place = runs({"lenient": twice, "strict": twice, "elsewhere": twice, "idle": twice})
    experiment = Experiment(workload=AppendLog(acks=1, readers=0, sessions=0)).to_json()
    (place / "lenient" / "experiment.json").write_text(json.dumps(experiment))
    (place / "idle" / "experiment.json").write_text(
        json.dumps(Experiment(workload=AppendLog(acks=1)).to_json())
    )
    absent = {"type": "Mine", "module": "test_mine", "file": "/absent/test_mine.py", "values": {}}
    stored = experiment | {"workload": absent | {"judging": {"allowed": ["duplicate"]}}}
    (place / "elsewhere" / "experiment.json").write_text(json.dumps(stored))
    status, entries = analyzed(tmp_path, str(place))
    assert status == cli.NOT_AS_EXPECTED
    assert {name: (e["valid"], e["error-types"], e["bad-error-types"]) for name, e in entries.items()} == {
        "lenient": (True, ["duplicate"], []),
        "strict": (False, ["duplicate"], ["duplicate"]),
        "elsewhere": (True, ["duplicate"], []),
        "idle": ("unknown", ["duplicate"], []),
    }
    assert [text.partition(": ")[0] for text in entries["idle"]["unknowns"]] == [
        "Not exercised, but required (session-reads)", "Not exercised, but required (polls-to-the-end)",
    ]  # fmt: skip
    assert json.loads((place / "lenient" / "verdict.json").read_text())["result"] == "valid"
    allowed = [str(place / name) for name in ("lenient", "strict", "elsewhere")]
    assert analyzed(tmp_path, *allowed, "--allow", "duplicate")[0] == cli.AS_EXPECTED


def isolated(s: Any) -> Any:
    return good(s.phases().fault("inject", event="isolate-0").fault("heal", event="isolate-0"))


def test_the_schedule_of_an_experiment_is_compared_with_the_history(runs: Runs, tmp_path: Path) -> None:
    """A fault without any record, and a run without phases, are reasons for doubt; what was proved stays."""
    stories = {"recorded": isolated, "unrecorded": isolated, "no-phases": good, "proved": lost, "bare": good}
    place = runs(stories)
    for name in ("recorded", "unrecorded", "no-phases", "proved"):
        kills = [kill(1, at=5, lasting=1)] if name in ("unrecorded", "proved") else []
        faults = [] if name == "no-phases" else [isolate("leader", at=1, lasting=1), *kills]
        experiment = Experiment(workload=AppendLog(), faults=faults, requires=())
        (place / name / "experiment.json").write_text(json.dumps(experiment.to_json()))
    status, entries = analyzed(tmp_path, str(place))
    assert status == cli.NOT_AS_EXPECTED
    missing = ("The fault kill 1 (kill-1) of the schedule has no record: it may not have been carried out.",)
    no_phases = (
        "The history has no record that these phases of the run began: steady, recovery, final, end.",
    )
    isolation = missing[0].replace("kill 1 (kill-1)", "isolate leader (isolate-0)")
    assert {name: (entry["valid"], tuple(entry["unknowns"])) for name, entry in entries.items()} == {
        "recorded": (True, ()),
        "unrecorded": ("unknown", missing),
        "no-phases": ("unknown", no_phases),
        "proved": (False, (isolation, *missing, *no_phases)),
        "bare": (True, ()),
    }


def waited(s: Any) -> Any:
    s.phases().send(ONE, 0, at=(0, 1)).send(ONE + 1, 1, at=(1, 2 * 10**9))
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def test_a_run_is_judged_by_the_bounds_of_its_experiment(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also next to runs with other bounds or none, and each time it is judged."""
    place = runs({"strict": waited, "lenient": waited, "bare": waited})
    for name, limit in (("strict", 1), ("lenient", 10)):
        experiment = Experiment(workload=AppendLog(), bounds=Bounds(unavailable=limit))
        (place / name / "experiment.json").write_text(json.dumps(experiment.to_json()))
    status, entries = analyzed(tmp_path, str(place))
    assert status == cli.NOT_AS_EXPECTED
    assert {name: entry["bad-error-types"] for name, entry in entries.items()} == {
        "strict": ["unavailable"],
        "lenient": [],
        "bare": [],
    }
    capsys.readouterr()
    assert cli.main(["explain", str(place / "strict"), "unavailable"]) == cli.AS_EXPECTED
    assert capsys.readouterr().out.startswith("unavailable/1 of 1: ")


def test_malformed_bounds_are_reported_with_their_file(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = runs({"wrong": waited, "right": waited}) / "wrong"
    data = {**Experiment(workload=AppendLog()).to_json(), "bounds": {"unavailable": "soon"}}
    (place / "experiment.json").write_text(json.dumps(data))
    _, entries = analyzed(tmp_path, str(place.parent))
    assert (entries["wrong"]["valid"], entries["right"]["valid"]) == ("unknown", True)
    assert "experiment.json: Experiment.bounds: unavailable: expected seconds" in capsys.readouterr().err
