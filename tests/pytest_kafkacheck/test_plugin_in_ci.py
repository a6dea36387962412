"""Repetitions of tests, the summary for a CI job, and which runs stay. The harness is fake."""

from __future__ import annotations

import json
import re

import pytest

from nemesis.generate import Generated
from pytest_kafkacheck.experiment.experiment import Experiment
from workloads.append_log import AppendLog

HARNESS = """
import json, pathlib, pytest
from analyzers.verdict.finding import Finding
from analyzers.verdict.verdict import judge
from pytest_kafkacheck.run import Run

LOST = Finding(anomaly="lost-write", count=1, summary="one lost")

class Fake:
    kept = None
    def drop_cluster(self): pass
    def run(self, experiment, *, name):
        home = pathlib.Path("kept") / name
        home.mkdir(parents=True, exist_ok=True)
        (home / "experiment.json").write_text(json.dumps(experiment.to_json()))
        with open("seeds", "a") as file:
            file.write(f"{experiment.seed} {[event.id for event in experiment.faults]}\\n")
        return Run(home, judge("r1", findings=[LOST] if "loses" in name else []))

@pytest.fixture(scope="session")
def _kafkacheck_harness():
    return Fake()
"""

TESTS = """
import pytest
from pytest_kafkacheck import AppendLog, Experiment, Generated
EXPERIMENT = Experiment(workload=AppendLog(), faults=Generated(seed=1, length=30, events=6), seed=5)
def test_keeps(kafkacheck):
    kafkacheck(EXPERIMENT).assert_valid()
def test_loses(kafkacheck):
    kafkacheck(EXPERIMENT).assert_valid()
def test_skipped(kafkacheck):
    pytest.skip("no | netem here")
def test_other():
    pass
"""


@pytest.fixture
def session(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(test_a=TESTS)
    return pytester


def kept(session: pytest.Pytester) -> set[str]:
    """The tests whose runs are there."""
    return {each.name for each in (session.path / "kept").iterdir()}


def test_each_repetition_has_another_seed_and_another_schedule(session: pytest.Pytester) -> None:
    result = session.runpytest_subprocess(
        "-k", "keeps or other", "--kafkacheck-repeat=3", "--kafkacheck-seed=10", "-v"
    )
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([f"*test_keeps?seed={seed}? PASSED*" for seed in (10, 11, 12)])
    lines = (session.path / "seeds").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["15", "16", "17"]
    assert len(set(lines)) == len({line.partition(" ")[2] for line in lines}) == 3
    again = session.runpytest_subprocess("-k", "keeps", "--kafkacheck-seed=11")
    again.assert_outcomes(passed=1)
    assert (session.path / "seeds").read_text().splitlines()[3] == lines[1]


def test_without_the_options_experiments_are_as_they_are_written(session: pytest.Pytester) -> None:
    session.runpytest_subprocess("-k", "keeps").assert_outcomes(passed=1)
    assert kept(session) == {"test_keeps"}
    stored = json.loads((session.path / "kept" / "test_keeps" / "experiment.json").read_text())
    assert stored["seed"] == 5
    assert (
        Experiment.from_json(stored).schedule
        == Experiment(workload=AppendLog(), faults=Generated(seed=1, length=30, events=6)).schedule
    )


def test_a_repetition_without_a_number_of_times_is_refused(session: pytest.Pytester) -> None:
    result = session.runpytest_subprocess("--kafkacheck-repeat=0")
    result.stderr.fnmatch_lines(["*--kafkacheck-repeat 0: expected 1 or more*"])


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_the_summary_has_each_test_with_a_cluster_and_runs_of_passed_tests_are_removed(
    session: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    session.runpytest_subprocess("--kafkacheck-summary=summary.md", "--kafkacheck-retain=failed", *workers)
    assert kept(session) == {"test_loses"}
    text = (session.path / "summary.md").read_text()
    assert text.startswith("## kafkacheck: 1 failed, 1 skipped, 1 passed\n")
    assert re.search(r"\| `test_a.py::test_loses` \| failed \| invalid .*\|", text)
    assert "| `test_a.py::test_skipped` | skipped | no \\| netem here |" in text
    assert re.search(r"\| `test_a.py::test_keeps` \| passed \| valid .*\|", text)
    assert "test_other" not in text
    assert "### test_a.py::test_loses" in text
    assert "kafkacheck replay kept/test_loses" in text
    assert "kafkacheck replay kept/test_keeps" not in text


def test_a_summary_that_cannot_be_written_is_refused(session: pytest.Pytester) -> None:
    result = session.runpytest_subprocess("--kafkacheck-summary=no/summary.md")
    result.stderr.fnmatch_lines(["*--kafkacheck-summary no/summary.md: expected a file in a folder*"])
    assert not (session.path / "seeds").exists()


def test_an_error_before_the_test_is_in_the_summary(session: pytest.Pytester) -> None:
    session.makeconftest(HARNESS.replace("return Fake()", "raise RuntimeError('no engine')"))
    session.runpytest_subprocess("-k", "keeps", "--kafkacheck-summary=summary.md")
    text = (session.path / "summary.md").read_text()
    assert "| `test_a.py::test_keeps` | error | RuntimeError: no engine |" in text


def test_a_run_stays_if_only_the_teardown_fails(session: pytest.Pytester) -> None:
    session.makepyfile(
        test_a=TESTS.replace("kafkacheck(EXPERIMENT).assert_valid()", "kafkacheck(EXPERIMENT)")
    )
    # The fixture fails the test that did not look at its verdict.
    session.runpytest_subprocess("--kafkacheck-retain=failed")
    assert kept(session) == {"test_loses"}
