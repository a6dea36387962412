"""``kafkacheck explain`` of transactions and groups: the output holds the evidence that the finding needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.registry import bound_checks
from analyzers.explain.explain import explain
from analyzers.explain.rows import MAX_ROWS
from analyzers.judge.find import find
from pytest_kafkacheck.cli import main as cli
from tests.support.stories import groups, owners, transactions
from tests.support.stories.pace import slower

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_of_tests")]

DOCS = Path(__file__).parents[2] / "docs" / "verdict.md"

Explain = Callable[..., list[str]]


@pytest.fixture
def explained(write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Explain:
    """The lines of an explanation, with single spaces, of one finding in a story named `run`."""

    def lines(story: Any, finding: str) -> list[str]:
        run = write(tmp_path / "run", {"run": story})
        assert cli.main(["explain", str(run), finding]) == cli.AS_EXPECTED
        return [re.sub(" +", " ", line).strip() for line in capsys.readouterr().out.splitlines()]

    return lines


def under(lines: list[str], title: str) -> list[str]:
    """The rows of a table, without its headings."""
    rows = lines[lines.index(title) + 2 :]
    return rows[: rows.index("")]


def cycle_under_a_fault(s: Any) -> Any:
    transactions.each_read_the_other(s)
    slower(s)
    window = '"active": {"possibly": [1000000000, 3500000000], "surely": [1500000000, 3000000000]}'
    what = '"event": "isolate-0", "target": "leader", "nodes": [1], "effective": true'
    fault = {"process": -1, "type": "info", "topic": None, "partition": None}
    s.operation("isolate", at=(10**9, 15 * 10**8), value=f'{{{what}, "stage": "inject"}}', **fault)
    s.operation(
        "isolate", at=(3 * 10**9, 35 * 10**8), value=f'{{{what}, "stage": "heal", {window}}}', **fault
    )
    return s


def test_a_cycle_is_explained_as_the_documentation_shows_it(
    write: Any, story: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "run", {"cycle": cycle_under_a_fault(story())})
    assert cli.main(["explain", str(run), "G1c-wr"]) == cli.AS_EXPECTED
    out = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    _, example = re.findall(r"```text\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert out.rstrip("\n") + "\n" == example


def test_every_kind_of_edge_has_its_reason(explained: Explain, story: Any) -> None:
    lines = explained(slower(transactions.written_against_real_time(story())), "G0-realtime")
    assert under(lines, "The cycle: why each transaction precedes the next") == [
        "102 103 ww t-1 holds 2:1 of 102 at offset 0, and next 3:1 of 103 at offset 1",
        "103 101 realtime 101 began at 2.900 s, after 103 had ended at 1.900 s",
        "101 102 ww t-0 holds 1:0 of 101 at offset 0, and next 2:0 of 102 at offset 1",
    ]
    assert "102 send 2:1 t-1 0 acknowledged and committed" in under(lines, "Transactions of the cycle")
    assert "4.900 process 2 transaction 102: committed" in lines


def test_a_torn_transaction_is_shown_with_all_records_and_their_readers(
    explained: Explain, story: Any
) -> None:
    lines = explained(slower(transactions.torn_in_a_partition(story())), "torn-transaction")
    assert under(lines, "Records of transaction 101, and their readers") == [
        "1:0 t-0 0 at 0.500 s committed process 10, process 99, final read",
        "1:1 t-0 1 at 1.500 s committed process 99, final read; not by process 10",
    ]
    assert "7.500 process 1 requests to commit transaction 101" in lines


def test_a_long_transaction_is_cut_counted_and_still_shows_the_record_of_the_finding(
    explained: Explain, story: Any
) -> None:
    s, more = story(), 2 * MAX_ROWS
    for sequence in range(more):
        s.send(transactions.ONE + sequence, sequence, at=(10 + sequence, 200), transaction=transactions.A)
    transactions.txn(s, transactions.A, (5, 200), ending=190)
    last = more - 1
    for sequence in range(last):
        s.poll(transactions.ONE + sequence, sequence, **transactions.READ)
    s.send(transactions.TWO, more, process=2).poll(transactions.TWO, more, **transactions.READ)
    log = {sequence: transactions.ONE + sequence for sequence in range(more)} | {more: transactions.TWO}
    lines = explained(s.final(log, end=more + 1, **transactions.READ), "torn-transaction")
    rows = under(lines, "Records of transaction 101, and their readers")
    assert [row.split()[0] for row in rows] == [*(f"1:{n}" for n in range(MAX_ROWS - 1)), f"1:{last}"]
    assert f"records of the transaction: the first {MAX_ROWS} of {more} are shown" in lines


def test_a_zombie_is_shown_with_the_claim_that_fenced_it(explained: Explain, story: Any) -> None:
    lines = explained(slower(transactions.zombie(story())), "zombie-write")
    line = [re.sub(r"^\d+\.\d+ ", "", each) for each in lines]
    order = [
        "process 1 claim of x answered: epoch 0",
        "process 1 begins transaction 101 (id x, epoch 0)",
        "process 2 claim of x answered: epoch 1",
        "process 1 sends 1:0 to t-0",
        "finding zombie-write (no fault active)",
        "process 1 requests to abort transaction 101",
        "process 1 not committed: 1:0 at offset 0",
    ]
    assert [each for each in line if each in order] == order


def test_a_read_above_the_last_stable_offset_is_shown_with_the_answer(explained: Explain, story: Any) -> None:
    lines = explained(slower(transactions.above_the_last_stable_offset(story())), "read-above-lso")
    answer = "broker 1 leads in epoch 1; reports for t-0 last stable offset 1 (exclusive), high watermark 10"
    assert any(answer in line for line in lines)


def test_two_owners_are_shown_side_by_side(explained: Explain, story: Any) -> None:
    lines = explained(slower(groups.owned_twice_as_a_commit_proves(story())), "double-ownership")
    assert under(lines, "Owners of t-0") == [
        "process 5 1 at 1.900 s 0 lost at 4.900 s",
        "process 6 1 at 3.900 s 0 (unknown)",
    ]
    assert "4.400 process 5 acknowledged: commit of offset 1 of t-0 in generation 1" in lines


def test_a_skip_after_a_crash_is_shown_with_the_crash(explained: Explain, story: Any) -> None:
    lines = explained(slower(groups.group_skipped(story())), "group-skip")
    assert under(lines, "Owners of t-0") == [
        "process 5 1 at 2.000 s 0 killed at 3.100 s",
        "process 6 2 at 5.000 s 4 (unknown)",
    ]
    assert any(row.startswith("> 2 1:2") for row in under(lines, "The log near the finding (t-0)"))


def test_settings_of_members_and_transactions_of_commits_are_shown(explained: Explain, story: Any) -> None:
    s = owners.static_member_not_fenced(story())
    groups.commit(s, 6, 1, (66, 68), transaction=8)
    lines = "\n".join(explained(slower(s), "double-ownership"))
    assert "process 6 is assigned t-0 in generation 1, starting at offset 1 with group.instance.id=i" in lines
    assert "process 6 commits offset 1 of t-0 in generation 1 in transaction 8" in lines


def test_the_commit_before_a_regression_is_shown_however_old_it_is(explained: Explain, story: Any) -> None:
    s = groups.log(story(), 1)
    groups.commit(s, 5, 100, (10, 20))
    more = 2 * MAX_ROWS
    for number in range(more):
        groups.commit(s, 5, 100, (30 + 2 * number, 31 + 2 * number), kind="fail")
    groups.commit(s, 6, 4, (300, 310))
    lines = explained(slower(s), "commit-regression")
    assert "process 5 acknowledged: commit of offset 100 of t-0 in generation 1" in "\n".join(lines)
    assert f"commits: the nearest {MAX_ROWS} of {more + 2} are shown" in lines


def test_a_time_without_an_owner_is_shown_with_the_members_that_were_alive(loaded: Any, story: Any) -> None:
    history = loaded({"run": groups.orphaned(story())})
    (found,), _ = find(history, list(bound_checks(Bounds(orphaned=1))), examples=1)
    explanation = explain(history, found, 1)
    assert explanation.facts == {"began": "at 0.000 s", "lasted": "3.000 s"}
    assert [
        (moment.who, moment.what) for moment in explanation.line if moment.who in ("process 5", "process 6")
    ] == [
        ("process 5", "is assigned t-0 in generation 1, starting at offset 0 (begun at 0.000 s)"),
        ("process 6", "joined in generation 1 (begun at 0.000 s)"),
        ("process 5", "ends: killed"),
    ]
