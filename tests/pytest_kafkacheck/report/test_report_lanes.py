"""Each lane draws what a planted history says."""

from __future__ import annotations

from pytest_kafkacheck.report.cube import cube
from pytest_kafkacheck.report.lane import Chart, Span, Strip
from pytest_kafkacheck.report.lanes.clients import clients
from pytest_kafkacheck.report.lanes.controller import controller
from pytest_kafkacheck.report.lanes.faults import faults, phases
from pytest_kafkacheck.report.lanes.groups import groups
from pytest_kafkacheck.report.lanes.load import latencies, throughput
from pytest_kafkacheck.report.lanes.replicas import fewer, replicas
from pytest_kafkacheck.report.lanes.share_groups import share_groups
from pytest_kafkacheck.report.lanes.transactions import transactions
from tests.support.report_runs import BEGAN, SECOND, planted, sample, send, step
from workloads.history.schema import NEMESIS


def spans(row_spans: tuple[Span, ...]) -> list[tuple[int, int, str]]:
    return [(span.begin, span.end, span.look) for span in row_spans]


def fault(stage: str, at: float, *, effective: bool = True, **more: object) -> dict[str, object]:
    value = {
        "event": "kill-0",
        "stage": stage,
        "target": "leader",
        "nodes": [2],
        "effective": effective,
        **more,
    }
    row = {"f": "kill", "type": "info", "process": NEMESIS, "op": -1}
    return {**row, "invoked": at, "completed": at + 0.5, "value": value}


def ns(*times: float) -> list[int]:
    return [BEGAN + round(time * SECOND) for time in times]


FIRST = step("phase", 0, phase="steady")
LAST = step("phase", 10, phase="end")


def test_a_fault_shows_when_it_was_requested_and_surely_and_possibly_at_work() -> None:
    active = {"possibly": ns(2, 6.2), "surely": ns(2.4, 6)}
    rows = [FIRST, fault("inject", 2, planned=ns(1.5)[0]), fault("heal", 6, active=active), LAST]
    (lane,) = faults(planted(operations=rows))
    (row,) = lane.rows
    assert row.name == "kill-0 (broker 2)"
    assert spans(row.spans) == [(2000, 6200, "possibly"), (2400, 6000, "surely")]
    assert [(mark.time, mark.sign) for mark in row.marks] == [(1500, "◆"), (6000, "◇")]
    assert "surely from 2.4 s to 6.0 s" in row.spans[0].title


def test_a_fault_without_effect_looks_different_and_says_so() -> None:
    (lane,) = faults(planted(operations=[FIRST, fault("inject", 2, effective=False), fault("heal", 6), LAST]))
    assert spans(lane.rows[0].spans) == [(2000, 6500, "failed")]
    assert "did not take effect" in lane.rows[0].spans[0].title


def test_a_fault_that_was_never_healed_lasts_to_the_end() -> None:
    (lane,) = faults(planted(operations=[FIRST, fault("inject", 2), LAST]))
    assert spans(lane.rows[0].spans) == [(2000, 10001, "possibly")]


def test_phases_end_where_the_next_one_begins() -> None:
    rows = [step("topic", 0), step("phase", 1, phase="steady"), step("phase", 7, phase="recovery"), LAST]
    (lane,) = phases(planted(operations=rows))
    assert [(span.begin, span.end, span.text) for span in lane.rows[0].spans] == [
        (0, 1000, "start"), (1000, 7000, "steady"), (7000, 10000, "recovery"),
    ]  # fmt: skip


def test_two_leaders_at_once_are_both_dark() -> None:
    """Broker 1 is cut off at 2 s, and regards itself as leader until 6 s; broker 2 leads from 3 s on."""
    samples = [sample(1, at, leader=1) for at in (0, 1, 2, 3, 4, 5)]
    samples += [sample(1, at, leader=2, epoch=1, isr=(2,)) for at in (6, 7)]
    samples += [sample(2, at, leader=1) for at in (0, 1, 2)]
    samples += [sample(2, at, leader=2, epoch=1, isr=(2,)) for at in (3, 4, 5, 6, 7)]
    lane = replicas(planted(operations=[FIRST], observations=samples))[0]
    assert isinstance(lane, Strip)
    first, second = lane.rows
    assert (first.spans[0].text, second.spans[-1].text) == ("leads, epoch 0", "leads, epoch 1")
    dark = {
        row.name: [(span.begin, span.end) for span in row.spans if span.look == "leads"] for row in lane.rows
    }
    assert dark == {"broker 1": [(0, 6000)], "broker 2": [(3000, 7000)]}
    assert (
        "ISR {1, 2}" in first.spans[0].title
    )  # what it reports itself, which is not what the new leader reports
    assert first.spans[-1].look == "out"


