"""One run that brings its analysis down takes neither other runs with it nor what is proved of it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from histories import Shape, write_segments

from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.check import Check
from analyzers.checks.durability import LOST_WRITE
from analyzers.checks.uniqueness import DUPLICATE
from analyzers.judge.batch import analyze_all
from workloads.history.compaction.compact import compact
from workloads.history.schema import RECORDS

pytestmark = pytest.mark.spark

ONE = 1 << 40


def three(write: Any, story: Any, folder: Path) -> list[Path]:
    good = story().send(ONE, 0).final({0: ONE}, end=1)
    lost = story().send(ONE, 0).final({}, end=0)
    heavy = story().send(ONE, 0).send(ONE + 1, 1).final({0: ONE}, end=1)
    told = {"good": good, "heavy": heavy, "lost": lost}
    return [write(folder / name, {name: each}) for name, each in told.items()]


def crashing(where: str) -> Check:
    return replace(DUPLICATE, where=where, suspicion=None)


def test_what_crashes_for_one_run_is_unknown_for_that_run_only(
    spark: Any, write: Any, story: Any, tmp_path: Path
) -> None:
    homes = three(write, story, tmp_path)
    checks = [LOST_WRITE, crashing("cast(if(run = 'heavy', raise_error('too much'), 'false') as boolean)")]
    judged = analyze_all(lambda: spark, homes, checks=checks)
    verdicts = [each.verdicts[each.home.name] for each in judged]
    assert [verdict.result for verdict in verdicts] == ["valid", "invalid", "invalid"]
    assert [finding.anomaly for finding in verdicts[1].findings] == ["lost-write"], "what was proved stays"
    assert [verdict.unknowns for verdict in (verdicts[0], verdicts[2])] == [(), ()]
    (why,) = verdicts[1].unknowns
    assert why.startswith("The check duplicate died: ")
    assert "too much" in why


@pytest.mark.parametrize("size", ["small", "large"])
def test_a_flipped_bit_is_no_other_value(
    spark: Any, story: Any, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    if size == "large":
        for limit in ("HANDED_OVER", "ONE_PIECE"):
            monkeypatch.setattr(f"analyzers.history.load.{limit}", 0)
    home = tmp_path / "damaged"
    write_segments(Shape(records=400, logs=1), home)
    compact(home)
    file = home / "history" / "records" / "part-0.parquet"
    column = pq.read_metadata(file).row_group(0).column(RECORDS.names.index("offset"))
    content = bytearray(file.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 3] ^= 1
    file.write_bytes(content)
    good = write(tmp_path / "good", {"good": story().send(ONE, 0).final({0: ONE}, end=1)})
    checks = [LOST_WRITE, crashing("false")]
    judged = {each.home.name: each for each in analyze_all(lambda: spark, [home, good], checks=checks)}
    assert judged["good"].verdicts["good"].result == "valid"
    (verdict,) = judged["damaged"].verdicts.values()
    assert (verdict.result, verdict.findings) == ("unknown", ())
    why = verdict.unknowns[0]
    assert why.startswith(("The analysis died", "The checks lost-write, duplicate died: "))
    assert "part-0.parquet" in why


@pytest.mark.parametrize("check", [LOST_WRITE, crashing("cast(raise_error('too much') as boolean)")])
def test_each_run_is_held_to_its_own_bounds(
    spark: Any, write: Any, story: Any, tmp_path: Path, check: Check
) -> None:
    """Judged together or, where that dies, alone. All waited for 2 s."""
    bounds = {
        "none": None, "it's": Bounds(unavailable=1.5), "kept": Bounds(unavailable=3), "other": Bounds(recovery=1),
    }  # fmt: skip
    homes = {}
    for name in bounds:
        told = (
            story()
            .send(ONE, 0, at=(0, 1))
            .send(ONE + 1, 1, at=(1, 2 * 10**9))
            .final({0: ONE, 1: ONE + 1}, end=2)
        )
        homes[name] = write(tmp_path / name, {name: told})
    stated = {homes[name]: each for name, each in bounds.items() if each is not None}
    judged = analyze_all(lambda: spark, list(homes.values()), checks=[check], bounds=stated)
    found = {
        each.home.name: [one.anomaly for one in each.verdicts[each.home.name].findings] for each in judged
    }
    assert found == {"none": [], "it's": ["unavailable"], "kept": [], "other": []}


PROGRAM = """
import sys
from dataclasses import replace
from pathlib import Path
import analyzers.history.load
from analyzers.judge.batch import analyze_all
from analyzers.checks.durability import LOST_WRITE
from analyzers.checks.uniqueness import DUPLICATE
from analyzers.spark.session import forget_dead_jvm, is_alive, spark_session

# As for large histories: tasks do the work.
analyzers.history.load.HANDED_OVER = analyzers.history.load.ONE_PIECE = 0
sessions = [spark_session(heap="600m")]

def session():
    if not is_alive(sessions[-1]):
        forget_dead_jvm()
        sessions.append(spark_session(heap="600m"))
    return sessions[-1]

hungry = "size(sequence(0L, if(run = 'heavy', 200000000L + least(value, 0L), 0L))) > 1"
checks = [LOST_WRITE, replace(DUPLICATE, where=hungry, suspicion=None)]
for each in analyze_all(session, [Path(home) for home in sys.argv[1:]], checks=checks):
    (verdict,) = each.verdicts.values()
    print(verdict.run, verdict.result, *(one.anomaly for one in verdict.findings), *verdict.unknowns)
print("sessions", len(sessions))
"""


@pytest.mark.nightly
def test_a_jvm_that_ends_for_want_of_memory(write: Any, story: Any, tmp_path: Path) -> None:
    homes = three(write, story, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, homes)], capture_output=True, text=True, timeout=600
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "good valid", done.stderr
    assert lines[1].startswith(
        "heavy invalid lost-write The check duplicate died: the JVM of Spark ended (out of memory)"
    )
    assert lines[2] == "lost invalid lost-write"
    assert int(lines[3].removeprefix("sessions ")) > 1, "the JVM did end"
    assert "Traceback" not in done.stderr


def test_a_bound_that_nothing_tested_is_unknown(spark: Any, write: Any, story: Any, tmp_path: Path) -> None:
    told = story().send(ONE, 0).fault("inject").fault("heal").final({0: ONE}, end=1)
    home = write(tmp_path / "run", {"run": told})
    (plain,) = analyze_all(lambda: spark, [home])
    (bound,) = analyze_all(lambda: spark, [home], bounds={home: Bounds(recovery=1)})
    assert (plain.verdicts["run"].result, bound.verdicts["run"].result) == ("valid", "unknown")
