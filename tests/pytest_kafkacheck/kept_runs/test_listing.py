"""Runs in a folder: what each was and showed, and which one a name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.kept_runs.figures import figures
from pytest_kafkacheck.kept_runs.run_summary import RunSummary, find, find_one, runs_in
from tests.support.kept_run import kept_run

RECORDED = Path(__file__).parents[2] / "data" / "runs"


def test_the_oldest_run_is_the_first(tmp_path: Path) -> None:
    second = kept_run(tmp_path, time="20261125-070000", name="a", run="ffff0001")
    first = kept_run(tmp_path, time="20261125-060000", name="b", run="00000002")
    (tmp_path / "not-a-run").mkdir()
    (tmp_path / "file").write_text("")
    assert [run.path for run in runs_in(tmp_path)] == [first, second]
    assert runs_in(tmp_path / "absent") == []


def test_what_a_run_says(tmp_path: Path) -> None:
    home = kept_run(
        tmp_path,
        name="test_orders-acks-1",
        result="invalid",
        causes=["truncation", "unknown", "truncation"],
        findings={"lost-write": 12},
    )
    run = RunSummary(home)
    assert (run.run, run.name, str(run.began)) == ("7b29cd07", "test_orders-acks-1", "2026-11-25 06:00:00")
    assert (run.result, run.expected, run.is_as_expected) == ("invalid", "valid", False)
    assert (run.cause, run.anomalies, run.version) == ("truncation", {"lost-write": 12}, "4.1.1")
    assert run.size == sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) > 0


def test_the_cause_of_an_unexplained_finding_is_its_name_and_of_an_unknown_run_its_reason(
    tmp_path: Path,
) -> None:
    unexplained = kept_run(
        tmp_path, run="a1", result="invalid", causes=["unknown"], findings={"lost-write": 1}
    )
    unknown = kept_run(tmp_path, run="a2", result="unknown", unknowns=["nothing was acknowledged", "more"])
    assert RunSummary(unexplained).cause == "lost-write"
    assert RunSummary(unknown).cause == "nothing was acknowledged"


def test_an_interrupted_run_is_listed(tmp_path: Path) -> None:
    run = RunSummary(kept_run(tmp_path, result=None))
    assert (run.result, run.is_as_expected, run.run) == ("not judged", False, "7b29cd07")


@pytest.mark.parametrize("text", ["", "[]", "{", '"text"', '{"findings": 3, "causes": [1], "result": 7}'])
def test_a_damaged_verdict_counts_as_none(tmp_path: Path, text: str) -> None:
    home = kept_run(tmp_path)
    (home / "verdict.json").write_text(text)
    run = RunSummary(home)
    assert (run.result, run.anomalies, run.cause) == ("not judged", {}, "")
    assert figures(run).acks is None
    run.to_json()


def test_figures_of_a_run(tmp_path: Path) -> None:
    """10,000 of 12,000 sends were acknowledged in the 10 s from the first phase to the final reads; the 500 before
    do not count."""
    found = figures(RunSummary(kept_run(tmp_path)))
    assert (found.acks, found.acks_per_second) == (10_500, 1000)
    assert (found.latency_median, found.latency_99, found.longest_wait) == (0.02, 1.5, 3.5)


@pytest.mark.parametrize("phases", [{}, {"steady": 5}, {"final": 5}, {"steady": 5, "final": 5}])
def test_without_the_time_of_the_load_there_is_no_throughput(tmp_path: Path, phases: dict[str, int]) -> None:
    assert figures(RunSummary(kept_run(tmp_path, phases=phases))).acks_per_second is None


def test_recorded_runs_are_found() -> None:
    runs = runs_in(RECORDED)
    assert {run.path.name for run in runs} >= {"acks_one", "unclean", "stale_member"}
    assert all(run.began is not None for run in runs)


def test_latest_counts_back(tmp_path: Path) -> None:
    homes = [kept_run(tmp_path, time=f"20261125-06000{n}", run=f"abc{n}") for n in range(3)]
    assert find("latest", tmp_path) == homes[2]
    assert find("latest~2", tmp_path) == homes[0]
    with pytest.raises(UsageError, match=r"latest~3: .* holds 3 runs; --dir"):
        find("latest~3", tmp_path)
    with pytest.raises(UsageError, match=r"latest: .*none holds no runs"):
        find("latest", tmp_path / "none")


def test_the_beginning_of_an_id_is_enough_where_it_is_of_one_run(tmp_path: Path) -> None:
    one, other = (kept_run(tmp_path, time=f"20261125-06000{n}", run=f"ab{n}c") for n in (1, 2))
    assert find("ab1", tmp_path) == one
    assert find("ab2c", tmp_path) == other
    assert find(other.name, tmp_path) == other
    assert find("cd", tmp_path) is None
    with pytest.raises(UsageError, match=r"ab: begins the ids of 2 runs .*ab1c, ab2c"):
        find("ab", tmp_path)


def test_a_folder_is_meant_before_an_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_run(tmp_path / "runs", run="abcd")
    (tmp_path / "abcd").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find("abcd", tmp_path / "runs") == Path("abcd")


def test_a_part_of_a_run_is_refused_with_the_folder_that_was_meant(tmp_path: Path) -> None:
    home = kept_run(tmp_path)
    for part in ("history", "experiment.json"):
        with pytest.raises(UsageError, match=f"is a part of a run; name the run's folder, {home}$"):
            find(str(home / part), tmp_path)


def test_a_run_that_does_not_exist_is_refused_with_near_ones(tmp_path: Path) -> None:
    kept_run(tmp_path, run="7b29cd07")
    with pytest.raises(UsageError, match=r"7b29cd70: no such run .*did you mean 7b29cd07\? .*lists 1 run"):
        find_one("7b29cd70", tmp_path)
    (tmp_path / "other").mkdir()
    with pytest.raises(UsageError, match=r"other: not the folder of a run, it has no experiment\.json"):
        find_one(str(tmp_path / "other"), tmp_path)