def test_a_broker_that_does_not_answer_is_outlined_and_says_whether_it_is_in_sync() -> None:
    samples = [sample(1, at / 2, leader=1, isr=(1, 2) if at < 6 else (1,)) for at in range(20)]
    samples += [sample(2, at, leader=1) for at in (0, 0.5, 1, 9)]
    lane = replicas(planted(operations=[FIRST], observations=samples))[0]
    assert isinstance(lane, Strip)
    assert spans(lane.rows[1].spans) == [
        (0, 1000, "in-sync"),
        (1000, 3000, "silent"),
        (3000, 9000, "silent out"),
    ]


def test_a_broker_without_a_replica_has_no_row() -> None:
    samples = [sample(1, 0, leader=1), sample(1, 1, leader=1), sample(2, 0, leader=1), sample(2, 1, leader=1)]
    samples += [sample(3, at, leader=1) | {"log_end": None, "high_watermark": None} for at in (0, 1)]
    lane = replicas(planted(operations=[FIRST], observations=samples))[0]
    assert isinstance(lane, Strip)
    assert [row.name for row in lane.rows] == ["broker 1", "broker 2"]


def test_the_line_of_a_log_end_shows_a_truncation_and_stops_where_the_broker_did_not_answer() -> None:
    ends = {0: 0, 1: 90, 1.001: 100, 1.002: 40, 8: 50}
    samples = [sample(1, at, leader=1, end=end) for at, end in ends.items()]
    chart = replicas(planted(operations=[FIRST], observations=samples))[1]
    assert isinstance(chart, Chart)
    assert chart.series[0].points == [(0, 0), (1001, 100), (1002, 40), (1002, None), (8000, 50)]
    assert chart.top == 100


def test_the_controller_of_each_epoch_is_shown_once() -> None:
    rows = [
        {"process": 9, "time": at, "node": 1, "kind": "quorum", "leader": leader, "leader_epoch": epoch}
        for at, leader, epoch in ((0, 1, 4), (1, 1, 4), (2, 1, 4), (3, 3, 5), (4, 3, 5))
    ]
    (lane,) = controller(planted(operations=[FIRST], observations=rows))
    assert [(span.begin, span.end, span.text) for span in lane.rows[0].spans] == [
        (0, 3000, "controller 1, epoch 4"), (3000, 4000, "controller 3, epoch 5"),
    ]  # fmt: skip


def test_the_controller_is_shown_as_zookeeper_has_it_and_as_brokers_know_it() -> None:
    """Brokers report no epoch with it, and learn of it later."""
    kept = [(0, 1, 4), (1, -1, 4), (2, 2, 5), (3, 2, 5)]
    seen: list[tuple[str, int | None, int, int, int | None]] = [
        *(("controller", None, at, leader, epoch) for at, leader, epoch in kept),
        *(("controller_view", 1, at, leader, None) for at, leader in ((0, 1), (2, 1), (3, 2), (4, 2))),
    ]
    rows = [
        {"process": 9, "time": at, "node": node, "kind": kind, "leader": leader, "leader_epoch": epoch}
        for kind, node, at, leader, epoch in seen
    ]
    (lane,) = controller(planted(operations=[FIRST], observations=rows))
    assert {row.name: [(span.begin, span.end, span.text) for span in row.spans] for row in lane.rows} == {
        "node 1": [(0, 3000, "controller 1"), (3000, 4000, "controller 2")],
        "ZooKeeper": [
            (0, 1000, "controller 1, epoch 4"), (1000, 2000, "no controller"), (2000, 3000, "controller 2, epoch 5"),
        ],
    }  # fmt: skip


