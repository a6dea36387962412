"""A fault of clients counts only if it met work: planted histories of applications, members and other clients."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from analyzers.verdict.promises import unmet
from analyzers.verdict.summary import one_line
from analyzers.verdict.verdict import Verdict
from tests.support.stories import pipelines
from tests.support.stories.pipelines import ONE
from workloads.history.schema import NEMESIS

pytestmark = pytest.mark.spark

S = 1_000_000_000


def begun(s: Any, process: int, at: float, *, instance: int | None = 0, role: str = "app") -> Any:
    about = {"role": role, "process": process, "event": "started"}
    s.harness("worker", about if instance is None else about | {"instance": instance}, at=(ns(at), ns(at)))
    return s


def ended(s: Any, process: int, at: float, *, role: str = "app", event: str = "killed") -> Any:
    return s.harness("worker", {"role": role, "process": process, "event": event}, at=(ns(at), ns(at)))


def ns(seconds: float) -> int:
    return round(seconds * S)


def struck(s: Any, at: float, *processes: int, f: str = "kill-client", target: str = "app:0") -> Any:
    """From `at` for 1 s."""
    event = f"e{at:g}"
    for stage, began in (("inject", at), ("heal", at + 1)):
        value = {
            "event": event, "stage": stage, "target": target, "nodes": [], "effective": True,
            **({"processes": list(processes)} if processes else {}),
        }  # fmt: skip
        s.operation(
            f, process=NEMESIS, type="info", at=(ns(began), ns(began) + 10), value=json.dumps(value), topic=None,
            partition=None,
        )  # fmt: skip
    return s


def fed(s: Any, *times: float, partition: int = 0) -> Any:
    """Inputs at the offsets 0, 1, ..., acknowledged at these times."""
    for offset, time in enumerate(times):
        value = ONE + 1000 * partition + offset
        s.send(value, offset, at=(ns(time) - 1000, ns(time)), partition=partition)
    return s


def seen(
    s: Any,
    time: float,
    owner: str | None,
    position: int | None = None,
    *,
    member: str | None = None,
    partition: int = 0,
) -> Any:
    """A sample of the application's group."""
    value = {"group": "a", "owner": owner, "member": owner and (member or f"m-{owner}"), "position": position}
    s.observations.append(
        {
            "process": 8,
            "time": ns(time),
            "asked": ns(time) - 1000,
            "kind": "group",
            "topic": "t",
            "partition": partition,
            "node": 1,
            "value": json.dumps(value),
        }
    )
    return s


def application(s: Any) -> Any:
    """One instance, and ten inputs of the first second."""
    return fed(
        begun(begun(s, 1, 0, instance=None, role="producer"), 2, 0), *(0.1 * each for each in range(1, 11))
    )


def killed_at_work(s: Any) -> Any:
    """It owns the partition, and has committed 4 of 10 inputs."""
    return struck(seen(seen(application(s), 0.5, "app:0"), 1.2, "app:0", 4), 2, 2)


def owned_and_nothing_in_flight(s: Any) -> Any:
    return struck(seen(seen(application(s), 0.5, "app:0"), 1.2, "app:0", 10), 2, 2)


def fed_after_the_fault_began(s: Any) -> Any:
    """The last input is acknowledged 1 ns after it."""
    fed(begun(s, 2, 0), 0.5, 2 + 1e-9)
    return struck(seen(s, 1, "app:0", 1), 2, 2)


def fed_as_the_fault_began(s: Any) -> Any:
    fed(begun(s, 2, 0), 0.5, 2)
    return struck(seen(s, 1, "app:0", 1), 2, 2)


def in_flight_and_not_owned(s: Any) -> Any:
    return struck(seen(application(s), 0.5, "app:1", 4), 2, 2)


def owned_shortly_after(s: Any) -> Any:
    """1 ns too late."""
    return struck(seen(application(s), 2 + 1e-9, "app:0"), 2, 2)


def owned_as_the_fault_began(s: Any) -> Any:
    return struck(seen(application(s), 2, "app:0"), 2, 2)


def owned_until_the_fault_began(s: Any) -> Any:
    """Another instance has it from then on."""
    return struck(seen(seen(application(s), 0.5, "app:0"), 2, "app:1", 4), 2, 2)


