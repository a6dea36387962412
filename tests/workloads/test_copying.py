"""Copy: its topics and workers, the values that it refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.verdict.promises import PROMISES
from workloads.conformance import check_workload
from workloads.copying import Copy


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"partitions": 0}, "Copy.partitions=0: expected a whole number, 1 to 1000"),
        ({"copiers": 0}, "Copy.copiers=0: expected a whole number, 1 to 100"),
        ({"batch": 0}, "Copy.batch=0"),
        ({"rate": -1}, "Copy.rate=-1: expected records per second above 0, or None"),
        ({"guarantee": "twice"},
         "Copy.guarantee='twice': expected 'exactly-once', 'at-least-once' or 'at-most-once'"),
        ({"work": -1}, "Copy.work=-1: expected seconds, 0 to 2"),
        ({"timeout": 0}, "Copy.timeout=0: expected seconds, 1 to 900"),
        ({"assignor": "uniform"}, "Copy.assignor='uniform': expected 'range'"),
        ({"assignor": "sticky", "library": "confluent-kafka"}, "Copy with library='confluent-kafka': assignor"),
        ({"session_timeout": 0.5}, "Copy.session_timeout=0.5: expected seconds, 1 to 1800"),
        ({"auto_offset_reset": "none"}, "Copy.auto_offset_reset='none': expected 'earliest' or 'latest'"),
        ({"topic_config": {"min.insync.replicas": 4}}, "Copy.topic_config['min.insync.replicas']=4"),
        ({"assignment": {0: [1]}}, "Copy.assignment={0: [1]}: expected partitions 0 to 3"),
        ({"client": {"acks": 1}}, "Copy.client['acks']"),
        ({"library": "none"}, "Copy.library='none': expected one of"),
    ],
)  # fmt: skip
def test_values_that_are_not_allowed_are_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Copy(**values)


def test_schedules_name_the_group_and_the_transactional_ids() -> None:
    assert Copy().aliases("a1") == {
        "copiers": "copiers-a1",
        "copier-0": "copier-0-a1",
        "copier-1": "copier-1-a1",
    }
    assert Copy(guarantee="at-least-once").aliases("a1") == {"copiers": "copiers-a1"}
    assert [each.name for each in Copy().topics("a1")] == ["source-a1", "output-a1"]
    assert Copy().main_topic("a1") == "source-a1"


def test_writers_stop_before_those_that_read_what_they_wrote() -> None:
    copy = Copy(copiers=3)
    assert [each.role.name for each in copy.workers()] == ["producer", *["copier"] * 3, "auditor", "probe"]
    assert copy.stop_order == (("producer",), ("copier",), ("auditor",))
    assert {each.role.name for each in copy.workers() if each.role.observes} == {"auditor", "probe"}
    assert copy.requires <= PROMISES.keys()
    assert copy.allowed <= ANOMALIES.keys()
    assert copy.has_groups


def test_a_copier_may_work_on_all_that_one_poll_returned_before_it_polls_again() -> None:
    (member,) = {
        each.options["member"]["max_poll_interval"]
        for each in Copy(batch=1, work=0.5).workers()
        if each.role.name == "copier"
    }
    assert member == 10 + 500 * 0.5


@pytest.mark.parametrize("values", [{}, {"copiers": 1}, {"assignment": {0: [1, 2, 3]}, "partitions": 1}])
def test_it_comes_back_from_json_and_is_made_smaller(values: dict[str, Any]) -> None:
    copy = Copy(**values)
    check_workload(copy)
    smaller = dict(copy.smaller())
    assert all(each != copy for each in smaller.values())
    assert ("one copier" in smaller) == (copy.copiers > 1)
    for each in smaller.values():
        check_workload(each)
    layout = dict.fromkeys(range(copy.partitions), (3, 1, 2))
    assert copy.with_layout(layout).topics("a1")[1].assignment == layout
