"""What a run exercised, what makes it unknown, and when all replicas were in sync again after a fault. No JVM."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import Row

from analyzers.history.fault_events import FaultEvent
from analyzers.history.run_progress import RunProgress
from analyzers.judge.around_faults import AroundFault, Replication, gaps_of
from analyzers.judge.coverage import exercised, unknowns
from analyzers.judge.snapshots import Snapshots
from analyzers.judge.tally import Tally
from analyzers.judge.work_at_faults import ClientAtFault
from analyzers.verdict.exercised import Exercised, FaultExercised, GroupExercised
from tests.support.cause_evidence import S, fault

KILL = fault("kill", 2, 4, nodes=(1,))
WHOLE = Replication(gaps=(), until=100 * S)


def of_fault(event: FaultEvent, **counts: Any) -> FaultExercised:
    (found,) = exercised(Tally(began=0, **counts), [event]).faults
    return found


def test_a_fault_with_the_acknowledgements_around_it() -> None:
    frozen = fault("pause-client", 2, 4, processes=(3,))
    around = AroundFault(
        before=5, during=6, after=7, copies=8, acknowledgements=11, reads=9, transactions=10, groups=frozenset({"b"})
    )  # fmt: skip
    counts = {
        "around": {"pause-client-0": around},
        "positions": {name: Counter({("t", 0): 1}) for name in "hgfedcba"}, "subscribed": {("i", "t")},
    }  # fmt: skip
    assert of_fault(frozen, **counts) == FaultExercised(
        event="pause-client-0", fault="pause-client", target="leader", processes=(3,), effective=True, healed=True,
        began=2.0, ended=4.0, acks_before=5, acks_during=6, acks_after=7, copies_after=8,
        acknowledgements_after=11,
        reads_after=9, transactions_after=10, idle_groups=tuple("acdefghi"),
    )  # fmt: skip
    assert of_fault(KILL) == FaultExercised(
        event="kill-0", fault="kill", target="leader", nodes=(1,), effective=True, healed=True, began=2.0, ended=4.0
    )  # fmt: skip


def test_what_clients_had_to_do_has_names_and_times() -> None:
    killed = replace(fault("kill-client", 4, 5, processes=(3,)), clients=("app:0",))
    idle = ClientAtFault(process=3, at=4 * S, owned=0, gone=2 * S, back=7 * S, is_instance=True)
    progress = RunProgress(roles={3: "app"}, instances={3: 0})
    found = exercised(
        Tally(began=S, progress=progress, at_faults={"kill-client-0": [idle]}), [killed]
    ).faults[0]
    assert (found.clients, found.name) == (("app:0",), "kill leader")
    reason = "app:0 owned no partition from 1.0 to 6.0 s"
    (work,) = found.work
    assert (work.client, work.met, work.reason.partition(";")[0]) == ("app:0", False, reason)
    assert killed.inject is not None
    aimed = replace(killed, inject=replace(killed.inject, aimed_at="app:0"))
    unrecorded = replace(killed, event="lost", inject=None, heal=None)
    tally = Tally(began=S, progress=progress, at_faults={"kill-client-0": [idle]})
    (work,) = exercised(tally, [unrecorded, aimed]).faults[1].work
    assert (work.met, work.reason) == (True, "")


def test_a_client_that_faults_of_brokers_held_up_counts_as_at_work() -> None:
    """It did its last operation 5 s before the first of two faults that follow one another, or 1 ns earlier."""
    struck = fault("kill-client", 40, 41, processes=(3,))
    unhealed = replace(fault("isolate", 33, 33, nodes=(2,)), heal=None)
    of_brokers = [fault("kill", 20, 28, nodes=(1,)), unhealed, struck]
    progress = RunProgress(roles={3: "reader"})
    for last, events, met in (
        (15 * S, of_brokers, True),
        (15 * S - 1, of_brokers, False),
        (34 * S, [of_brokers[0], struck], False),
        (35 * S, [struck], True),
        (
            35 * S - 1,
            [replace(struck, event="other", inject=fault("kill", 30, 45, processes=(4,)).inject), struck],
            False,
        ),
    ):
        at = {struck.event: [ClientAtFault(process=3, at=40 * S, last=last)]}
        unrecorded = replace(unhealed, event="lost", inject=None)
        found = exercised(Tally(began=0, progress=progress, at_faults=at), [unrecorded, *events]).faults[-1]
        assert [each.met for each in found.work] == [met], (last, met)


def test_a_stage_counts_if_it_was_recorded_and_verified() -> None:
    assert KILL.inject is not None
    failed = replace(KILL.inject, effective=False)
    for inject, heal, expected in (
        (None, KILL.heal, (False, True)),
        (KILL.inject, None, (True, False)),
        (failed, KILL.heal, (False, True)),
        (failed, replace(KILL.heal, had_effect=True), (True, True)),
        (failed, None, (False, False)),
        (KILL.inject, failed, (True, False)),
    ):
        found = of_fault(replace(KILL, inject=inject, heal=heal))
        assert (found.effective, found.healed) == expected


def test_a_partition_is_silent_that_answered_no_send_since_the_fault() -> None:
    logs = [("u", 1), ("u", 0), ("t", 10), ("t", 9), ("t", 0)]
    last = {("u", 1): 4 * S, ("u", 0): 3 * S, ("t", 9): 5 * S, ("t", 0): 3 * S}
    tried = dict.fromkeys(logs, 6 * S) | {("t", 0): 4 * S - 1, ("u", 0): 4 * S}
    assert of_fault(KILL, tried=tried, answered=last).silent == ("t-10", "u-0", "u-1")
    assert of_fault(replace(KILL, heal=None), tried=tried, answered=last).silent == ()


def test_partitions_of_a_queue_whose_end_is_unknown() -> None:
    acknowledged = dict.fromkeys([("q", 2), ("q", 1), ("q", 0), ("other", 0)], 1)
    found = exercised(Tally(acknowledged=acknowledged, queued={("q", 0)}), [])
    assert found.unqueued == ("q-1", "q-2")
    assert exercised(Tally(acknowledged=acknowledged), []).unqueued == ()


def test_replicas_are_whole_again_after_the_heal() -> None:
    late = Replication(gaps=((3 * S, 6 * S),), until=100 * S)
    assert of_fault(KILL, replication=WHOLE).whole == 4.0
    assert of_fault(KILL, replication=late).whole == 6.0
    assert of_fault(KILL).whole is None
    assert of_fault(replace(KILL, heal=None), replication=WHOLE).whole is None


def test_every_kind_of_operation_is_counted() -> None:
    names = (
        "send", "poll", "txn", "commit", "final-read", "read", "rewind", "inspect", "search", "output", "pipeline",
        "delivery", "acknowledgement", "queue", "aggregate", "comparison",
    )  # fmt: skip
    kinds = {name: Counter(ok=number, info=1) for number, name in enumerate(names, 1)}
    run = Tally(
        types=kinds,
        committed=11,
        copies=Counter(ok=12),
        transfers=Counter(ok=13),
        snapshots=Snapshots(taken=14, whole=15, of_transfers=16),
        leader_changes=17,
        isr_changes=18,
        smallest_isr=19,
        brokers={64, 1, 33},
        sampled={65, 2, 34},
        leader_samples=20,
        written={("t", 2), ("t", 1), ("t", 0)},
        measured={("t", 0)},
        controller_samples=21,
        group_samples=22,
        transaction_samples=23,
        eligible_samples=24,
        progress=RunProgress(phases=["steady"], failed=[("load", "no disk")]),
    )
    assert exercised(run, []) == Exercised(
        sends={"ok": 1, "info": 1},
        polls=3,
        transactions={"ok": 3, "info": 1},
        commits={"ok": 4, "info": 1},
        final_reads={"ok": 5, "info": 1},
        session_reads={"ok": 6, "info": 1},
        rereads={"ok": 7, "info": 1},
        inspections={"ok": 8, "info": 1},
        searches={"ok": 9, "info": 1},
        outputs=27,  # those of single inputs, and aggregates
        pipelines={"ok": 11, "info": 1},
        deliveries=13,
        acknowledgements=13,
        queues={"ok": 14, "info": 1},
        comparisons={"ok": 16, "info": 1},
        committed=11,
        copies={"ok": 12},
        transfers={"ok": 13},
        snapshots=14,
        whole_snapshots=15,
        snapshots_of_transfers=16,
        leader_changes=17,
        isr_changes=18,
        smallest_isr=19,
        brokers=(1, 33, 64),
        sampled=(2, 34, 65),
        leader_samples=20,
        unmeasured=("t-1", "t-2"),
        controller_samples=21,
        group_samples=22,
        transaction_samples=23,
        eligible_samples=24,
        phase="steady",
        failed_steps=("load",),
    )


def test_compacted_records_are_counted() -> None:
    created = SimpleNamespace(
        f="topic", topic="t", value='{"event": "created", "config": {"cleanup.policy": "compact"}}'
    )
    log = ("t", 0)
    run = Tally(acknowledged=Counter({log: 5}), finished={log}, polled=[polled(9, 5, 3, final=True)])
    run.harness.append(created)  # type: ignore[arg-type]
    assert exercised(run, []).compacted == 2
    assert exercised(Tally(), []).compacted is None


def polled(process: int, last: int, n: int, *, final: bool = False, partition: int = 0) -> Any:
    return SimpleNamespace(
        process=process, topic="t", partition=partition, n=n, top=n - 1, last=last * S, final=final, grouped=False
    )  # fmt: skip


def reading(*events: FaultEvent, last: int, **more: Any) -> dict[int, tuple[str, ...]]:
    """Reader 3 gets 2 of 5 records, the last one at that time; the load lasts from 0 to 6 s."""
    rows = [polled(3, last, 2), polled(9, 20, 5, final=True)]
    run = Tally(**{
        "began": 0, "first_send": 0, "last_send": 6 * S, "polled": rows, "acknowledged": Counter({("t", 0): 5}),
        **more,
    })  # fmt: skip
    return {each.process: each.behind for each in exercised(run, events).readers}


def test_a_reader_has_to_get_records_after_the_last_heal() -> None:
    later = fault("stop", 5, 8, nodes=(1,))
    assert KILL.heal is not None
    endless = replace(KILL, heal=replace(KILL.heal, completed=None))
    for events in ([KILL, later], [later, KILL], [endless, later]):
        assert reading(*events, last=8) == {3: ("t-0",)}
        assert reading(*events, last=9) == {3: ()}


def test_without_faults_it_has_to_get_records_in_the_second_half() -> None:
    assert reading(last=3) == {3: ("t-0",)}
    assert reading(last=4) == {3: ()}


def test_readers_are_those_that_only_read() -> None:
    assert reading(last=9, session_readers={3}) == {}
    assert reading(last=9, progress=RunProgress(killed={3})) == {}
    (reader,) = exercised(Tally(began=S, polled=[polled(3, 9, 2)]), []).readers
    assert reader.last == 8.0


def test_a_reader_that_follows_has_to_get_records_of_all_acknowledged_logs() -> None:
    other = [polled(3, 9, 2), polled(9, 20, 5, final=True), polled(9, 20, 5, final=True, partition=1)]
    both = Counter({("t", 0): 5, ("t", 1): 5})
    follows = RunProgress(following={3})
    assert reading(last=9, polled=other, acknowledged=both, progress=follows) == {3: ("t-1",)}
    assert reading(last=9, polled=other, acknowledged=both) == {3: ()}
    assert reading(last=9, polled=other, progress=follows) == {3: ()}


def test_groups_that_never_committed_a_position_are_silent() -> None:
    logs = [("t", 1), ("t", 0), ("t", 2), ("u", 0), ("v", 0)]
    run = Tally(
        acknowledged=Counter(dict.fromkeys(logs, 1)),
        subscribed={("g", "t"), ("g", "v"), ("a", "u")},
        positions={"g": Counter({("t", 2): 3, ("v", 0): 1}), "z": Counter({("t", 0): 2})},
    )
    assert exercised(run, []).groups == (
        GroupExercised(group="a", commits=0, silent=("u-0",)),
        GroupExercised(group="g", commits=4, silent=("t-0", "t-1")),
        GroupExercised(group="z", commits=2),
    )


# Reasons


def counted(sends: int = 0, polls: int = 0, *, failed: int = 0, **more: Any) -> Tally:
    types = {"send": {"ok": sends, "fail": failed}, "poll": {"ok": polls}}
    # Spark returns no row where there is nothing to count.
    return Tally(
        types={f: +Counter(of_type) for f, of_type in types.items() if any(of_type.values())}, **more
    )


def test_a_run_that_exercised_something_is_free_of_doubt() -> None:
    assert unknowns(counted(1, 1), [KILL]) == ()
    assert unknowns(counted(1), []) == ()


INTERRUPTED = "The run was interrupted in its phase steady: the history ends there."
NOTHING = "The history holds no records: nothing was sent and nothing was read."


def test_a_history_without_records_says_so_first() -> None:
    begun = RunProgress(phases=["steady"])
    assert unknowns(Tally(), [replace(KILL, heal=None)]) == (NOTHING,)
    assert unknowns(Tally(progress=begun), []) == (NOTHING, INTERRUPTED)
    (first, second) = unknowns(counted(0, 1, progress=begun), [])
    assert (first, second) == (
        INTERRUPTED,
        "No send was acknowledged (of 0): no promise was put to the test.",
    )


def test_a_run_without_an_acknowledgement_tests_nothing() -> None:
    assert unknowns(counted(0, failed=1200), []) == (
        "No send was acknowledged (of 1,200): no promise was put to the test.",
    )
    assert unknowns(counted(0, 1), []) == (
        "No send was acknowledged (of 0): no promise was put to the test.",
    )


def test_records_without_the_offset_before_them_cannot_be_ordered() -> None:
    (sentence,) = unknowns(counted(1, unlinked=1200), [])
    assert sentence.startswith("1,200 records lack the offset of the record before them")


def test_doubts_about_faults_count() -> None:
    (sentence,) = unknowns(counted(1), [KILL, replace(KILL, heal=None)])
    assert sentence.endswith("has no record of its healing: the cluster may not have recovered.")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, "there was no final read of it"),
        ({"attempted": {("t", 1)}}, "no final read of it completed"),
        ({"progress": RunProgress(unread={("t", 1): "no leader"})}, "its final read could not begin (no leader)"),
    ],
)  # fmt: skip
def test_a_partition_that_was_written_has_to_be_read_at_the_end(more: dict[str, Any], reason: str) -> None:
    run = counted(1, written={("t", 0), ("t", 1)}, finished={("t", 0), ("u", 0)}, **more)
    assert unknowns(run, []) == (
        f"Partition t-1 was written, but {reason}: its content at the end is unknown.",
    )


def test_unread_partitions_are_in_the_order_of_their_names() -> None:
    logs = {(topic, number) for topic in "hgfedcba" for number in (1, 0)}
    sentences = unknowns(counted(1, written=logs), [])
    assert [sentence.split()[1] for sentence in sentences] == [
        f"{topic}-{number}" for topic in "abcdefgh" for number in (0, 1)
    ]


def change(time: int, is_short: bool, epoch: int = 1) -> Row:
    return Row(time=time, is_short=is_short, leader_epoch=epoch)


@pytest.mark.parametrize(
    ("time", "whole"),
    [
        (5, 5),
        (10, 40),  # the second gap begins before the first one ends
        (25, 40),
        (40, 40),
        (50, None),
        (80, None),
    ],
)
def test_the_first_time_without_a_gap(time: int, whole: int | None) -> None:
    assert Replication(gaps=((50, None), (20, 40), (10, 30)), until=90).whole_since(time) == whole


def test_a_time_after_the_last_sample_of_a_partition_is_unknown() -> None:
    assert Replication(gaps=(), until=90).whole_since(90) == 90
    assert Replication(gaps=(), until=90).whole_since(91) is None


@pytest.mark.parametrize(
    ("changes", "gaps"),
    [
        ([change(0, False)], []),
        ([change(0, False), change(10, True), change(20, False)], [(10, 20)]),
        ([change(20, False), change(10, True)], [(10, 20)]),
        ([change(10, True)], [(10, None)]),
        # A leader that was replaced at 10, and does not know it, says until 30 that all is well.
        ([change(5, False), change(10, True, epoch=2), change(40, False, epoch=2)], [(10, 40)]),
        # The old leader's ISR shrinks after its successor was elected, which sees all replicas in sync before that.
        ([change(30, True), change(20, False, epoch=2)], [(30, 30)]),
    ],
)
def test_the_gaps_of_one_partition(changes: list[Row], gaps: list[tuple[int, int | None]]) -> None:
    assert [*gaps_of(changes)] == gaps
