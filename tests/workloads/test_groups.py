"""Groups: its topic and workers, the values that it refuses, when its members are present."""

from __future__ import annotations

import doctest
import json
import re
from collections import Counter
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.verdict.promises import PROMISES
from pytest_kafkacheck import Experiment, pause_client
from pytest_kafkacheck.errors import UsageError
from workloads.conformance import check_workload
from workloads.copying import Copy
from workloads.groups import Groups
from workloads.roles import member
from workloads.roles.member import Attendance


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"partitions": 0}, "Groups.partitions=0: expected a whole number, 1 to 1000"),
        ({"producers": 0}, "Groups.producers=0"),
        ({"groups": 0}, "Groups.groups=0: expected a whole number, 1 to 100"),
        ({"members": 1.5}, "Groups.members=1.5"),
        ({"rate": -1}, "Groups.rate=-1: expected records per second above 0, or None"),
        ({"assignor": "uniform"},
         "Groups.assignor='uniform': expected 'range', 'roundrobin', 'sticky' or 'cooperative-sticky'"),
        ({"assignor": None}, "Groups.assignor=None"),
        ({"protocol": "streams"}, "Groups.protocol='streams': expected 'classic' or 'consumer'"),
        ({"protocol": "consumer"},
         "Groups with library='kafka-python': protocol='consumer': kafka-python has the group protocol "
         "'classic' only; use library='confluent-kafka'"),
        ({"assignor": "sticky", "library": "confluent-kafka"},
         "Groups with library='confluent-kafka': assignor='sticky' with confluent-kafka: expected 'range'"),
        ({"static": 1}, "Groups.static=1: expected True or False"),
        ({"commit": "never"},
         "Groups.commit='never': expected 'after-poll', 'periodic', 'auto' or 'during-rebalance'"),
        ({"commit": "during-rebalance"},
         "Groups with library='kafka-python': a commit during a rebalance: kafka-python gives partitions up in"),
        ({"commit": "auto"}, "Groups with library='kafka-python': automatic commits: in a rebalance, kafka-python"),
        ({"session_timeout": 0.5}, "Groups.session_timeout=0.5: expected seconds, 1 to 1800"),
        ({"session_timeout": True}, "Groups.session_timeout=True"),
        ({"session_timeout": float("nan")}, "Groups.session_timeout=nan"),
        ({"auto_offset_reset": "none"}, "Groups.auto_offset_reset='none': expected 'earliest' or 'latest'"),
        ({"rejoin": 0}, "Groups.rejoin=0: expected seconds, 0.1 to 3600"),
        ({"topic_config": {"min.insync.replicas": 4}}, "Groups.topic_config['min.insync.replicas']=4"),
        ({"assignment": {0: [1]}}, "Groups.assignment={0: [1]}: expected partitions 0 to 5"),
        ({"library": "none"}, "Groups.library='none': expected one of"),
    ],
)  # fmt: skip
def test_values_that_are_not_allowed_are_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Groups(**values)


def test_the_names_of_groups_in_schedules_stand_for_those_of_the_run() -> None:
    groups = Groups(groups=2)
    assert groups.aliases("a1") == {"group-0": "group-0-a1", "group-1": "group-1-a1"}
    options = [each.options for each in groups.workers() if each.role.name == "member"]
    assert {f"{each['group']}-a1" for each in options} == set(groups.aliases("a1").values())


def test_a_schedule_names_the_members_of_one_group() -> None:
    workload = Groups(groups=2, members=3)
    assert dict(Experiment(workload=workload).topology.members) == {"group-0": 3, "group-1": 3}
    assert dict(Experiment(workload=Copy(copiers=2)).topology.members) == {"copiers": 2}
    Experiment(workload=workload, faults=[pause_client("member:group-1", at=1, lasting=1)])
    with pytest.raises(UsageError, match="no members of group-2; allowed: member:group-0, member:group-1"):
        Experiment(workload=workload, faults=[pause_client("member:group-2", at=1, lasting=1)])


def test_many_groups_of_one_and_one_group_of_many() -> None:
    for groups, members in ((3, 1), (1, 3), (2, 2)):
        workers = Groups(groups=groups, members=members, producers=2).workers()
        assert [each.process for each in workers] == list(range(groups * members + 3))
        per_group = Counter(each.options["group"] for each in workers if each.role.name == "member")
        assert per_group == {f"group-{number}": members for number in range(groups)}


def test_static_members_have_an_instance_each() -> None:
    def instances(workload: Groups) -> list[Any]:
        workers = workload.workers()
        return [each.options["member"]["instance"] for each in workers if each.role.name == "member"]

    assert instances(Groups(groups=2, members=2, static=True)) == [
        "group-0-0", "group-0-1", "group-1-0", "group-1-1",
    ]  # fmt: skip
    assert set(instances(Groups())) == {None}


def test_producers_stop_before_members() -> None:
    """What was written last can still be polled and committed."""
    assert Groups().stop_order == (("producer",), ("member",))
    assert Groups().has_groups


@pytest.mark.parametrize("values", [{}, {"auto_offset_reset": "latest"}, {"commit": "periodic"}])
def test_no_anomaly_is_allowed(values: dict[str, Any]) -> None:
    """A skip with auto_offset_reset="latest" is what an experiment with it is about."""
    assert Groups(**values).allowed == frozenset()
    assert "group-skip" in ANOMALIES
    assert Groups(**values).requires <= set(PROMISES)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {
            "partitions": 2,
            "assignment": {0: [1, 2, 3], 1: [2, 3, 1]},
            "topic_config": {"min.insync.replicas": 2},
        },
        {
            "groups": 3,
            "members": 1,
            "rejoin": 2.5,
            "static": True,
            "assignor": "cooperative-sticky",
            "rate": None,
        },
    ],
)
def test_it_conforms_and_survives_json(values: dict[str, Any]) -> None:
    groups = Groups(**values)
    check_workload(groups)
    assert Groups.from_json(json.loads(json.dumps(groups.to_json()))) == groups


def test_a_replay_can_use_the_same_nodes() -> None:
    layout = {0: (2, 1, 3)}
    assert Groups(partitions=1).with_layout(layout).topics("r")[0].assignment == layout


def test_smaller_workloads_name_what_was_left_out() -> None:
    smaller = dict(Groups(groups=2, members=3, rejoin=2).smaller())
    assert smaller["one producer and one member"] == Groups(groups=1, members=1, rejoin=2)
    assert smaller["1 groups"] == Groups(groups=1, members=3, rejoin=2)
    assert smaller["members that stay"] == Groups(groups=2, members=3)
    assert list(Groups(members=1).smaller()) == []


def test_the_example_of_attendance_holds() -> None:
    assert doctest.testmod(member).failed == 0


@pytest.mark.parametrize("members", [1, 2, 5])
def test_members_leave_in_turn(members: int) -> None:
    """Each of them is away once in a while, and at most one at a time."""
    shifts = [Attendance(number, members, 2.0) for number in range(members)]
    away = [
        [each.number for each in shifts if not each.is_present(at / 4)] for at in range(8 * (members + 1))
    ]
    assert max(map(len, away)) == 1
    assert {number for names in away for number in names} == set(range(members))
    assert all(Attendance(0, members, None).is_present(at) for at in range(100))
