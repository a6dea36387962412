"""A run with which the analysis crashes affects neither the verdicts on other runs nor its own proven findings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from histories import Shape, write_segments

from analyzers.catalogue.bounds import NONE, Bounds
from analyzers.catalogue.check import Check
from analyzers.checks.durability import DUPLICATE, LOST_WRITE
from analyzers.checks.order import REALTIME_ORDER
from analyzers.judge import analyze as verdicts_of
from analyzers.judge import examine as examination
from analyzers.judge.batch import Case, judge_batch
from tests.spark.test_availability import reading_own_writes
from tests.support.stories.failures import isolated_leader
from workloads.history.compaction.compact import compact
from workloads.history.schema import RECORDS

pytestmark = pytest.mark.spark

ONE = 1 << 40


def three(write: Any, story: Any, folder: Path) -> list[Path]:
    good = story().send(ONE, 0).final({0: ONE}, end=1)
    lost = story().send(ONE, 0).final({}, end=0)
    heavy = story().send(ONE, 0).send(ONE + 1, 1).final({0: ONE}, end=1)
    stories = {"good": good, "heavy": heavy, "lost": lost}
    return [write(folder / name, {name: each}) for name, each in stories.items()]


def cases(homes: Sequence[Path]) -> list[Case]:
    return [Case(home=home) for home in homes]


def crashing(where: str) -> Check:
    return replace(DUPLICATE, where=where)


def test_a_check_that_crashes_for_one_run_makes_only_that_run_unknown(
    spark: Any, write: Any, story: Any, tmp_path: Path
) -> None:
    homes = three(write, story, tmp_path)
    checks = [LOST_WRITE, crashing("cast(if(run = 'heavy', raise_error('too much'), 'false') as boolean)")]
    judged = judge_batch(lambda: spark, cases(homes), checks=checks)
    verdicts = [each.verdicts[each.home.name] for each in judged]
    assert [verdict.result for verdict in verdicts] == ["valid", "invalid", "invalid"]
    assert [finding.anomaly for finding in verdicts[1].findings] == ["lost-write"], (
        "the proven finding counts"
    )
    assert [verdict.unknowns for verdict in (verdicts[0], verdicts[2])] == [(), ()]
    (why,) = verdicts[1].unknowns
    assert why.startswith("The check duplicate crashed: ")
    assert "too much" in why


@pytest.mark.parametrize("size", ["small", "large"])
def test_a_flipped_bit_is_detected_and_not_read_as_another_value(
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
    judged = {each.home.name: each for each in judge_batch(lambda: spark, cases([home, good]), checks=checks)}
    assert judged["good"].verdicts["good"].result == "valid"
    (verdict,) = judged["damaged"].verdicts.values()
    assert (verdict.result, verdict.findings) == ("unknown", ())
    why = verdict.unknowns[0]
    assert why.startswith(("The analysis crashed", "The checks lost-write, duplicate crashed: "))
    assert "part-0.parquet" in why


BOUNDS = {
    "none": NONE, "it's": Bounds(unavailable=1.5), "kept": Bounds(unavailable=3), "other": Bounds(recovery=1),
}  # fmt: skip


@pytest.mark.parametrize(
    ("check", "names"),
    [
        (LOST_WRITE, BOUNDS),
        pytest.param(
            crashing("cast(raise_error('too much') as boolean)"),
            ["it's", "kept"],
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_each_run_is_judged_by_its_own_bounds(
    spark: Any, write: Any, story: Any, tmp_path: Path, check: Check, names: Sequence[str]
) -> None:
    """Also if the joint analysis crashes. All runs waited for 2 s."""
    bounds = {name: BOUNDS[name] for name in names}
    homes = {}
    for name in bounds:
        waiting = (
            story()
            .send(ONE, 0, at=(0, 1))
            .send(ONE + 1, 1, at=(1, 2 * 10**9))
            .final({0: ONE, 1: ONE + 1}, end=2)
        )
        homes[name] = write(tmp_path / name, {name: waiting})
    stated = [Case(home=homes[name], bounds=each) for name, each in bounds.items()]
    judged = judge_batch(lambda: spark, stated, checks=[check])
    found = {
        each.home.name: [one.anomaly for one in each.verdicts[each.home.name].findings] for each in judged
    }
    assert found == {name: ["unavailable"] if name == "it's" else [] for name in names}


def test_a_folder_without_records_takes_no_other_run_down(
    spark: Any, write: Any, story: Any, tmp_path: Path
) -> None:
    """One holds samples only, of a run that is not named as its folder; one is empty and named as another's run."""
    sampled = story()
    sampled.observations.append({"process": 5, "time": 1, "node": 1, "kind": "quorum"})
    good = story().send(ONE, 0).final({0: ONE}, end=1)
    homes = [
        write(tmp_path / "copied", {"sampled": sampled}),
        write(tmp_path / "first", {"good": good}),
        write(tmp_path / "good", {"none": story()}),
    ]
    requiring = [replace(case, requires=frozenset({"session-reads"})) for case in cases(homes)]
    judged = judge_batch(lambda: spark, requiring, checks=[LOST_WRITE])
    (why,) = judged[1].verdicts["good"].unknowns
    assert why == "Not exercised, but required (session-reads): no session read was completed, of 0."
    results = [{run: each.result for run, each in one.verdicts.items()} for one in judged]
    assert results == [{"sampled": "unknown"}, {"good": "unknown"}, {"good": "unknown"}]