def rebalancing_since_a_moment(s: Any) -> Any:
    """It learns with its next heartbeat that nobody owns the partition."""
    return struck(seen(seen(application(s), 0.5, "app:0"), 1 + 1e-9, None, 4), 2, 2)


def rebalancing_for_a_second(s: Any) -> Any:
    return struck(seen(seen(application(s), 0.5, "app:0"), 1, None, 4), 2, 2)


def given_to_another_after_a_rebalance(s: Any) -> Any:
    return struck(seen(seen(seen(application(s), 0.5, "app:0"), 1.5, None, 4), 1.8, "app:1", 4), 2, 2)


def killed_again_while_the_group_waits(s: Any) -> Any:
    """The dead member keeps the partition until 20 s, while process 3 has taken the place of process 2."""
    seen(seen(application(s), 0.5, "app:0", member="old"), 1.2, "app:0", 4, member="old")
    ended(struck(s, 2, 2), 2, 2), begun(s, 3, 3), struck(s, 5, 3), ended(s, 3, 5), begun(s, 4, 6)
    seen(s, 20, None, 4), seen(s, 21, "app:0", 4, member="new")
    return struck(s, 22, 4)


def killed_again_before_anything_was_owned(s: Any) -> Any:
    return seen(struck(application(s), 2, 2), 20, "app:0")


def written_by_the_coordinator(s: Any, time: float, **value: Any) -> Any:
    """A row of the log of the application's group."""
    seen(s, time, None)
    s.observations[-1] |= {"kind": "group_log", "value": json.dumps({"group": "a", **value})}
    return s


def committed_between_two_samples(s: Any) -> Any:
    """The log has the position 9, which no sample saw before the fault, and the 10 of just after it."""
    seen(seen(application(s), 0.5, "app:0"), 1.9, "app:0", 4), seen(s, 2.1, "app:0", 10)
    written_by_the_coordinator(s, 1.8, position=4), written_by_the_coordinator(s, 1.99, position=9)
    return struck(written_by_the_coordinator(s, 2 + 1e-9, position=10), 2, 2)


def given_out_between_two_samples(s: Any) -> Any:
    seen(seen(application(s), 1.9, None), 2.1, "app:0")
    about = {"owner": "app:0", "member": "m-app:0", "generation": 1, "session_timeout": 6000}
    return struck(written_by_the_coordinator(s, 1.99, **about), 2, 2)


def killed_again_with_a_long_session(s: Any) -> Any:
    killed_again_while_the_group_waits(s)
    about = {"owner": "app:0", "member": "old", "generation": 1, "session_timeout": 45000}
    return written_by_the_coordinator(s, 0.4, **about)


def never_an_owner(s: Any) -> Any:
    return seen(struck(application(s), 2, 2), 20, "app:1")


def one_of_two_at_work(s: Any) -> Any:
    begun(seen(application(s), 0.5, "app:0", 4), 3, 0, instance=1)
    return struck(s, 2, 2, 3, target="app")


def two_partitions(s: Any) -> Any:
    """Of the other one, nothing was committed."""
    fed(application(s), 0.1, 0.2, partition=1)
    seen(s, 0.5, "app:0", 7), seen(s, 0.5, "app:0", None, partition=1)
    return struck(s, 2, 2)


def committed_before_its_output(s: Any) -> Any:
    """The outputs of the last two inputs come after the fault, and that of one before never."""
    seen(application(s), 0.5, "app:0", 10)
    for offset in range(7):
        pipelines.output(s, offset, offset, written=ns(1.5))
    pipelines.output(s, 8, 8, written=ns(2)), pipelines.output(s, 9, 9, written=ns(2) + 1)
    pipelines.output(s, 10, 7, written=ns(2) + 1)
    return struck(s, 2, 2)


def aimed_at_its_moment(s: Any) -> Any:
    """Nothing that the group or the sink show says so, but it was seen while the instance stood still."""
    owned_and_nothing_in_flight(s)
    for row in s.operations[-2:]:
        value = json.loads(row["value"])
        row["value"] = json.dumps(
            {**value, "evidence": {"met": {"moment": "revocation", "instance": "app:0"}}}
        )
    return s


