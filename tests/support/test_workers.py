"""The division of the tests between workers, and the summary of their time."""

from __future__ import annotations

import re

import pytest

from tests.support import time_by_folder
from tests.support.work_units import BROKERS, EXPERIMENTS, SPARK, is_light, is_light_worker, rank, unit

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


def test_tests_that_share_something_are_one_unit_and_each_other_file_is_one() -> None:
    assert (
        unit("tests/spark/test_live.py::test_a[1::2]") == unit("tests/spark/test_layout.py::test_b") == SPARK
    )
    assert (
        unit("examples/test_echo.py::test_c") == unit("tests/cluster/test_groups.py::test_d") == EXPERIMENTS
    )
    assert (
        unit("tests/cluster/test_disk.py::test_e")
        == unit("tests/cluster/faults/test_disks.py::test_f")
        == unit("tests/cluster/test_repair.py::test_g")
        == BROKERS
    )
    for file in ("tests/cluster/test_lease.py", "tests/pytest_kafkacheck/test_plugin.py"):
        assert unit(f"{file}::test_e") == file


def test_long_units_begin_first() -> None:
    files = ["tests/nemesis/test_run.py", "tests/cluster/test_disk.py", "tests/spark/test_live.py"]
    assert sorted(files, key=rank) == files[::-1]
    assert rank("tests/cluster/test_attach.py::test_a") > rank("tests/cluster/test_bank.py::test_b")


def test_of_three_workers_the_last_one_takes_light_units_only_and_the_second_one_none(
    pytester: pytest.Pytester,
) -> None:
    heavy = ("tests/acceptance/test_a", "tests/acceptance/test_b", "tests/acceptance/test_c")
    light = ("tests/docs/test_d", "tests/docs/test_e", "tests/docs/test_f", "tests/docs/test_g")
    for name in (*heavy, *light):
        file = pytester.path / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("import time\ndef test_it(): time.sleep(0.2)\n")
    pytester.makeconftest(
        """
        from tests.support import work_units

        def pytest_xdist_make_scheduler(config, log):
            return work_units.WorkUnits(config, log)
        """
    )
    shown = pytester.runpytest_subprocess("-n", "3", "-v", "--import-mode=importlib")
    shown.assert_outcomes(passed=7)
    ran = re.findall(r"\[(gw\d)\] .* PASSED (\S+)\.py", shown.stdout.str())
    assert {file for worker, file in ran if worker == "gw2"} & {*light}
    assert {file for worker, file in ran if worker == "gw2"}.isdisjoint(heavy)
    assert {file for worker, file in ran if worker == "gw1"} & {*heavy}
    assert {file for worker, file in ran if worker == "gw1"}.isdisjoint(light)
    assert [is_light_worker(f"gw{number}", 3) for number in range(3)] == [False, False, True]
    assert not any(is_light_worker(f"gw{number}", 2) for number in range(2))
    assert is_light(unit("tests/docs/test_site.py::test_e"))
    for file in ("tests/spark/test_live.py", "examples/test_echo.py"):
        assert not is_light(unit(f"{file}::test_f"))


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
