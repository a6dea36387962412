"""The fixture `kafkacheck_recorder` in a test's life: the verdict counts, and an unused one leaves nothing."""

from __future__ import annotations

import pytest

HARNESS = """
import contextlib, pathlib, pytest
from analyzers.verdict.verdict import judge
from pytest_kafkacheck.recorder.session import Recording

class Cluster:
    fault_rows = None
    def save_evidence(self, folder): pass
    def save_logs(self, folder): pass

class Fake:
    kept, has_failed, directory = None, False, pathlib.Path(".kafkacheck")
    unknowns = ()
    def drop_cluster(self): pass
    def require_faults(self, faults): pass
    def judge_lines(self, lines):
        assert (lines.home / "history" / "format.json").is_file()
        return judge("r", unknowns=self.unknowns)
    @contextlib.contextmanager
    def cluster(self, spec, *, logs, alone): yield Cluster()

@pytest.fixture(scope="session")
def _kafkacheck_harness(request): return Fake()

@pytest.fixture(autouse=True)
def no_brokers(monkeypatch):
    monkeypatch.setattr(Recording, "_recover", lambda *_: None)
    monkeypatch.setattr(Recording, "_read_finally", lambda *_: None)
"""


@pytest.fixture(autouse=True)
def harness(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HARNESS)


def runs(pytester: pytest.Pytester) -> list[str]:
    return sorted(each.name.rsplit("-", 1)[0][16:] for each in (pytester.path / ".kafkacheck").glob("*"))


def test_a_run_is_judged_and_kept_and_an_unused_recorder_leaves_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_own="""
        import pytest
        from pytest_kafkacheck import UsageError

        def test_mine(kafkacheck_recorder, kafkacheck_cluster):
            assert kafkacheck_cluster.fault_rows()
            sent = kafkacheck_recorder.send("t", "a")
            kafkacheck_recorder.ack(sent, partition=0, offset=0)
            run = kafkacheck_recorder.judge()
            run.assert_valid()
            assert run.replay().startswith("pytest test_own.py::test_mine ")
            assert kafkacheck_recorder.judge() is run

        def test_unused(kafkacheck_recorder):
            with pytest.raises(UsageError, match="nothing was recorded; wrap a producer"):
                kafkacheck_recorder.judge()
    """
    )
    result = pytester.runpytest_subprocess("-m", "kafkacheck")
    result.assert_outcomes(passed=2)
    assert runs(pytester) == ["test_mine"]
    (home,) = (pytester.path / ".kafkacheck").iterdir()
    names = {each.name for each in home.iterdir()}
    assert names >= {"history", "history.jsonl", "verdict.json", "environment.json"}
    result.stdout.fnmatch_lines(
        ["*kafkacheck: what the runs of passed tests showed*", "*test_mine*", "*valid*"]
    )


def test_only_a_valid_verdict_passes_unless_the_test_says_otherwise(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        def test_forgotten(kafkacheck_recorder, _kafkacheck_harness):
            _kafkacheck_harness.unknowns = ("nobody knows",)
            kafkacheck_recorder.send("t", "a")

        def test_asserted(kafkacheck_recorder):
            kafkacheck_recorder.send("t", "a")
            kafkacheck_recorder.judge().assert_valid()

        @pytest.mark.kafkacheck(unknown='pass')
        def test_accepted(kafkacheck_recorder):
            kafkacheck_recorder.send("t", "a")
            kafkacheck_recorder.judge().assert_valid()

        def test_fine(kafkacheck_recorder, _kafkacheck_harness):
            _kafkacheck_harness.unknowns = ()
            kafkacheck_recorder.send("t", "a")
    """)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=3, failed=1, errors=1)
    result.stdout.fnmatch_lines([
        "*the test looked at no verdict, and this one is not valid: UNKNOWN*",
        "*again  pytest *::test_forgotten*",
    ])  # fmt: skip
    assert sorted(runs(pytester)) == ["test_accepted", "test_asserted", "test_fine", "test_forgotten"]
    result.stdout.fnmatch_lines(
        ["*- kafkacheck cluster -*", "logs, topics and stacks: in the folder of the run"]
    )
    (asserted,) = (pytester.path / ".kafkacheck").glob("*test_asserted*")
    assert (asserted / "stacks.txt").is_file()
    named = [line for line in result.outlines if ".kafkacheck/" in line and "test_asserted" in line]
    assert {asserted.name in line for line in named} == {True}, "one folder"