def unknown_group(s: Any) -> Any:
    """Without samples, the outputs say that three inputs have none yet."""
    application(s)
    for offset in range(8):
        pipelines.output(s, offset, offset, written=ns(1.5) if offset < 7 else ns(2.5))
    return struck(pipelines.application(s), 2, 2)


def unknown_group_and_all_answered(s: Any) -> Any:
    application(s)
    for offset in range(10):
        pipelines.output(s, offset, offset, written=ns(1.5))
    return struck(pipelines.application(s), 2, 2)


APPLICATIONS: Mapping[Callable[[Any], Any], list[tuple[bool | None, int, str]]] = {
    killed_at_work: [(True, 6, "")],
    owned_and_nothing_in_flight: [
        (False, 0, "app:0 had answered and committed every input of its partitions at 2.0 s")
    ],
    fed_after_the_fault_began: [
        (False, 0, "app:0 had answered and committed every input of its partitions at 2.0 s")
    ],
    fed_as_the_fault_began: [(True, 1, "")],
    in_flight_and_not_owned: [(False, 0, "app:0 owned no partition at all")],
    owned_shortly_after: [
        (False, 0, "app:0 owned no partition before 2.0 s; begin with the faults after 2 s")
    ],
    owned_as_the_fault_began: [(True, 10, "")],
    owned_until_the_fault_began: [(False, 0, "app:0 owned no partition from 2.0 s on")],
    rebalancing_since_a_moment: [(True, 6, "")],
    rebalancing_for_a_second: [(False, 0, "app:0 owned no partition from 1.0 s on")],
    given_to_another_after_a_rebalance: [(False, 0, "app:0 owned no partition from 1.5 s on")],
    killed_again_while_the_group_waits: [
        (True, 6, ""),
        (False, 0, "app:0 owned no partition from 2.0 to 21.0 s; gap=25 in the schedule"),
        (True, 6, ""),
    ],
    killed_again_before_anything_was_owned: [
        (False, 0, "app:0 owned no partition before 20.0 s; begin with the faults after 20 s")
    ],
    committed_between_two_samples: [(True, 1, "")],
    given_out_between_two_samples: [(True, 10, "")],
    killed_again_with_a_long_session: [
        (True, 6, ""),
        (
            False,
            0,
            "app:0 owned no partition from 2.0 to 21.0 s: session.timeout.ms=45000; set 6000 in the application, or "
            "gap=25 in the schedule",
        ),
        (True, 6, ""),
    ],
    never_an_owner: [(False, 0, "app:0 owned no partition at all")],
    one_of_two_at_work: [(True, 6, ""), (False, 0, "app:1 owned no partition at all")],
    two_partitions: [(True, 5, "")],
    committed_before_its_output: [(True, 2, "")],
    aimed_at_its_moment: [(True, 0, "")],
    unknown_group: [(True, 3, "")],
    unknown_group_and_all_answered: [(None, 0, "")],
}


def work(verdict: Verdict) -> list[tuple[bool | None, int, str]]:
    return [(one.met, one.in_flight, one.reason) for fault in verdict.exercised.faults for one in fault.work]


def test_what_an_instance_had_to_do(judged: Any, story: Any) -> None:
    verdicts = judged({planted.__name__: planted(story()) for planted in APPLICATIONS})
    assert {name: work(each) for name, each in verdicts.items()} == {
        planted.__name__: expected for planted, expected in APPLICATIONS.items()
    }


def test_a_run_whose_fault_met_no_work_did_not_exercise_it(judged: Any, story: Any) -> None:
    verdicts = judged({"met": killed_at_work(story()), "not": killed_again_while_the_group_waits(story())})
    (said,) = unmet(verdicts["not"].exercised, ["work-at-faults"])
    assert said == (
        "Not exercised, but required (work-at-faults): 1 fault met no work: kill app:0 (e5): app:0 owned no "
        "partition from 2.0 to 21.0 s; gap=25 in the schedule."
    )
    assert "work-at-faults" in verdicts["not"].not_exercised
    assert "work-at-faults" not in verdicts["met"].not_exercised
    assert "kill ✓ 6 in flight" in one_line(verdicts["met"])
    assert "kill ✓ 6 in flight  kill ✗ met no work  kill ✓ 6 in flight" in one_line(verdicts["not"])
    assert Verdict.from_json(verdicts["not"].to_json()) == verdicts["not"]