def member(
    event: str, at: float, process: int, partition: int | None, generation: int | None
) -> dict[str, object]:
    row = {
        "f": "member",
        "type": "ok",
        "process": process,
        "op": 1,
        "invoked": at,
        "completed": at,
        "group": "g",
    }
    topic = None if partition is None else "t"
    return {
        **row,
        "topic": topic,
        "partition": partition,
        "generation": generation,
        "value": {"event": event, "member": "m"},
    }


def test_a_group_shows_generations_and_what_each_member_owned() -> None:
    rows = [
        FIRST, member("assigned", 1, 4, 0, 1), member("assigned", 1, 4, 1, 1), member("revoked", 5, 4, 1, 1),
        member("assigned", 6, 5, 1, 2), member("fenced", 8, 5, None, None), LAST,
    ]  # fmt: skip
    (lane,) = groups(planted(operations=rows))
    generation, first, second = lane.rows
    assert [(span.begin, span.text) for span in generation.spans] == [(1000, "1"), (6000, "2")]
    assert [(span.begin, span.end, span.text) for span in first.spans] == [
        (1000, 5000, "0, 1"),
        (5000, 10001, "0"),
    ]
    assert [(span.begin, span.end, span.text) for span in second.spans] == [(6000, 8000, "1")]
    assert [(mark.time, mark.sign) for mark in second.marks] == [(8000, "!")]


def delivery(op: int, at: float, process: int, *, deliveries: int = 1) -> dict[str, object]:
    value = {"value": op, "deliveries": deliveries, "since": 0}
    row = {"f": "delivery", "type": "ok", "process": process, "op": op, "group": "g", "value": value}
    return {**row, "topic": "t", "partition": 0, "start_offset": op, "invoked": at - 0.01, "completed": at}


def acknowledgement(of: int, at: float, process: int, kind: str, type: str = "ok") -> list[dict[str, object]]:
    row = {"f": "acknowledgement", "process": process, "op": of + 1000, "group": "g", "invoked": at}
    value = {"delivery": of, "kind": kind}
    return [
        {**row, "type": "info", "completed": None, "value": value},
        {**row, "type": type, "completed": at, "value": value},
    ]


def test_a_share_group_shows_what_members_held_and_whose_locks_timed_out() -> None:
    rows = [
        FIRST,
        step("worker", 0, process=4, event="started", role="share-consumer"),
        step("worker", 0, process=5, event="started", role="share-consumer"),
        # Two polls in close succession are one span.
        delivery(1, 1, 4), delivery(2, 1, 4), delivery(3, 1.1, 4, deliveries=2),
        *acknowledgement(1, 1.1, 4, "accept"), *acknowledgement(2, 1.1, 4, "release"),
        *acknowledgement(3, 1.2, 4, "reject"),
        # Longer than the lock, and refused.
        delivery(4, 3, 4), *acknowledgement(4, 6, 4, "accept", "info"),
        # Never acknowledged: the member was killed.
        delivery(5, 7, 5), step("worker", 8, process=5, event="killed"),
        {"f": "queue", "type": "ok", "process": 6, "op": 1, "group": "g", "topic": "t", "partition": 0,
         "invoked": 9, "completed": 9, "end_offset": 6, "value": {"lock": 2 * SECOND, "delivery_limit": 5}},
        LAST,
    ]  # fmt: skip
    members, tally = share_groups(planted(operations=rows))
    assert isinstance(members, Strip)
    assert isinstance(tally, Chart)
    first, second = members.rows
    assert spans(first.spans) == [(1000, 1200, "owns"), (3000, 5000, "owns"), (5000, 6000, "out")]
    assert "3 records, 1 of them not for the first time" in first.spans[0].title
    assert [(mark.time, mark.sign) for mark in first.marks] == [(6000, "!")]
    assert spans(second.spans) == [(7000, 8000, "owns")]
    assert [mark.sign for mark in second.marks] == ["!", "†"]
    width = tally.series[0].points[1][0] / 1000
    totals = {
        each.name.split(",")[0]: round(sum(value or 0 for _, value in each.points) * width)
        for each in tally.series
    }
    assert totals == {"accepted": 1, "released": 1, "rejected": 1, "refused or not answered": 1}


def txn(at: float, took: float | None, kind: str, outcome: str) -> dict[str, object]:
    value = {"transactional_id": "x", "epoch": 0, "outcome": outcome}
    completed = None if took is None else at + took
    return {
        "f": "txn",
        "type": kind,
        "process": 3,
        "op": 1,
        "invoked": at,
        "completed": completed,
        "value": value,
    }


