"""What a test asks for and makes no sense is refused in one place and in one line, without kafkacheck's source."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.wrong_call import wrong_call

HEAD = """
from pytest_kafkacheck import AppendLog, ClusterSpec, Experiment, isolate
"""

DEFECT = """
    from functools import partial
    from nemesis.validation import count
    from pytest_kafkacheck.experiment.harness import Harness

    def test_it(monkeypatch, tmp_path):
        monkeypatch.setattr("pytest_kafkacheck.experiment.harness.check_client_commands", partial(count, "x"))
        Harness(tmp_path).check(Experiment(workload=AppendLog()))
"""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("isolate('leder', at=3, lasting=8)", "did you mean 'leader'"),
        ("isolate('leader', at='3s', lasting=8)", "Event.at='3s': is text, write 3"),
        (
            "isolate('leader', at=3, lastng=8)",
            "isolate takes no 'lastng'; did you mean 'lasting'? It takes target",
        ),
        ("AppendLog(partition=3)", "AppendLog takes no 'partition'; did you mean 'partitions'?"),
        ("AppendLog(3)", "AppendLog takes its values by name, such as AppendLog(partitions=...)"),
        (
            "isolate('leader', 3, 8)",
            "isolate takes its values by name, such as isolate(lasting=...); these are lasting, at,",
        ),
        ("AppendLog(acks=7)", "AppendLog.acks=7: expected 'all', 1 or 0"),
        ("ClusterSpec(brokers=33)", "ClusterSpec.brokers=33: expected 1 to 9"),
        ("Experiment(workload=AppendLog(), duration='20')", "Experiment.duration='20': is text, write 20"),
    ],
)
def test_the_error_ends_at_the_line_of_the_test(pytester: pytest.Pytester, line: str, said: str) -> None:
    pytester.makepyfile(f"{HEAD}\ndef test_it():\n    {line}\n")
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert f">       {line}" in text
    assert "UsageError: " in text
    assert said in text
    for source in ("nemesis/", "workloads/", "pytest_kafkacheck/", "???"):
        assert f"{source}" not in text.partition("FAILURES")[2].partition("short test summary")[0]


def test_an_experiment_at_the_top_level_of_a_file_is_refused_in_the_same_way(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(f"{HEAD}\nFAULT = isolate('leder', at=3, lasting=8)\n\ndef test_it(): ...\n")
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    text = result.stdout.str()
    assert "FAULT = isolate('leder'" in text
    assert "did you mean 'leader'" in text
    assert "nemesis/" not in text


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("int('x')", "ValueError: invalid literal"),
        ("Experiment()", "TypeError: "),
        ("def own(*, a): ...\n    own(b=1)", "TypeError: "),
    ],
)
def test_errors_of_the_test_itself_stay_as_they_are(pytester: pytest.Pytester, body: str, error: str) -> None:
    pytester.makepyfile(f"{HEAD}\ndef test_it():\n    {body}\n")
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    assert error in result.stdout.str()
    assert "UsageError" not in result.stdout.str()


def test_a_defect_below_a_run_is_shown_whole(pytester: pytest.Pytester) -> None:
    """The harness raises ValueError: that may be a defect, and its place is what a report of it needs."""
    pytester.makepyfile(HEAD + dedent(DEFECT))
    # In a process of its own: pytester removes modules that were imported, and so makes two classes of one.
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert "experiment/harness.py" in result.stdout.str()
    assert "ValueError: x=" in result.stdout.str()


def test_only_names_of_kafkacheck_get_a_hint() -> None:
    assert wrong_call(TypeError("print() got an unexpected keyword argument 'colour'")) is None
    assert wrong_call(ValueError("isolate() got an unexpected keyword argument 'x'")) is None


def test_a_file_of_experiments_gets_the_same_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file.py"
    file.write_text(f"{HEAD}\nExperiment(workload=AppendLog(), fault=[])\n")
    assert cli.main(["run", str(file)]) == cli.USAGE
    said = capsys.readouterr().err
    assert "line 4, cannot be run: Experiment takes no 'fault'; did you mean 'faults'?" in said
    assert cli.main(["workload", "apend-log", "--bootstrap", "localhost:1"]) == cli.USAGE
    assert "did you mean 'append-log'?" in capsys.readouterr().err
    assert (
        cli.main(["workload", "append-log", "--bootstrap", "localhost:1", "--set", "partition=3"])
        == cli.USAGE
    )
    assert "did you mean 'partitions'?" in capsys.readouterr().err