def client(s: Any, role: str) -> Any:
    """Process 2, and a producer whose ten records were acknowledged in the first second."""
    begun(s, 1, 0, instance=None, role="producer"), begun(s, 2, 0, instance=None, role=role)
    return fed(s, *(0.1 * each for each in range(1, 11)))


def of_member(s: Any, mark: str, at: float, *, partition: int | None = 0, **more: Any) -> Any:
    return s.operation(
        "member", process=2, at=(ns(at), ns(at)), group="g-r", generation=1, partition=partition,
        topic=None if partition is None else "t", value=json.dumps({"event": mark, "member": "m"}), **more,
    )  # fmt: skip


def committing(s: Any, position: int, at: float, *, kind: str = "ok") -> Any:
    return s.operation(
        "commit",
        process=2,
        at=(ns(at), ns(at)),
        type=kind,
        group="g-r",
        generation=1,
        end_offset=position,
        value="{}",
    )


def member_with_uncommitted_records(s: Any) -> Any:
    """A commit that failed, and one after the fault, do not count."""
    of_member(client(s, "member"), "assigned", 0.2, start_offset=0), committing(s, 7, 1.5)
    committing(s, 9, 1.6, kind="fail"), committing(s, 10, 30.1)
    return struck(s, 30, 2, target="member")


def member_that_has_committed_nothing(s: Any) -> Any:
    """It began with the third record."""
    return struck(of_member(client(s, "member"), "assigned", 0.2, start_offset=2), 30, 2, target="member")


def member_that_has_committed_all(s: Any) -> Any:
    of_member(client(s, "member"), "assigned", 0.2, start_offset=0), committing(s, 10, 1.5)
    return struck(s, 30, 2, target="member")


def member_that_has_committed_all_a_moment_ago(s: Any) -> Any:
    of_member(client(s, "member"), "assigned", 0.2, start_offset=0), committing(s, 10, 1.5)
    return struck(s, 6.5, 2, target="member")


def member_that_lost_its_partition(s: Any) -> Any:
    of_member(client(s, "member"), "assigned", 0.2, start_offset=0), committing(s, 7, 1.5)
    return struck(of_member(s, "lost", 3), 5, 2, target="member")


def member_that_left(s: Any) -> Any:
    of_member(client(s, "member"), "assigned", 0.2, start_offset=0), committing(s, 7, 1.5)
    return struck(of_member(s, "left", 3, partition=None), 5, 2, target="member")


def member_that_lost_its_partition_a_moment_ago(s: Any) -> Any:
    of_member(client(s, "member"), "assigned", 0.2, start_offset=0), committing(s, 10, 4.1)
    return struck(of_member(s, "revoked", 4.2), 5, 2, target="member")


def members_of_a_group_that_is_rebalanced(s: Any) -> Any:
    """The producer is no member."""
    of_member(client(s, "member"), "assigned", 0.2, start_offset=0), committing(s, 7, 1.5)
    return struck(s, 30, f="rebalance", target="group:g")


def members_of_another_group(s: Any) -> Any:
    of_member(client(s, "member"), "assigned", 0.2, start_offset=0)
    return struck(s, 30, f="rebalance", target="group:h")


def producer_with_sends_under_way(s: Any) -> Any:
    """One acknowledgement comes later, one never, and one as the fault begins."""
    client(s, "producer")
    for sequence, until in enumerate((30 + 1e-9, None, 30)):
        at = (ns(29), None if until is None else ns(until))
        s.send(2 * ONE + sequence, 20 + sequence, at=at, type="ok" if until else "info")
    return struck(s, 30, 2, target="producer")


def producer_that_sends(s: Any) -> Any:
    return struck(client(s, "producer").send(2 * ONE, 20, at=(ns(24), ns(25))), 30, 2, target="producer")


def producer_that_has_not_sent_for_long(s: Any) -> Any:
    return struck(client(s, "producer").send(2 * ONE, 20, at=(ns(24), ns(25) - 1)), 30, 2, target="producer")


