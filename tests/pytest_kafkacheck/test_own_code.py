"""A test's own code beside a cluster: its processes end with it, a failure keeps evidence. The cluster is fake."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.real_cluster import wait_until

HARNESS = """
import contextlib, pytest

class Cluster:
    def save_evidence(self, folder): (folder / "topics.json").write_text("{}")

class Fake:
    kept, has_failed = None, False
    def drop_cluster(self): pass
    def require_faults(self, faults): pass
    @contextlib.contextmanager
    def cluster(self, spec, *, logs, alone): yield Cluster()

@pytest.fixture(scope="session")
def _kafkacheck_harness(request): return Fake()
"""

PROGRAM = """
def test_it(kafkacheck_cluster):
    program = kafkacheck_cluster.start_process(["sh", "-c", "echo began; echo $$ > pid; sleep 600 & wait"])
    import time, pathlib
    while not pathlib.Path("pid").exists() or not pathlib.Path("pid").read_text(): time.sleep(0.01)
    {}
"""


def is_running(process: int) -> bool:
    """Whether a process of that group runs; a dead one that nobody has waited for yet does not."""
    groups = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    return any(
        line.split() and int(line.split()[0]) == process and "Z" not in line for line in groups.splitlines()
    )


def kept(pytester: pytest.Pytester) -> list[Path]:
    return sorted((pytester.path / ".kafkacheck").glob("*"))


@pytest.fixture(autouse=True)
def harness(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)


def test_a_failure_keeps_evidence_and_names_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROGRAM.format("assert False"))
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    (folder,) = kept(pytester)
    result.stdout.fnmatch_lines(["*- kafkacheck cluster -*", f"logs, topics and stacks: {folder}"])
    assert "-test_it-" in folder.name
    assert {each.name for each in folder.iterdir()} == {"topics.json", "stacks.txt", "processes"}
    assert "most recent call first" in (folder / "stacks.txt").read_text()
    assert (folder / "processes" / "1-sh.log").read_text() == "began\n"
    assert not is_running(int((pytester.path / "pid").read_text()))


def test_a_time_out_by_signal_keeps_evidence_and_names_it(pytester: pytest.Pytester) -> None:
    # The limit is over as soon as the program has begun, however slow this machine is.
    limit_is_over = "import signal; signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(120)"
    pytester.makepyfile(PROGRAM.format(limit_is_over))
    result = pytester.runpytest_subprocess("--timeout=600", "--timeout-method=signal")
    result.assert_outcomes(failed=1)
    (folder,) = kept(pytester)
    result.stdout.fnmatch_lines(["*Timeout*", f"logs, topics and stacks: {folder}"])
    assert (folder / "processes" / "1-sh.log").read_text() == "began\n"
    assert not is_running(int((pytester.path / "pid").read_text()))


@pytest.mark.parametrize("end", ["pass", "import pytest; pytest.skip('no')"])
def test_without_a_failure_nothing_is_kept(pytester: pytest.Pytester, end: str) -> None:
    pytester.makepyfile(PROGRAM.format(end))
    assert pytester.runpytest_subprocess().ret == 0
    assert kept(pytester) == []
    assert not is_running(int((pytester.path / "pid").read_text()))


def test_a_skip_of_another_fixture_keeps_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.fixture
        def other(kafkacheck_cluster): pytest.skip("no")
        def test_it(other): pass
    """)
    pytester.runpytest_subprocess().assert_outcomes(skipped=1)
    assert kept(pytester) == []


def test_nothing_of_a_test_stays_at_a_cluster_that_outlives_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        clusters = []
        def test_first(kafkacheck_cluster):
            clusters.append(kafkacheck_cluster)
            assert kafkacheck_cluster.start_process
        def test_next():
            assert vars(clusters[0]) == {}
    """)
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=2)


def test_an_interrupt_keeps_evidence_and_names_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROGRAM.format("raise KeyboardInterrupt"))
    result = pytester.runpytest_subprocess()
    (folder,) = kept(pytester)
    result.stdout.fnmatch_lines(["*evidence of interrupted tests*", f"logs, topics and stacks: {folder}"])
    assert not is_running(int((pytester.path / "pid").read_text()))


def test_evidence_that_cannot_be_kept_does_not_hide_the_failure(pytester: pytest.Pytester) -> None:
    (pytester.path / ".kafkacheck").write_text("a file")
    pytester.makepyfile("def test_it(kafkacheck_cluster): assert 1 == 2")
    result = pytester.runpytest_subprocess()
    result.stdout.fnmatch_lines(["*assert 1 == 2*", "logs, topics and stacks could not be kept: UsageError*"])


def test_a_program_that_ignores_sigterm_is_killed_with_its_children(pytester: pytest.Pytester) -> None:
    stubborn = "trap '' TERM; echo $$ > pid; while :; do sleep 600; done"
    pytester.makepyfile(f"""
        import pathlib, time
        from pytest_kafkacheck.plugin import own_processes
        own_processes.END_LIMIT = 0.5
        def test_it(kafkacheck_cluster):
            kafkacheck_cluster.start_process(["sh", "-c", {stubborn!r}])
            while not pathlib.Path("pid").exists() or not pathlib.Path("pid").read_text(): time.sleep(0.01)
    """)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    assert not is_running(int((pytester.path / "pid").read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal")
def test_a_program_ends_when_its_test_is_killed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROGRAM.format("time.sleep(120)"))
    pid = pytester.path / "pid"
    command = [sys.executable, "-m", "pytest", "-q"]
    with subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.DEVNULL) as session:
        wait_until(lambda: pid.exists() and pid.read_text() != "")
        session.send_signal(signal.SIGKILL)
    program = int(pid.read_text())

    def has_ended() -> bool:
        try:
            return "Z" in Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True

    wait_until(has_ended)
