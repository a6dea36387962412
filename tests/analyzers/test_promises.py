"""What counts as exercised, what is missing, and the promise that exercises each check. No JVM."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.judge.readers import readers
from analyzers.verdict.exercised import (
    NOTHING,
    Exercised,
    FaultExercised,
    GroupExercised,
    ReaderExercised,
    WorkAtFault,
)
from analyzers.verdict.promises import (
    BY_PROMISE,
    EXERCISED_BY,
    PROMISES,
    not_exercised,
    of_default,
    require_promises,
    unmet,
)
from analyzers.verdict.verdict import Verdict, amended, judge

ISOLATE = FaultExercised(
    event="e1", fault="isolate", target="leader", effective=True, healed=True, acks_before=7, acks_during=2,
    acks_after=1, copies_after=1, acknowledgements_after=1, reads_after=1, transactions_after=1,
)  # fmt: skip
ALL_DONE = Exercised(
    sends={"ok": 10, "info": 4},
    polls=9,
    transactions={"ok": 3},
    committed=1,
    copies={"ok": 2, "fail": 1},
    deliveries=5,
    acknowledgements=4,
    queues={"ok": 2},
    outputs=3,
    pipelines={"ok": 2},
    transfers={"ok": 4},
    snapshots=3,
    whole_snapshots=2,
    snapshots_of_transfers=1,
    commits={"ok": 1, "fail": 2},
    session_reads={"ok": 1, "info": 5},
    rereads={"ok": 2, "info": 1},
    searches={"ok": 2, "info": 1},
    inspections={"ok": 2, "info": 1},
    comparisons={"ok": 3, "info": 1},
    faults=(ISOLATE,),
    readers=(ReaderExercised(process=3, polls=4, last=2.0),),
    brokers=(1, 2),
    sampled=(1, 2, 3),
    leader_samples=40,
    controller_samples=20,
    group_samples=9,
    transaction_samples=9,
    eligible_samples=3,
    compacted=5,
)
STUCK = ReaderExercised(process=4, polls=1200, last=0.25, behind=("t-0", "t-1"))
SILENT_GROUP = GroupExercised(group="b", commits=1200, silent=("t-1",))
SECOND = replace(ISOLATE, event="e2")
MET = replace(
    ISOLATE, event="e2", fault="kill-client", target="app:0", clients=("app:0",),
    work=(WorkAtFault(client="app:0", met=True, in_flight=12),),
)  # fmt: skip
WAITING = WorkAtFault(client="app:0", met=False, reason="app:0 owned no partition from 4.1 to 21.0 s")
HALF_MET = replace(
    MET, event="e3", target="app", clients=("app:0", "app:1"),
    work=(WAITING, WorkAtFault(client="app:1", met=True, in_flight=3)),
)  # fmt: skip
IDLE = replace(
    HALF_MET, event="e4",
    work=(WAITING, WorkAtFault(client="app:1", met=False, reason="app:1 owned no partition at all")),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("acks-during-faults", {"faults": (ISOLATE, replace(SECOND, acks_during=0))},
         "no send was invoked and acknowledged during isolate leader (e2); 10 of 14 sends were acknowledged in the "
         "whole run."),
        ("acks-after-faults", {"faults": (ISOLATE, replace(SECOND, acks_during=3, acks_after=0))},
         "no send was acknowledged after the end of isolate leader (e2; 7 before it, 3 during)."),
        ("work-at-faults", {"faults": (MET, HALF_MET, IDLE)},
         "1 fault met no work: kill app (e4): app:0 owned no partition from 4.1 to 21.0 s and app:1 owned no "
         "partition at all."),
        ("session-reads", {"session_reads": {"info": 1200}}, "no session read was completed, of 1,200."),
        ("session-reads", {"faults": (ISOLATE, replace(SECOND, reads_after=0))},
         "no session read was completed after the end of isolate leader (e2)."),
        ("inspections", {"inspections": {"info": 3}},
         "no broker described a topic after it knew all changes, in 3 attempts."),
        ("identical-replicas", {"comparisons": {"info": 1200}},
         "the replicas of no partition could be compared, of 1,200."),
        ("rereads", {"rereads": {"info": 1200}},
         "no client got again what it had polled before, in 1,200 attempts."),
        ("searches", {"searches": {"info": 1200}}, "no leader answered a search by time, of 1,200."),
        ("polls-to-the-end", {"readers": (*ALL_DONE.readers, STUCK)},
         "1 of 2 readers got nothing more after the last heal, or stopped long before others: process 4 got 1,200 "
         "records, the last at 0.2 s, and had not reached the end of t-0, t-1."),
        ("polls-to-the-end", {"readers": (replace(STUCK, last=None),), "faults": ()},
         "1 of 1 readers got nothing more in the second half of the load, or stopped long before others: process 4 "
         "got 1,200 records, the last at an unknown time, and had not reached the end of t-0, t-1."),
        ("polls-to-the-end", {"readers": (*ALL_DONE.readers, replace(STUCK, polls=0, last=None))},
         "1 of 2 readers got nothing more after the last heal, or stopped long before others: process 4 got no "
         "record, and there are some in t-0, "
         "t-1."),
        ("polls-to-the-end", {"readers": (ReaderExercised(process=4, polls=0),)}, "no reader polled a record."),
        ("transactions", {"committed": 0}, "no commit was acknowledged, of 3 transactions."),
        ("transactions", {"faults": (replace(ISOLATE, transactions_after=0), replace(SECOND, transactions_after=0))},
         "no commit was acknowledged after the end of isolate leader (e1), isolate leader (e2)."),
        ("group-commits", {"faults": (ISOLATE, replace(SECOND, idle_groups=("a", "b")))},
         "no commit was acknowledged after the end of isolate leader (e2: groups a, b)."),
        ("group-commits", {"commits": {"fail": 2}}, "no commit of a group's offsets succeeded, of 2."),
        ("group-commits", {"groups": (GroupExercised(group="a", commits=3), SILENT_GROUP)},
         "1 of 2 groups committed no position of some partitions: b (acknowledged commits: 1,200) has none of t-1."),
        ("group-commits", {"groups": (GroupExercised(group="a", commits=0),)},
         "1 of 1 groups committed no position of some partitions: a (acknowledged commits: 0) has none of any."),
        ("copies", {"copies": {"info": 2, "fail": 1}}, "no copy of a record was acknowledged, of 3."),
        ("copies", {"faults": (ISOLATE, replace(SECOND, copies_after=0))},
         "no copy of a record was acknowledged after the end of isolate leader (e2)."),
        ("deliveries", {"deliveries": 1200, "acknowledgements": 0},
         "no delivery of a share group was acknowledged and confirmed, of 1,200."),
        ("deliveries", {"queues": {"ok": 3, "info": 2}},
         "how far a share group had got at the end is unknown of 2 partition(s)."),
        ("deliveries", {"queues": {}}, "how far a share group had got at the end is not recorded."),
        ("deliveries", {"faults": (ISOLATE, replace(SECOND, acknowledgements_after=0))},
         "no delivery was acknowledged and confirmed after the end of isolate leader (e2)."),
        ("outputs", {"outputs": 0}, "the application wrote nothing."),
        ("outputs", {"pipelines": {"info": 2}}, "what the application wrote is not known as a whole."),
        ("outputs", {"pipelines": {}}, "what the application wrote is not known as a whole."),
        ("snapshots", {"snapshots": 1200, "snapshots_of_transfers": 0},
         "no snapshot of all accounts was completed that began after a commit had been acknowledged, of 1,200."),
        ("compaction", {"compacted": 0}, "compaction removed none of 10 acknowledged records."),
        ("samples-of-every-broker", {"brokers": (1, 2, 4, 5)},
         "2 of 5 brokers never answered with the state of a partition: 4, 5."),
        ("samples-of-every-broker", {"sampled": ()}, "no broker answered with the state of a partition."),
        ("samples-of-leaders", {"unmeasured": ("t-0", "t-2")},
         "no leader reported a high watermark and the end of its log of t-0, t-2."),
    ],
)  # fmt: skip
def test_what_is_missing_is_said_with_figures(name: str, change: dict[str, Any], said: str) -> None:
    exercised = replace(ALL_DONE, **change)
    assert not_exercised(exercised) == (name,)
    assert unmet(exercised, PROMISES) == (f"Not exercised, but required ({name}): {said}",)
    assert unmet(exercised, set(PROMISES) - {name}) == ()


def test_nothing_is_missing_where_all_was_exercised() -> None:
    assert not_exercised(ALL_DONE) == unmet(ALL_DONE, PROMISES) == ()


def test_a_run_is_not_about_what_it_did_not_do() -> None:
    """A run without faults, groups and transactions lacks none of them, unless they are required."""
    assert not_exercised(NOTHING) == ()
    named = [sentence.partition(": ")[0] for sentence in unmet(NOTHING, PROMISES)]
    assert named == [
        f"Not exercised, but required ({name})"
        for name in PROMISES
        if name not in ("acks-during-faults", "acks-after-faults", "work-at-faults")
    ]


def test_a_share_group_whose_consumers_got_nothing_is_not_exercised() -> None:
    assert not_exercised(replace(NOTHING, queues={"ok": 2})) == ("deliveries",)
    assert not_exercised(replace(NOTHING, deliveries=2)) == ("deliveries",)


def test_unknown_names_are_refused() -> None:
    assert require_promises(["transactions"]) == {"transactions"}
    with pytest.raises(ValueError, match=r"no promise named acks; there are acks-during-faults, acks-after-"):
        require_promises(["acks", "transactions"])
    with pytest.raises(ValueError, match=r"no promise named \['transactions'\];"):
        require_promises([["transactions"]])
    for wrong in ("transactions", 3):
        with pytest.raises(ValueError, match="expected a collection of names"):
            require_promises(wrong)


def test_a_verdict_lists_what_was_not_exercised() -> None:
    verdict = judge("r", exercised=replace(ALL_DONE, committed=0, readers=(STUCK,)))
    assert (verdict.result, verdict.not_exercised) == ("valid", ("polls-to-the-end", "transactions"))
    assert "What was not exercised (docs/anomalies.md):\n  polls-to-the-end, transactions" in verdict.text()
    assert Verdict.from_json(verdict.to_json()) == verdict
    required = amended(verdict, unknowns=unmet(verdict.exercised, {"transactions"}))
    assert (required.result, required.not_exercised) == ("unknown", verdict.not_exercised)


def test_a_run_is_about_what_it_tried_or_saw() -> None:
    only = {
        "commits": ({"commits": {"fail": 1}}, "group-commits"),
        "groups": ({"groups": (SILENT_GROUP,)}, "group-commits"),
        "brokers": ({"brokers": (1,)}, "samples-of-every-broker"),
    }
    for change, name in only.values():
        assert not_exercised(replace(NOTHING, **change)) == (name,)
    assert not_exercised(replace(NOTHING, sampled=(1,))) == ()


def test_sentences_and_names_have_an_order() -> None:
    names = ["samples-of-every-broker", "transactions", "session-reads"]
    assert [each.partition("(")[2].partition(")")[0] for each in unmet(NOTHING, names)] == [
        "session-reads", "transactions", "samples-of-every-broker",
    ]  # fmt: skip
    (sentence,) = unmet(replace(ALL_DONE, brokers=(64, 33, 1, 2), sampled=(1,)), ["samples-of-every-broker"])
    assert sentence.endswith("partition: 2, 33, 64.")
    with pytest.raises(ValueError, match="no promise named acks, reads, sends;"):
        require_promises(["sends", "acks", "reads"])


def test_the_document_explains_each_promise() -> None:
    text = (Path(__file__).parents[2] / "docs" / "anomalies.md").read_text()
    section = text.partition("## What a run has to exercise\n")[2].partition("## ")[0]
    table = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", section, re.MULTILINE))
    assert table == {name: promise.exercised_by for name, promise in PROMISES.items()}


@dataclass(kw_only=True)
class Row:
    process: int = 3
    topic: str = "t"
    partition: int = 0
    n: int = 5
    top: int | None = 9
    last: int | None = 10**9
    final: bool = False
    grouped: bool = False


FINAL = Row(process=9, top=9, final=True)
LAST_HEAL = 2 * 10**9


def behind(
    *rows: Row, following: Collection[int] = (), acknowledged: Collection[tuple[str, int]] = ()
) -> dict[int, tuple[str, ...]]:
    found = readers(
        rows, following=following, acknowledged=acknowledged, excluded={7}, since=LAST_HEAL, began=0
    )
    return {reader.process: reader.behind for reader in found}


def test_a_reader_is_behind_if_it_stopped_before_the_last_heal_and_below_the_end() -> None:
    assert behind(FINAL, Row(top=8)) == {3: ("t-0",)}
    assert behind(FINAL, Row(top=8, last=LAST_HEAL)) == {3: ("t-0",)}
    assert behind(FINAL, Row(top=None, last=None)) == {3: ("t-0",)}
    assert behind(FINAL, Row(top=8, last=LAST_HEAL + 1)) == {3: ()}
    assert behind(FINAL, Row(top=9)) == {3: ()}
    assert behind(FINAL, Row(partition=1, top=8)) == {3: ()}, "the final read found nothing there"
    assert behind(Row(top=8)) == {3: ()}


def test_polls_of_several_kinds_count_together() -> None:
    """Polls of type ``info`` are counted apart from those of type ``ok``; a log may have several final reads."""
    assert behind(FINAL, Row(top=8), Row(top=9)) == {3: ()}
    assert behind(FINAL, Row(top=9), Row(top=8)) == {3: ()}
    assert behind(FINAL, replace(FINAL, top=3), Row(top=8), Row(top=7)) == {3: ("t-0",)}
    (reader,) = readers(
        [Row(last=5), Row(last=10**9), Row(last=None)],
        following=(),
        acknowledged=(),
        excluded=(),
        since=LAST_HEAL,
        began=10**8,
    )
    assert (reader.polls, reader.last) == (15, 0.9)


def test_a_reader_that_got_nothing_of_a_log_is_behind_if_it_polls_all_logs() -> None:
    """For example a reader of committed records, before whose first one lies an open transaction."""
    other = replace(FINAL, partition=1)
    acknowledged = [("t", 0), ("t", 1)]
    assert behind(FINAL, other, following={3}, acknowledged=acknowledged) == {3: ("t-0", "t-1")}
    assert behind(FINAL, other, Row(top=9), following={3}, acknowledged=acknowledged) == {3: ("t-1",)}
    assert behind(FINAL, other, Row(top=9), acknowledged=acknowledged) == {3: ()}, "it may want no other log"
    assert behind(FINAL, other, Row(top=9), following={3}) == {3: ()}, "what is there may be aborted"
    assert behind(Row(top=9), following={3}, acknowledged=acknowledged) == {3: ()}, "nothing is left there"
    assert behind(FINAL, following={7}, acknowledged=acknowledged) == {}, "a fault killed it"


S = 10**9


@pytest.mark.parametrize(
    ("last", "others", "is_behind"),
    [
        (2.1, 7.2, True),
        (2.1, 7.1, False),
        (2.1, 7.0, False),
        (20, 29, False),
        (20, 29.1, True),
        (21.9, 32, True),
        (22, 32, False),
        (25, 32, False),
    ],
)
def test_a_reader_that_stopped_long_before_another_one_is_behind(
    last: float, others: float, is_behind: bool
) -> None:
    """More than 5 s, and than a third of the time after the last heal, which was at 2 s."""
    stuck, other = Row(top=8, last=int(last * S)), Row(process=4, top=9, last=int(others * S))
    expected = {3: ("t-0",) if is_behind else (), 4: ()}
    assert behind(FINAL, stuck, other, following={3, 4}) == expected
    assert behind(FINAL, other, stuck, following={3, 4}) == expected


def test_only_readers_of_all_logs_that_got_further_are_compared() -> None:
    stuck, other = Row(top=8, last=3 * S), Row(process=4, top=9, last=30 * S)
    assert behind(FINAL, stuck, other, following={3, 4}) == {3: ("t-0",), 4: ()}
    assert behind(FINAL, stuck, replace(other, top=8), following={3, 4})[3] == (), (
        "it lacks nothing that others got"
    )
    assert behind(FINAL, replace(stuck, top=9), other, following={3, 4})[3] == (), "it is at the end"
    assert behind(FINAL, stuck, replace(other, partition=1), following={3, 4})[3] == ()
    assert behind(FINAL, stuck, replace(other, last=None), following={3, 4})[3] == ()
    assert behind(FINAL, stuck, other, following={3})[3] == (), "the other one may have had more time"
    assert behind(FINAL, stuck, other, following={4})[3] == (), "it may have been stopped"
    assert behind(FINAL, stuck, replace(other, process=7), following={3, 7})[3] == (), (
        "it replaces another one"
    )
    assert behind(FINAL, stuck, replace(other, grouped=True), following={3, 4})[3] == (), "a member"
    assert behind(FINAL, stuck, replace(stuck, last=28 * S), other, following={3, 4})[3] == (), (
        "its last polls"
    )


def test_all_polls_of_both_readers_are_compared() -> None:
    """Polls of type ``info`` are counted apart from those of type ``ok``."""
    stuck, other = Row(top=8, last=3 * S), Row(process=4, top=9, last=30 * S)
    stopped = {3: ("t-0",), 4: ()}
    earlier = replace(other, last=4 * S)
    for rows in ([stuck, other, earlier], [stuck, earlier, other]):
        assert behind(FINAL, *rows, following={3, 4}) == stopped
    for rows in ([stuck, replace(stuck, top=9)], [replace(stuck, top=9), stuck]):
        assert behind(FINAL, *rows, other, following={3, 4}) == {3: (), 4: ()}
    assert behind(FINAL, stuck, replace(stuck, last=None), other, following={3, 4}) == stopped
    assert behind(FINAL, replace(stuck, last=None), other, following={3, 4}) == stopped
    assert behind(FINAL, stuck, other, replace(other, last=None), following={3, 4}) == stopped
    elsewhere = [replace(each, partition=1, last=29 * S) for each in (stuck, FINAL)]
    assert behind(FINAL, stuck, *elsewhere, other, following={3, 4}) == stopped


def test_five_seconds_are_not_yet_long() -> None:
    stuck, other = Row(top=8, last=3 * S), Row(process=4, top=9, last=8 * S)
    assert behind(FINAL, stuck, other, following={3, 4})[3] == ()
    assert behind(FINAL, stuck, replace(other, last=8 * S + 1), following={3, 4})[3] == ("t-0",)


def test_logs_with_one_record_or_none() -> None:
    one = replace(FINAL, top=0)
    assert behind(one, Row(top=None)) == {3: ("t-0",)}
    assert behind(one, Row(top=0)) == {3: ()}
    assert behind(Row(top=0)) == {3: ()}
    assert behind(replace(FINAL, top=None), Row(top=0)) == {3: ()}


def test_readers_and_logs_are_in_order() -> None:
    logs = [9, 3, 7, 1, 8, 2, 6, 4, 5, 0]
    rows = [Row(process=process, partition=log, top=8) for process in (8, 4) for log in logs]
    found = behind(*(replace(FINAL, partition=log) for log in logs), *rows)
    assert list(found) == [4, 8]
    assert found[4] == found[8] == tuple(f"t-{log}" for log in sorted(logs))


def test_members_sessions_and_killed_processes_are_no_readers() -> None:
    assert behind(FINAL, Row(grouped=True), Row(process=7)) == {}


def test_a_history_of_another_program_requires_what_it_is_about() -> None:
    """Apart from promises that no workload requires of every run, and that its clients may well not exercise."""
    left_out = {"acks-during-faults", "polls-to-the-end", "compaction", "identical-replicas"} | {
        name for name in PROMISES if name.startswith("samples-of-")
    }
    assert of_default(PROMISES) == PROMISES.keys() - left_out
    assert of_default(["copies", "compaction"]) == {"copies"}
    page = Path(__file__).parents[2] / "docs" / "anomalies.md"
    section = (
        page.read_text().partition("### What a history of another program requires")[2].partition("##")[0]
    )
    assert {name for name in PROMISES if f"`{name}`" in section} == left_out


WITHOUT_CHECKS = {"acks-during-faults", "work-at-faults"}
"""One shows that a cluster stays available, for which a bound is needed. The other is about faults, not
about a check."""


def test_every_check_is_exercised_by_one_promise() -> None:
    named = [name for names in BY_PROMISE.values() for name in names]
    assert sorted(named) == sorted(ANOMALIES), "each anomaly of the catalogue, once"
    assert PROMISES.keys() - WITHOUT_CHECKS == {*EXERCISED_BY.values()}


def test_the_document_names_the_promise_of_each_anomaly() -> None:
    sections = (Path(__file__).parents[2] / "docs" / "anomalies.md").read_text().split('<a id="')[1:]
    for section in sections:
        name = section.partition('"')[0]
        if name in ANOMALIES:
            assert f"**Exercised.** By [`{EXERCISED_BY[name]}`](#what-a-run-has-to-exercise)" in section