def reader_that_has_not_begun(s: Any) -> Any:
    return struck(
        client(s, "reader").poll(ONE, 0, process=2, at=(ns(30) + 1, ns(30) + 2)), 30, 2, target="reader"
    )


def reader_in_a_poll(s: Any) -> Any:
    return struck(client(s, "reader").poll(ONE, 0, process=2, at=(ns(2), ns(30) + 2)), 30, 2, target="reader")


def share_consumer(s: Any, *, answered: float | None, kind: str = "ok", given: float = 20) -> Any:
    """It got one record, and acknowledged it."""
    client(s, "share-consumer")
    s.operation(
        "delivery",
        process=2,
        op=77,
        at=(ns(given), ns(given)),
        group="q",
        start_offset=0,
        value='{"value": 1}',
    )
    if answered is not None:
        s.operation(
            "acknowledgement", process=2, at=(ns(given), ns(answered)), type=kind, group="q", start_offset=0,
            value='{"delivery": 77, "kind": "accept"}',
        )  # fmt: skip
    return struck(s, 30, 2, target="share-consumer")


def share_consumer_with_a_record(s: Any) -> Any:
    return share_consumer(s, answered=None)


def share_consumer_that_acknowledged_late(s: Any) -> Any:
    return share_consumer(s, answered=30 + 1e-9)


def share_consumer_that_acknowledged(s: Any) -> Any:
    return share_consumer(s, answered=21)


def share_consumer_whose_lock_ended(s: Any) -> Any:
    return share_consumer(s, answered=None, given=0)


def broker_cut_from_all_clients(s: Any) -> Any:
    """One of the two was at work."""
    producer_that_sends(s)
    s.operations = [each for each in s.operations if each["process"] != NEMESIS]
    return struck(s, 30, f="cut-clients", target="1")


CLIENTS: Mapping[Callable[[Any], Any], list[tuple[bool | None, int, str]]] = {
    member_with_uncommitted_records: [(True, 3, "")],
    member_that_has_committed_nothing: [(True, 8, "")],
    member_that_has_committed_all: [
        (
            False, 0,
            "member 0 had committed every acknowledged record of its partitions at 30.0 s, and had done nothing for "
            "28.5 s",
        )
    ],
    member_that_has_committed_all_a_moment_ago: [(True, 0, "")],
    member_that_lost_its_partition: [
        (False, 0, "member 0 owned no partition at 5.0 s, and had done nothing for 3.5 s")
    ],
    member_that_left: [(False, 0, "member 0 owned no partition at 5.0 s, and had done nothing for 3.5 s")],
    member_that_lost_its_partition_a_moment_ago: [(True, 0, "")],
    members_of_a_group_that_is_rebalanced: [(True, 3, "")],
    members_of_another_group: [],
    producer_with_sends_under_way: [(True, 2, "")],
    producer_that_sends: [(True, 0, "")],
    producer_that_has_not_sent_for_long: [
        (False, 0, "producer 1 had no operation under way at 30.0 s, and had done nothing for 5.0 s")
    ],
    reader_that_has_not_begun: [
        (False, 0, "reader 0 had no operation under way at 30.0 s, and had done nothing yet")
    ],
    reader_in_a_poll: [(True, 0, "")],
    share_consumer_with_a_record: [(True, 1, "")],
    share_consumer_that_acknowledged_late: [(True, 1, "")],
    share_consumer_that_acknowledged: [
        (False, 0, "share-consumer 0 had no operation under way at 30.0 s, and had done nothing for 9.0 s")
    ],
    share_consumer_whose_lock_ended: [
        (False, 0, "share-consumer 0 had no operation under way at 30.0 s, and had done nothing for 30.0 s")
    ],
    broker_cut_from_all_clients: [
        (False, 0, "producer 0 had no operation under way at 30.0 s, and had done nothing for 29.0 s"),
        (True, 0, ""),
    ],
}  # fmt: skip


def test_what_other_clients_had_to_do(judged: Any, story: Any) -> None:
    verdicts = judged({planted.__name__: planted(story()) for planted in CLIENTS})
    assert {name: work(each) for name, each in verdicts.items()} == {
        planted.__name__: expected for planted, expected in CLIENTS.items()
    }
