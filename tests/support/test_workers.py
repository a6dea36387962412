"""The division of the tests between workers, and the summary of their time."""

from __future__ import annotations

import pytest

from tests.support import time_by_folder
from tests.support.work_units import rank, unit

FILE = """
import time
import pytest

@pytest.fixture(scope="module")
def slow():
    time.sleep(0.3)

@pytest.mark.parametrize("number", range(2))
def test_it(slow, number):
    pass
"""


def test_what_uses_spark_is_one_unit_and_each_other_file_is_one() -> None:
    spark = unit("tests/spark/test_live.py::test_a[1::2]")
    assert unit("tests/spark/test_layout.py::test_b") == spark
    assert unit("examples/test_echo.py::test_c") == unit("tests/cluster/test_groups.py::test_d") == spark
    for file in ("tests/cluster/test_disk.py", "tests/pytest_kafkacheck/test_plugin.py"):
        assert unit(f"{file}::test_e") == file


def test_long_units_begin_first() -> None:
    files = ["tests/nemesis/test_run.py", "tests/cluster/test_disk.py", "tests/spark/test_live.py"]
    assert sorted(files, key=rank) == files[::-1]
    assert rank("tests/cluster/test_attach.py::test_a") > rank("tests/cluster/test_bank.py::test_b")


@pytest.mark.parametrize("workers", ["0", "2"])
def test_time_is_summed_by_folder_set_up_and_worker(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(time_by_folder, "LEAST", 0.1)
    for folder in ("one", "two"):
        pytester.mkdir(folder).joinpath(f"test_{folder}.py").write_text(FILE)
    options = ("-p", "tests.support.time_by_folder", "-n", workers, "--dist", "loadfile")
    shown = pytester.runpytest(*options, "--time-by-folder")
    shown.assert_outcomes(passed=4)
    shown.stdout.fnmatch_lines(
        [
            " tests *set-up *call *tear-down *total",
            "     2 * one",
            "     4 * total",
            "set-up * s  one/test_one.py: slow",
            "worker gw1: * s" if workers == "2" else "worker main: * s",
        ]
    )
    rows = (line.split() for line in shown.outlines)
    (total,) = (row for row in rows if row[:1] == ["4"] and row[-1] == "total")
    assert float(total[1]) >= 0.6, "two set-ups sleep for 0.3 s each"
    pytester.runpytest(*options).stdout.no_fnmatch_line("*tear-down*")
