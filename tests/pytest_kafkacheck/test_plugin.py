"""The plugin as pytest sees it. A fake harness runs the experiments, so that no test here needs a cluster."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HARNESS = """
import contextlib, pathlib, pytest, types
from analyzers.verdict.finding import Finding
from analyzers.verdict.verdict import judge
from pytest_kafkacheck.run import Run

LOST = Finding(anomaly="duplicate", count=1, summary="one duplicate")
VERDICTS = {
    "valid": judge("r1"),
    "invalid": judge("r1", findings=[LOST]),
    "unknown": judge("r1", unknowns=["nothing was acknowledged"]),
}

class Fake:
    kept = None
    dropped = 0
    def __init__(self, result): self.result = result
    def drop_cluster(self): Fake.dropped += 1
    def require_faults(self, faults): pass
    @contextlib.contextmanager
    def cluster(self, spec, *, logs, alone): yield types.SimpleNamespace(spec=spec)
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

IMPORTED = """
import sys
import pytest
before = set(sys.modules)
import pytest_kafkacheck.plugin
print(sorted({name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))
"""


def test_loading_the_plugin_imports_pytest_and_the_standard_library_only() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['pytest_kafkacheck']"


def test_a_session_without_its_fixtures_loads_nothing_large_and_prints_nothing(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import sys
        LARGE = {"docker", "kafka", "pyspark", "pyarrow", "py4j", "tenacity", "trustme", "cryptography", "psutil"}
        OURS = {"workloads", "nemesis", "analyzers"}
        def test_quiet():
            assert not (LARGE | OURS) & set(sys.modules)
        """
    )
    result = pytester.runpytest_subprocess("-v")
    result.assert_outcomes(passed=1)
    # pytest itself lists the plugins that are installed. Nothing else names ours.
    lines = [line for line in result.outlines if "kafkacheck" in line and not line.startswith("plugins:")]
    assert lines == []
    assert not (pytester.path / ".kafkacheck").exists()


INTERRUPTED = """
import signal, types, pytest
from pytest_kafkacheck.plugin.interrupts import announce
from pytest_kafkacheck.termination import announced_by, terminated_like_interrupted

def run(*_, **__):
    print("cap" + "tured")
    signal.raise_signal(signal.SIGINT)

@pytest.fixture(scope="session")
def _kafkacheck_harness(pytestconfig):
    with announced_by(announce(pytestconfig)), terminated_like_interrupted():
        yield types.SimpleNamespace(run=run, drop_cluster=lambda: None)
"""


@pytest.mark.parametrize(
    ("options", "line"),
    [((), "*/test_it.py:3: KeyboardInterrupt"), (("--full-trace",), "*termination.py:*: KeyboardInterrupt")],
)
def test_an_interrupt_is_answered_at_once_and_shown_as_the_line_of_the_test(
    pytester: pytest.Pytester, options: tuple[str, ...], line: str
) -> None:
    pytester.makeconftest(INTERRUPTED)
    pytester.makepyfile(test_it=TEST.format("run.assert_valid()"))
    result = pytester.runpytest_subprocess(*options)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*kafkacheck: interrupted: cleaning up*", line])
    assert "captured" not in result.stdout.str()


@pytest.mark.parametrize("file", ["conftest.py", "test_it.py"])
def test_only_the_warnings_of_the_import_of_kafka_python_are_kept_from_the_user(
    pytester: pytest.Pytester, file: str
) -> None:
    pytester.makeini("[pytest]\nfilterwarnings = error")
    pytester.path.joinpath(file).write_text("from kafka import KafkaConsumer, KafkaProducer\n")
    with pytester.path.joinpath("test_it.py").open("a") as test:
        test.write(
            "import importlib.resources, warnings, pytest\n"
            "def test_kafka():\n"
            "    from kafka.admin import KafkaAdminClient\n"
            "@pytest.mark.filterwarnings('default')\n"
            "def test_own():\n"
            "    warnings.warn('read_text is deprecated', DeprecationWarning)\n"
        )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2, warnings=1)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ([], "ours"),
        (["--kafkacheck-dir", "runs"], "tests/runs"),
        (["--kafkacheck-dir", "{root}/absolute"], "absolute"),
    ],
)
def test_a_folder_that_is_typed_counts_from_the_current_one_and_that_of_the_ini_file_from_its_own(
    pytester: pytest.Pytester, arguments: list[str], where: str
) -> None:
    pytester.makeini("[pytest]\nkafkacheck_dir = ours")
    below = pytester.mkdir("tests")
    (below / "test_it.py").write_text(
        "from pytest_kafkacheck.plugin.options import directory_of\n"
        "def test_it(pytestconfig): print('runs in', directory_of(pytestconfig))\n"
    )
    root = pytester.path
    os.chdir(below)
    result = pytester.runpytest_inprocess("-s", *(each.format(root=root) for each in arguments))
    result.stdout.fnmatch_lines([f"*runs in {root / where}"])


def test_options_and_marker_are_documented(pytester: pytest.Pytester) -> None:
    text = pytester.runpytest_subprocess("--help").stdout.str()
    options = (
        "dir",
        "fresh",
        "scope",
        "keep",
        "reuse",
        "attach",
        "share",
        "spark-master",
        "spark-conf",
        "plain-spark",
        "report",
        "retain",
        "summary",
        "repeat",
        "seed",
    )
    settings = ("dir", "scope", "share", "spark_master", "spark_conf", "plain_spark")
    for name in (*(f"--kafkacheck-{each}" for each in options), *(f"kafkacheck_{each}" for each in settings)):
        assert name in text
    result = pytester.runpytest_subprocess("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.kafkacheck(unknown='fail', cluster=None, alone=False)*"])


@pytest.mark.parametrize(
    ("verdict", "lines"),
    [
        ("valid", {"assert_valid()": "PASSED", "assert_unknown()": "FAILED"}),
        (
            "invalid",
            {
                "assert_valid()": "FAILED",
                "assert_valid(unknown=True)": "FAILED",
                "assert_invalid()": "PASSED",
                "assert_invalid('lost-write')": "FAILED",
            },
        ),
        (
            "unknown",
            {
                "assert_valid()": "FAILED",
                "assert_valid(unknown=True)": "PASSED",
                "assert_invalid()": "FAILED",
                "assert_unknown()": "PASSED",
            },
        ),
    ],
)
def test_verdict_decides_the_test(pytester: pytest.Pytester, verdict: str, lines: dict[str, str]) -> None:
    """Each of these lines, in a test of its own."""
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(**{f"test_{number}": TEST.format(f"run.{line}") for number, line in enumerate(lines)})
    result = pytester.runpytest_subprocess("-v", "--fake", verdict)
    ends = [f"test_{number}.py::test_it {outcome}*" for number, outcome in enumerate(lines.values())]
    result.stdout.fnmatch_lines(ends)
    outcomes = list(lines.values())
    result.assert_outcomes(passed=outcomes.count("PASSED"), failed=outcomes.count("FAILED"))


def test_marker_accepts_unknown(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(
        "import pytest\npytestmark = pytest.mark.kafkacheck(unknown='pass')\n"
        + TEST.format("run.assert_valid()")
    )
    pytester.runpytest_subprocess("--fake", "unknown").assert_outcomes(passed=1)


def test_a_fault_after_the_stated_end_of_the_load_is_warned_of_at_the_line_of_the_test(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(
        """
        from pytest_kafkacheck import AppendLog, Experiment, kill
        def test_it(kafkacheck):
            late = Experiment(workload=AppendLog(), faults=[kill("leader", at=30, lasting=5)], duration=10)
            kafkacheck(late)
            kafkacheck(Experiment(workload=AppendLog(), faults=[kill("leader", at=30, lasting=5)]))
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(
        ["*test_a_fault*py:4: UserWarning: kill-0 begins at 30 s, after duration=10 s*at about 35 s*"]
    )


@pytest.mark.parametrize(
    ("marker", "shown"), [("unkown='pass'", "*unkown*"), ("cluster=3", "*{'cluster': 3}")]
)
def test_wrong_marker_is_a_usage_error(pytester: pytest.Pytester, marker: str, shown: str) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(
        f"import pytest\npytestmark = pytest.mark.kafkacheck({marker})\n" + TEST.format("run.assert_valid()")
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [f"*marker kafkacheck takes unknown='fail' or unknown='pass', cluster={shown}"]
    )


def test_a_verdict_that_is_not_valid_fails_a_test_that_does_not_look_at_it(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(TEST.format("pass"))
    result = pytester.runpytest_subprocess("--fake", "invalid")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*looked at no verdict*"])
    pytester.runpytest_subprocess("--fake", "valid").assert_outcomes(passed=1)


def test_a_failure_names_the_anomalies_first_and_shows_its_evidence_once(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(test_a=TEST.format("run.assert_valid()"))
    result = pytester.runpytest_subprocess("--fake", "invalid", "--junitxml=out.xml", "-ra")
    result.stdout.fnmatch_lines(
        ["E *kafkacheck replay kept/test_it", "FAILED test_a.py::test_it - INVALID duplicate ×1 (run r1)"]
    )
    assert sum("kafkacheck replay" in line for line in result.outlines) == 1
    report = (pytester.path / "out.xml").read_text()
    assert 'name="kafkacheck" value="invalid' in report
    assert 'message="INVALID duplicate ×1 (run r1)"' in report
    verbose = pytester.runpytest_subprocess("--fake", "invalid", "-v").stdout.str()
    assert "What was exercised:" not in result.stdout.str()
    assert verbose.count("What was exercised:") == 1


@pytest.mark.parametrize(
    ("verdict", "line", "expected"),
    [
        ("valid", "run.assert_invalid()", "VALID (run r1), expected invalid"),
        (
            "invalid",
            "run.assert_invalid('lost-write')",
            "INVALID duplicate ×1 (run r1), expected also lost*",
        ),
        ("unknown", "run.assert_valid()", "UNKNOWN nothing was acknowledged (run r1)"),
    ],
)
def test_the_short_summary_says_what_was_expected(
    pytester: pytest.Pytester, verdict: str, line: str, expected: str
) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(test_a=TEST.format(line))
    result = pytester.runpytest_subprocess("--fake", verdict)
    result.stdout.fnmatch_lines([f"FAILED test_a.py::test_it - {expected}"])


def test_an_assertion_of_the_test_itself_is_shown_with_the_verdict(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(test_a=TEST.format("assert run.result == 'valid'"))
    result = pytester.runpytest_subprocess("--fake", "invalid")
    result.stdout.fnmatch_lines(
        ["*- kafkacheck invalid -*", "INVALID  duplicate ×1*", "*again  kafkacheck replay*"]
    )


@pytest.mark.parametrize("options", [(), ("-n1",)])
def test_a_passed_test_says_what_its_run_showed(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(test_a=TEST.format("run.assert_valid()"))
    result = pytester.runpytest_subprocess(*options)
    result.stdout.fnmatch_lines(
        ["*kafkacheck: what the runs of passed tests showed*", "*::test_it", "    valid  0 acked  no faults"]
    )


def test_every_test_with_the_fixture_has_the_marker(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(TEST.format("run.assert_valid()") + "def test_other(): pass\n")
    pytester.runpytest_subprocess("-m", "kafkacheck").assert_outcomes(passed=1, deselected=1)


def test_a_folder_that_hides_one_of_our_packages_is_named(pytester: pytest.Pytester) -> None:
    pytester.mkpydir("workloads")
    pytester.makepyfile("def test_it(kafkacheck): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*'workloads'*{pytester.path}/workloads*"])


@pytest.mark.parametrize(
    ("scope", "dropped"), [("session", 0), ("package", 0), ("module", 1), ("class", 2), ("function", 3)]
)
def test_a_cluster_is_dropped_at_the_end_of_its_scope(
    pytester: pytest.Pytester, scope: str, dropped: int
) -> None:
    """The second module counts the clusters that were dropped before it began."""
    pytester.makeconftest(HARNESS)
    pytester.makeini(f"[pytest]\nkafkacheck_scope = {scope}")
    pytester.makepyfile(
        test_a="""
        class TestOne:
            def test_a(self, kafkacheck): pass
            def test_b(self, kafkacheck): pass
        class TestTwo:
            def test_c(self, kafkacheck_cluster): pass
        """,
        test_b=f"""
        def test_dropped(_kafkacheck_harness):
            assert type(_kafkacheck_harness).dropped == {dropped}
        """,
    )
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=4)


def test_a_wrong_scope_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nkafkacheck_scope = test")
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ini kafkacheck_scope='test': expected one of function, class*"])


def test_the_marker_decides_the_spec_of_the_cluster(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(
        """
        import pytest
        from pytest_kafkacheck import ClusterSpec

        def test_default(kafkacheck_cluster):
            assert kafkacheck_cluster.spec == ClusterSpec()

        @pytest.mark.kafkacheck(cluster=ClusterSpec(brokers=1))
        def test_one(kafkacheck_cluster):
            assert kafkacheck_cluster.spec.brokers == 1
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [((), None), (("--kafkacheck-keep",), None), (("--kafkacheck-keep", "always"), "cluster c-1")],
)
def test_a_kept_cluster_is_announced(
    pytester: pytest.Pytester, options: tuple[str, ...], expected: str | None
) -> None:
    pytester.makeconftest(
        HARNESS.replace("    return Fake(request.config.getoption('fake'))", "").replace(
            'return Fake(request.config.getoption("fake"))',
            """fake = Fake(request.config.getoption("fake"))
    yield fake
    from pytest_kafkacheck.plugin.reporting import KEPT
    if request.config.getoption("kafkacheck_keep") == "always":
        request.config.stash[KEPT] = ["cluster c-1"] """,
        )
    )
    pytester.makepyfile(TEST.format("run.assert_valid()"))
    text = pytester.runpytest_subprocess(*options).stdout.str()
    assert ("kafkacheck: still running" in text) == (expected is not None)
    assert expected is None or expected in text


@pytest.mark.parametrize("option", ["fresh", "reuse"])
def test_options_that_exclude_each_other_are_refused(pytester: pytest.Pytester, option: str) -> None:
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest_subprocess("-n1", "--kafkacheck-share=all", f"--kafkacheck-{option}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--kafkacheck-{option} does not go with --kafkacheck-share=all*"])


def test_settings_of_clients_need_an_attached_cluster_and_a_file(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(kafkacheck): pass")
    result = pytester.runpytest_subprocess("--kafkacheck-attach-config=client.properties")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--kafkacheck-attach-config is for a cluster that somebody else runs*"])
    result = pytester.runpytest_subprocess("--kafkacheck-attach=x", "--kafkacheck-attach-config=absent")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*UsageError: */absent: cannot be read: No such file*"])