def test_transactions_show_how_they_ended() -> None:
    rows = [FIRST, txn(1, 1, "ok", "commit"), txn(3, 1, "ok", "abort"), txn(5, None, "info", "commit"), LAST]
    (lane,) = transactions(planted(operations=rows))
    assert isinstance(lane, Strip)
    assert spans(lane.rows[0].spans) == [
        (1000, 2000, "txn committed"), (3000, 4000, "txn aborted"), (5000, 10001, "txn open"),
    ]  # fmt: skip


def test_many_transactions_are_counted() -> None:
    rows = [FIRST, *(txn(at / 1000, 0.1, "ok", "commit") for at in range(2000)), LAST]
    (lane,) = transactions(planted(operations=rows))
    assert isinstance(lane, Chart)
    width = 50
    assert sum(value or 0 for _, value in lane.series[0].points) * width / 1000 == 2000


def test_throughput_counts_by_outcome_and_latency_by_acknowledgement() -> None:
    records = [send(at, at / 100) for at in range(100)]
    records += [send(200, 3, 2.0, type="fail"), send(201, 4, None)]
    run = planted(records=records, operations=[FIRST, LAST])
    sends, *_ = throughput(run, cube(run))
    width = run.axis.width / 1000
    totals = {each.look: sum(value or 0 for _, value in each.points) * width for each in sends.series}
    assert totals == {"ok": 100, "info": 1, "fail": 1}
    (chart,) = latencies(run)
    known = {each.name: [value for _, value in each.points if value is not None] for each in chart.series}
    assert {round(value) for value in known["median"]} == {10}
    assert known["worst not acknowledged"] == [2000]


def test_a_client_shows_when_it_worked_and_how_it_ended() -> None:
    rows = [
        FIRST,
        step("worker", 0, role="producer", process=0, event="started"),
        step("worker", 6, process=0, event="killed"),
        LAST,
    ]
    run = planted(records=[send(0, 1), send(1, 5)], operations=rows)
    (lane,) = clients(run, cube(run))
    (row,) = lane.rows
    assert row.name == "producer 0 (process 0)"
    assert [span.look for span in row.spans] == ["ran", "active", "active"]
    assert (row.spans[0].begin, row.spans[0].end) == (0, 6000)
    assert [(mark.time, mark.sign) for mark in row.marks] == [(6000, "†")]


def test_an_empty_history_has_no_lanes_of_what_it_lacks() -> None:
    run = planted()
    assert [
        *phases(run),
        *faults(run),
        *replicas(run),
        *controller(run),
        *groups(run),
        *share_groups(run),
        *transactions(run),
        *latencies(run),
    ] == []


def test_a_thinned_line_keeps_its_ends_its_gaps_and_where_it_goes_back() -> None:
    whole = [(at, float(at)) for at in range(100)]
    whole[50:50] = [(49, None)]
    whole[80] = (79, 3.0)
    thin = fewer(whole, 10)
    assert len(thin) < 25
    assert {thin[0], thin[-1], (49, 49.0), (49, None), (50, 50.0), (78, 78.0), (79, 3.0)} <= {*thin}


def test_a_run_with_many_partitions_folds_those_with_few_changes_and_stays_small() -> None:
    samples = [
        sample(node, at / 5, leader=1, end=at * 10) | {"partition": partition}
        for partition in range(20)
        for node in (1, 2)
        for at in range(200)
    ]
    samples += [sample(1, at, leader=2, epoch=1) | {"partition": 17} for at in (41, 42)]
    lanes = replicas(planted(operations=[FIRST], observations=samples))
    shown = [lane.title for lane in lanes if not lane.folded]
    assert len(shown) == 12
    assert "t-17: leader and ISR" in shown
    assert all(
        len(series.points) < 120
        for lane in lanes
        if lane.folded and isinstance(lane, Chart)
        for series in lane.series
    )


def test_a_line_of_latency_is_interrupted_where_nothing_was_acknowledged_for_a_second() -> None:
    run = planted(records=[send(at, at / 2) for at in (0, 1, 2, 8, 9)], operations=[FIRST, LAST])
    (chart,) = latencies(run)
    assert [value is None for _, value in chart.series[0].points] == [False, False, False, True, False, False]