def no_memory(*_: Any, **__: Any) -> Any:
    raise RuntimeError("no memory\nleft")


REPORTS = {
    "availabilities": (examination, "The report on availability crashed: RuntimeError: no memory"),
    "stalenesses": (examination, "The report on staleness crashed: RuntimeError: no memory"),
    "collect": (examination, "The search for causes crashed: RuntimeError: no memory"),
    "derive": (verdicts_of, "The search for causes crashed: RuntimeError: no memory"),
}
"""What crashes: its module, and the note."""


def test_a_report_that_crashes_costs_no_finding(
    spark: Any, write: Any, story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = write(tmp_path / "both", {"lost": isolated_leader(story()), "late": reading_own_writes(story())})
    for name, (module, _) in REPORTS.items():
        monkeypatch.setattr(module, name, no_memory)
    (judged,) = judge_batch(lambda: spark, [Case(home=home)], checks=[LOST_WRITE, DUPLICATE])
    lost = judged.verdicts["lost"]
    assert (lost.result, [each.anomaly for each in lost.findings]) == ("invalid", ["lost-write"])
    assert not [why for verdict in judged.verdicts.values() for why in verdict.unknowns if "crash" in why]
    notes = [note for _, note in REPORTS.values()]
    assert set(lost.notes) == {notes[0], notes[2]}, "no cause is derived from what was not collected"
    assert notes[1] in judged.verdicts["late"].notes


@pytest.mark.nightly
def test_causes_that_cannot_be_derived_cost_no_finding(
    spark: Any, write: Any, story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = write(tmp_path / "run", {"run": isolated_leader(story())})
    monkeypatch.setattr(verdicts_of, "derive", no_memory)
    (judged,) = judge_batch(lambda: spark, [Case(home=home)], checks=[LOST_WRITE])
    verdict = judged.verdicts["run"]
    assert (verdict.result, verdict.causes, verdict.unknowns) == ("invalid", (), ())
    assert verdict.notes == (REPORTS["derive"][1],)


@pytest.mark.nightly
def test_a_check_that_crashes_leaves_the_causes_of_the_other_findings(
    spark: Any, write: Any, story: Any, tmp_path: Path
) -> None:
    """The evidence of one check explains what another one found."""
    home = write(tmp_path / "run", {"run": isolated_leader(story())})
    (judged,) = judge_batch(
        lambda: spark, [Case(home=home)],
        checks=[LOST_WRITE, REALTIME_ORDER, crashing("cast(raise_error('too much') as boolean)")],
    )  # fmt: skip
    verdict = judged.verdicts["run"]
    assert {each.anomaly for each in verdict.findings} == {"lost-write", "realtime-order"}
    (cause,) = verdict.causes
    assert cause.kind == "truncation"
    assert cause.findings == {each.anomaly: each.count for each in verdict.findings}
    (why,) = verdict.unknowns
    assert why.startswith("The check duplicate crashed: ")


@pytest.mark.nightly
def test_a_report_that_ends_the_jvm_costs_no_finding(
    spark: Any, write: Any, story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it has ended is known from the next request only; here the session is lost for the report alone."""
    home = write(tmp_path / "run", {"run": isolated_leader(story())})
    monkeypatch.setattr(examination, "collect", no_memory)
    monkeypatch.setattr(examination, "is_alive", lambda _: False)
    (judged,) = judge_batch(lambda: spark, [Case(home=home)], checks=[LOST_WRITE])
    verdict = judged.verdicts["run"]
    assert (verdict.result, verdict.unknowns) == ("invalid", ())
    assert verdict.notes == (
        "The reports on availability, staleness, propagation and causes crashed: RuntimeError: no memory",
    )


@pytest.mark.nightly
def test_a_first_look_that_crashes_costs_time_only(
    spark: Any, write: Any, story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = write(tmp_path / "run", {"run": isolated_leader(story())})
    monkeypatch.setattr(examination, "find_suspicious_values", no_memory)
    (judged,) = judge_batch(lambda: spark, [Case(home=home)], checks=[LOST_WRITE])
    verdict = judged.verdicts["run"]
    assert (verdict.result, verdict.unknowns) == ("invalid", ())


PROGRAM = """
import sys
from dataclasses import replace
from pathlib import Path
import analyzers.history.load
from analyzers.judge.batch import Case, judge_batch
from analyzers.checks.durability import LOST_WRITE
from analyzers.checks.durability import DUPLICATE
from analyzers.spark.session import forget_dead_jvm, is_alive, spark_session

# As for large histories: read the tables in Spark tasks.
analyzers.history.load.HANDED_OVER = analyzers.history.load.ONE_PIECE = 0
sessions = [spark_session(heap="600m")]

def session():
    if not is_alive(sessions[-1]):
        forget_dead_jvm()
        sessions.append(spark_session(heap="600m"))
    return sessions[-1]

hungry = "size(sequence(0L, if(run = 'heavy', 200000000L + least(value, 0L), 0L))) > 1"
checks = [LOST_WRITE, replace(DUPLICATE, where=hungry)]
for each in judge_batch(session, [Case(home=Path(home)) for home in sys.argv[1:]], checks=checks):
    (verdict,) = each.verdicts.values()
    print(verdict.run, verdict.result, *(one.anomaly for one in verdict.findings), *verdict.unknowns)
print("sessions", len(sessions))
"""


STOPPED = """
import sys
from pathlib import Path
from analyzers.judge.batch import Case, judge_batch
from analyzers.judge.failures import describe
from pyspark import SparkContext
from pytest_kafkacheck.spark import Spark

spark = Spark(warmed=False)
first = spark.session()
jvm = SparkContext._gateway.proc
first._jsc.sc().stopInNewThread()
while not first._jsc.sc().isStopped():
    pass
(judged,) = judge_batch(spark.session, [Case(home=Path(sys.argv[1]))])
print(*(each.result for each in judged.verdicts.values()))
print(jvm.poll() is not None)
spark.session()._jsc.sc().stopInNewThread()
print(describe(RuntimeError("Cannot call methods on a stopped SparkContext")))
"""


@pytest.mark.nightly
def test_spark_that_stopped_itself_in_a_running_jvm_is_started_again(
    write: Any, story: Any, tmp_path: Path
) -> None:
    """An error in one of Spark's own threads stops it, such as too little memory; the JVM goes on running."""
    home = write(tmp_path / "run", {"run": story().send(ONE, 0).final({0: ONE}, end=1)})
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, str(home)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines() == [
        "valid",
        "True",
        "the JVM of Spark ended (Spark had stopped itself in it: its log says no reason)",
    ], done.stderr


@pytest.mark.nightly
def test_a_jvm_that_runs_out_of_memory(write: Any, story: Any, tmp_path: Path) -> None:
    homes = three(write, story, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, homes)], capture_output=True, text=True, timeout=600
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "good valid", done.stderr
    assert lines[1].startswith(
        "heavy invalid lost-write The check duplicate crashed: the JVM of Spark ended (out of memory)"
    )
    assert lines[2] == "lost invalid lost-write"
    assert int(lines[3].removeprefix("sessions ")) > 1, "no JVM ended"
    assert "Traceback" not in done.stderr


def test_a_bound_on_recovery_that_no_send_tested_is_unknown(
    spark: Any, write: Any, story: Any, tmp_path: Path
) -> None:
    healed = story().send(ONE, 0).fault("inject").fault("heal").final({0: ONE}, end=1)
    home = write(tmp_path / "run", {"run": healed})
    (plain,) = judge_batch(lambda: spark, [Case(home=home)])
    (bound,) = judge_batch(lambda: spark, [Case(home=home, bounds=Bounds(recovery=1))])
    assert (plain.verdicts["run"].result, bound.verdicts["run"].result) == ("valid", "unknown")


def test_a_case_that_must_be_one_run_is_refused_with_several(
    spark: Any, write: Any, story: Any, tmp_path: Path
) -> None:
    good = {name: story().send(ONE, 0).final({0: ONE}, end=1) for name in ("a", "b")}
    home = write(tmp_path / "both", good)
    (single,) = judge_batch(lambda: spark, [Case(home=home, is_single=True)])
    assert single.problem == f"{home}: the history holds several runs (a, b), expected one"
    assert {name: verdict.result for name, verdict in single.verdicts.items()} == {"both": "unknown"}
    (several,) = judge_batch(lambda: spark, [Case(home=home)])
    assert {name: verdict.result for name, verdict in several.verdicts.items()} == {
        "a": "valid",
        "b": "valid",
    }


def test_a_case_with_a_known_problem_is_reported_without_starting_spark(tmp_path: Path) -> None:
    def sessions() -> Any:
        raise AssertionError("no session is needed")

    (judged,) = judge_batch(sessions, [Case(home=tmp_path / "broken", problem="broken: cannot be read")])
    assert judged.problem == "broken: cannot be read"
    assert judged.verdicts["broken"].unknowns == ("The history cannot be judged: broken: cannot be read",)


def test_each_case_allows_its_own_anomalies(spark: Any, write: Any, story: Any, tmp_path: Path) -> None:
    homes = [
        write(tmp_path / name, {name: story().send(ONE, 0).final({0: ONE, 1: ONE}, end=2)})
        for name in ("allows", "forbids")
    ]
    allowing = Case(home=homes[0], allow=frozenset({"duplicate"}))
    judged = judge_batch(lambda: spark, [allowing, Case(home=homes[1])])
    assert [verdict.result for each in judged for verdict in each.verdicts.values()] == ["valid", "invalid"]
