"""The plugin as pytest sees it. The harness is replaced where no cluster is needed to decide the point."""

from __future__ import annotations

import subprocess
import sys

import pytest

HARNESS = """
import pathlib, pytest
from analyzers.verdict import Finding, judge
from pytest_kafkacheck.run import Run

LOST = Finding(anomaly="duplicate", count=1, summary="one duplicate")
VERDICTS = {
    "valid": judge("r1"),
    "invalid": judge("r1", findings=[LOST]),
    "unknown": judge("r1", unknowns=["nothing was acknowledged"]),
}

class Fake:
    def __init__(self, result): self.result = result
    def run(self, experiment, *, name):
        return Run(pathlib.Path("kept") / name, VERDICTS[self.result])

@pytest.fixture(scope="session")
def _kafkacheck_harness(request):
    return Fake(request.config.getoption("fake"))

def pytest_addoption(parser):
    parser.addoption("--fake", default="valid")
"""

TEST = """
from pytest_kafkacheck import AppendLog, Experiment
def test_it(kafkacheck):
    run = kafkacheck(Experiment(workload=AppendLog()))
    {}
"""

HEAVY = (
    "docker",
    "kafka",
    "pyspark",
    "pyarrow",
    "py4j",
    "tenacity",
    "psutil",
    "trustme",
    "cryptography",
    "workloads",
    "nemesis",
    "analyzers",
)


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    program = (
        f"import sys, pytest_kafkacheck.plugin\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_session_that_does_not_use_it_sees_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import sys
        def test_quiet():
            assert not [name for name in {HEAVY!r} if name in sys.modules]
        """
    )
    result = pytester.runpytest_subprocess("-v")
    result.assert_outcomes(passed=1)
    # pytest itself lists the plugins that are installed; beyond that, silence.
    said = [line for line in result.outlines if "kafkacheck" in line and not line.startswith("plugins:")]
    assert said == []
    assert not (pytester.path / ".kafkacheck").exists()


def test_options_and_marker_are_documented(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--help", "--markers")
    for text in ("--kafkacheck-dir", "--kafkacheck-fresh", "--kafkacheck-spark-master", "kafkacheck_dir"):
        assert text in pytester.runpytest_subprocess("--help").stdout.str()
    result = pytester.runpytest_subprocess("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.kafkacheck(unknown='fail')*"])


@pytest.mark.parametrize(
    ("verdict", "line", "outcome"),
    [
        ("valid", "run.assert_valid()", "passed"),
        ("invalid", "run.assert_valid()", "failed"),
        ("unknown", "run.assert_valid()", "failed"),
        ("unknown", "run.assert_valid(unknown=True)", "passed"),
        ("invalid", "run.assert_valid(unknown=True)", "failed"),
        ("invalid", "run.assert_invalid()", "passed"),
        ("unknown", "run.assert_invalid()", "failed"),
        ("invalid", "run.assert_invalid('lost-write')", "failed"),
        ("unknown", "run.assert_unknown()", "passed"),
        ("valid", "run.assert_unknown()", "failed"),
    ],
)
def test_verdict_decides_the_test(pytester: pytest.Pytester, verdict: str, line: str, outcome: str) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(TEST.format(line))
    pytester.runpytest_subprocess("--fake", verdict).assert_outcomes(**{outcome: 1})


def test_marker_accepts_unknown(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(
        "import pytest\npytestmark = pytest.mark.kafkacheck(unknown='pass')\n"
        + TEST.format("run.assert_valid()")
    )
    pytester.runpytest_subprocess("--fake", "unknown").assert_outcomes(passed=1)


def test_wrong_marker_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(
        "import pytest\npytestmark = pytest.mark.kafkacheck(unkown='pass')\n"
        + TEST.format("run.assert_valid()")
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*marker kafkacheck takes unknown='fail' or unknown='pass', not*unkown*"])


def test_a_broken_promise_nobody_looked_at_fails(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(TEST.format("pass"))
    result = pytester.runpytest_subprocess("--fake", "invalid")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*looked at no verdict*"])
    pytester.runpytest_subprocess("--fake", "valid").assert_outcomes(passed=1)


def test_failure_names_the_verdict_and_the_command_that_runs_it_again(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(TEST.format("run.assert_valid()"))
    result = pytester.runpytest_subprocess("--fake", "invalid", "--junitxml=out.xml")
    result.stdout.fnmatch_lines(
        [
            "E *expected the verdict valid*",
            "E *kafkacheck run kept/test_it/experiment.json*",
            "*kafkacheck invalid*",
        ]
    )
    assert 'name="kafkacheck" value="invalid' in (pytester.path / "out.xml").read_text()


def test_every_test_with_the_fixture_carries_the_marker(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(TEST.format("run.assert_valid()") + "def test_other(): pass\n")
    pytester.runpytest_subprocess("-m", "kafkacheck").assert_outcomes(passed=1, deselected=1)


def test_a_folder_that_shadows_us_is_named(pytester: pytest.Pytester) -> None:
    pytester.mkpydir("workloads")
    pytester.makepyfile("def test_it(kafkacheck): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*'workloads'*{pytester.path}/workloads*"])
