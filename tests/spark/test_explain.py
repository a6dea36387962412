"""``kafkacheck explain``: expected output for planted histories, and refused arguments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from analyzers.explain import explain
from analyzers.judge.analyze import analyze
from pytest_kafkacheck.cli import main as cli
from tests.support.stories.deletions import deleted_past_the_requested_offset
from workloads.history.schema import VALUE_BITS

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_of_tests")]

S = 10**9
WRITER = 2 << VALUE_BITS
DOCS = Path(__file__).parents[2] / "docs" / "verdict.md"


def seconds(begin: float, end: float) -> tuple[int, int]:
    return round(begin * S), round(end * S)


def sample(
    s: Any, at: float, node: int, *, leader: int, epoch: int, isr: list[int], mark: int, end: int
) -> None:
    row = {"process": 50, "node": node, "kind": "partition", "topic": "orders", "partition": 0}
    row |= {"time": round(at * S), "leader": leader, "leader_epoch": epoch, "isr": isr}
    s.observations.append(row | {"log_start": 0, "high_watermark": mark, "log_end": end})


def zombie(s: Any) -> Any:
    """An isolated leader acknowledges two more writes; the next leader reuses one of their offsets."""
    place = {"topic": "orders"}
    for process, role in ((2, "producer"), (3, "producer"), (10, "reader"), (99, "final")):
        s.harness("worker", {"role": role, "process": process, "event": "started"}, at=(0, 0))
    s.send(WRITER, 0, at=seconds(0, 0.01), **place)
    s.send(WRITER + 1, 1, at=seconds(0.5, 0.51), **place)
    s.send(WRITER + 2, 2, at=seconds(1.0, 1.02), **place, error="timed out")
    s.send(WRITER + 3, 3, at=seconds(1.1, 1.12), **place)
    s.send(3 << VALUE_BITS, 2, at=seconds(2.0, 2.01), **place)
    s.poll(WRITER + 2, 2, process=10, at=seconds(1.05, 1.06), leader_epoch=0, **place)
    window = '"active": {"possibly": [800000000, 1900000000], "surely": [900000000, 1500000000]}'
    what = '"event": "isolate-0", "target": "leader", "nodes": [1], "effective": true'
    fault = {"process": -1, "type": "info", "topic": None, "partition": None}
    s.operation("isolate", at=seconds(0.8, 0.9), value=f'{{{what}, "stage": "inject"}}', **fault)
    s.operation("isolate", at=seconds(1.5, 1.9), value=f'{{{what}, "stage": "heal", {window}}}', **fault)
    sample(s, 0.2, 1, leader=1, epoch=0, isr=[1, 2], mark=1, end=1)
    sample(s, 0.4, 2, leader=1, epoch=0, isr=[1, 2], mark=1, end=1)
    sample(s, 0.95, 1, leader=1, epoch=0, isr=[1], mark=2, end=2)
    sample(s, 1.01, 2, leader=2, epoch=1, isr=[2], mark=2, end=2)
    for offset, value in ((0, WRITER), (1, WRITER + 1), (2, 3 << VALUE_BITS)):
        s.poll(value, offset, process=99, final=True, at=seconds(3, 3.1), leader_epoch=offset // 2, **place)
    return s.operation("final-read", process=99, at=seconds(2.9, 3.2), start_offset=0, end_offset=3, **place)


@pytest.fixture
def run(write: Any, story: Any, tmp_path: Path) -> str:
    return str(write(tmp_path / "run", {"zombie": zombie(story())}))


def explained(run: str, *finding: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert cli.main(["explain", run, *finding]) == cli.AS_EXPECTED
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_the_output_is_as_the_documentation_shows_it(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    """For the first occurrence of each anomaly, and for a single one."""
    example, _ = re.findall(r"```text\n(.*?)```", DOCS.read_text(), re.DOTALL)
    first = explained(run, capsys=capsys)
    heads = [line for line in first if line.startswith(("lost-write/", "offset-reuse/"))]
    assert [head.partition(":")[0] for head in heads] == ["lost-write/1 of 2", "offset-reuse/1 of 1"]
    assert first[: first.index(heads[1])] == [*example.splitlines(), ""]
    second = explained(run, "lost-write/2", capsys=capsys)
    assert second[0].startswith("lost-write/2 of 2")
    assert (
        second[1]
        == "  run zombie, orders-0: process 2 (producer 0), op 2:3 (producer 0's 4th write), offset 3, value 2:3"
    )


def test_an_occurrence_of_the_stored_verdict_is_not_looked_for_again(
    spark: Any, run: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for = explained(run, "lost-write/2", capsys=capsys)
    verdict = analyze(spark, [Path(run)])["zombie"]
    (Path(run) / "verdict.json").write_text(verdict.to_json())
    monkeypatch.delattr(explain, "find")
    assert explained(run, "lost-write/2", capsys=capsys) == looked_for


@pytest.mark.nightly
def test_a_run_without_anomalies_and_without_a_stored_verdict_says_why_it_is_unknown(
    write: Any, story: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unread = write(tmp_path / "run", {"unread": story().send(WRITER, 0).poll(WRITER, 0)})
    assert explained(str(unread), capsys=capsys) == [
        "No anomaly was found. The verdict is unknown:",
        "  Partition t-0 was written, but there was no final read of it: its content at the end is unknown.",
    ]


def test_deletions_of_records_are_shown_with_their_requests(
    write: Any, story: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deleted = write(tmp_path / "run", {"deleted": deleted_past_the_requested_offset(story())})
    lines = [re.sub(" +", " ", line).strip() for line in explained(str(deleted), "lost-write", capsys=capsys)]
    what = "the deletion of the records of t-0 below offset 1"
    shown = [line for line in lines if what in line]
    assert [line.partition("process 5 ")[2] for line in shown] == [
        f"requests {what}",
        f"acknowledged: {what}",
    ]


@pytest.mark.parametrize(
    ("finding", "message"),
    [
        ("lost-write/3", "lost-write/3: the run has 2 findings of this anomaly; without FINDING, "),
        ("lost-wriet", "no anomaly named lost-wriet; did you mean 'lost-write' or"),
        ("lost-write/0", "expected a number from 1 on after the slash, such as lost-write/2"),
        ("lost-write/x", "expected a number from 1 on after the slash"),
    ],
)
def test_a_finding_that_does_not_exist_is_refused(
    run: str, capsys: pytest.CaptureFixture[str], finding: str, message: str
) -> None:
    assert cli.main(["explain", run, finding]) == cli.USAGE
    assert message in capsys.readouterr().err
