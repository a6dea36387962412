"""The watch over an application's group: what the coordinator's answers become in the history."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.consumer import ConsumerProtocolAssignment, OffsetFetchRequest
from kafka.protocol.metadata import ApiVersionsRequest, FindCoordinatorRequest

from workloads.clients.messages.describe_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from workloads.roles.group_watch import GroupWatch

SOURCE = (("s-r", 0), ("s-r", 1))


class Brokers:
    """Three brokers of which one is the coordinator.

    members   by member id: client.id, group.instance.id, partitions; None: in a rebalance.
    fails     nodes that do not answer.
    kind      protocol type of the group.
    is_next_generation   whether the group is one of KIP-848; `knows_next_generation`: whether the brokers know such.
    """

    def __init__(self) -> None:
        self.coordinator = 2
        self.members: dict[str, tuple[str, str | None, tuple[int, ...] | None]] = {}
        self.positions: dict[int, int] = {}
        self.fails: set[int] = set()
        self.kind = "consumer"
        self.garbage = b""
        self.is_next_generation, self.knows_next_generation = False, True

    def request(self, node: int) -> Any:
        def ask(message: Any) -> Any:
            if node in self.fails:
                raise OSError("no answer")
            if isinstance(message, FindCoordinatorRequest):
                return SimpleNamespace(error_code=0, node_id=self.coordinator)
            refused = 0 if node == self.coordinator else 16
            if isinstance(message, OffsetFetchRequest):
                OffsetFetchRequest.encode(message)  # Kafka knows this version, and its fields are complete.
                (topic,) = message.topics
                found = [
                    SimpleNamespace(
                        partition_index=number, error_code=0, committed_offset=self.positions.get(number, -1)
                    )
                    for number in topic.partition_indexes
                ]
                return SimpleNamespace(
                    error_code=refused, topics=[SimpleNamespace(name=topic.name, partitions=found)]
                )
            if isinstance(message, ApiVersionsRequest):
                known = [ConsumerGroupDescribeRequest.API_KEY] if self.knows_next_generation else []
                return SimpleNamespace(
                    api_keys=[SimpleNamespace(api_key=key, max_version=1) for key in known]
                )
            if isinstance(message, ConsumerGroupDescribeRequest):
                assert self.knows_next_generation, "the broker closes the connection"
                return self._next_generation(message, refused)
            assert isinstance(message, DescribeGroupsRequest)
            if self.is_next_generation:
                return SimpleNamespace(
                    groups=[SimpleNamespace(error_code=refused, protocol_type="", members=[])]
                )
            members = [
                SimpleNamespace(
                    member_id=name,
                    client_id=client,
                    group_instance_id=static,
                    member_assignment=self._of(given),
                )
                for name, (client, static, given) in self.members.items()
            ]
            return SimpleNamespace(
                groups=[SimpleNamespace(error_code=refused, protocol_type=self.kind, members=members)]
            )

        return ask

    def _next_generation(self, message: Any, refused: int) -> Any:
        """As its bytes come over the network."""
        message.encode()
        kinds = ConsumerGroupDescribeResponse
        described = kinds.DescribedGroup(
            version=0,
            error_code=refused or (0 if self.is_next_generation else 69),
            error_message=None,
            group_id=message.group_ids[0],
            group_state="Stable",
            group_epoch=4,
            assignment_epoch=4,
            assignor_name="uniform",
            members=[
                kinds.DescribedGroup.Member(
                    version=0, member_id=name, instance_id=static, rack_id=None, member_epoch=4, client_id=client,
                    client_host="/10.0.0.1", subscribed_topic_names=["s-r"], subscribed_topic_regex=None,
                    assignment=self._topics(given), target_assignment=self._topics(None),
                )
                for name, (client, static, given) in self.members.items()
            ],
            authorized_operations=0,
        )  # fmt: skip
        answer = kinds(version=0, throttle_time_ms=0, groups=[described])
        return kinds.decode(bytes(answer.encode()), version=0)

    def _topics(self, given: tuple[int, ...] | None) -> Any:
        kind = ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment
        topics = [
            kind.TopicPartitions(version=0, topic_id=UUID(int=7), topic_name="s-r", partitions=list(given))
        ] if given else []  # fmt: skip
        return kind(version=0, topic_partitions=topics)

    def _of(self, given: tuple[int, ...] | None) -> bytes:
        if self.garbage or given is None:
            return self.garbage
        return bytes(
            ConsumerProtocolAssignment(
                version=0, assigned_partitions=[("s-r", list(given))], user_data=b""
            ).encode()
        )


class Watched:
    def __init__(self, instances: int = 2) -> None:
        self.brokers = Brokers()
        self.rows: list[dict[str, Any]] = []
        nodes = {node: node for node in (1, 2, 3)}
        context: Any = SimpleNamespace(
            run="r", process=5, brokers=nodes, counts={"unanswered": 0},
            writer=lambda _: SimpleNamespace(append=lambda **row: self.rows.append(row)),
        )  # fmt: skip
        self.counts = context.counts
        self.watch = GroupWatch(
            context,
            group="g-r",
            source=SOURCE,
            clients={f"app:{number}": f"g-r-{number}" for number in range(instances)},
            request=self.brokers.request,  # type: ignore[arg-type]
        )

    def seen(self) -> list[tuple[int, str | None, int | None]]:
        """Partition, owner and position of the rows of one more sample."""
        self.rows.clear()
        self.watch.sample()
        assert all((row["kind"], row["run"], row["topic"]) == ("group", "r", "s-r") for row in self.rows)
        assert all(row["asked"] <= row["time"] for row in self.rows)
        values = [json.loads(row["value"]) for row in self.rows]
        return [
            (row["partition"], value["owner"], value["position"])
            for row, value in zip(self.rows, values, strict=True)
        ]


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_only_changes_are_recorded(watched: Watched) -> None:
    assert watched.seen() == []
    watched.brokers.members = {"m0": ("g-r-0", None, (0, 1))}
    assert watched.seen() == [(0, "app:0", None), (1, "app:0", None)]
    assert watched.seen() == []
    watched.brokers.positions = {1: 7}
    assert watched.seen() == [(1, "app:0", 7)]
    watched.brokers.members = {"m0": ("g-r-0", None, None), "m1": ("g-r-1", None, None)}
    assert watched.seen() == [(0, None, None), (1, None, 7)]
    watched.brokers.members = {"m0": ("g-r-0", None, (1,)), "m1": ("g-r-1", None, (0,))}
    assert watched.seen() == [(0, "app:1", None), (1, "app:0", 7)]


def test_a_row_names_the_coordinator_and_the_member(watched: Watched) -> None:
    watched.brokers.members = {"m0": ("g-r-0", None, (0,))}
    watched.seen()
    (row,) = watched.rows
    assert (row["node"], row["process"]) == (2, 5)
    assert json.loads(row["value"]) == {"group": "g-r", "owner": "app:0", "member": "m0", "position": None}


@pytest.mark.parametrize(
    ("client", "static", "owner"),
    [
        ("g-r-1", None, "app:1"),
        ("g-r-1-StreamThread-1-consumer", None, "app:1"),
        ("x-g-r-1", None, "app:1"),
        ("rdkafka", "g-r-1", "app:1"),
        ("g-r-12", None, "m"),
        ("rdkafka", None, "m"),
    ],
)
def test_a_member_belongs_to_the_instance_whose_client_id_it_has(
    watched: Watched, client: str, static: str | None, owner: str
) -> None:
    watched.brokers.members = {"m": (client, static, (0,))}
    assert watched.seen() == [(0, owner, None)]


def test_all_members_belong_to_the_only_instance() -> None:
    watched = Watched(instances=1)
    watched.brokers.members = {"m": ("rdkafka", None, (0,))}
    assert watched.seen() == [(0, "app:0", None)]


def test_it_finds_the_coordinator_again(watched: Watched) -> None:
    watched.brokers.members = {"m": ("g-r-0", None, (0,))}
    watched.brokers.fails = {1}
    assert watched.seen() == [(0, "app:0", None)]
    watched.brokers.members = {"m": ("g-r-1", None, (0,))}
    watched.brokers.coordinator = 3
    assert watched.seen() == [], "the former coordinator does not answer for the group any more"
    assert watched.seen() == [(0, "app:1", None)]
    watched.brokers.fails = {1, 2, 3}
    assert watched.seen() == []
    assert watched.counts == {"unanswered": 1}
    assert watched.seen() == [], "nobody names a coordinator"
    watched.brokers.fails = set()
    watched.brokers.positions = {0: 3}
    assert watched.seen() == [(0, "app:1", 3)]


def test_members_of_the_next_generation_protocol_change_over_one_by_one(watched: Watched) -> None:
    watched.brokers.is_next_generation = True
    watched.brokers.members = {"m0": ("g-r-0", None, (0, 1))}
    watched.brokers.positions = {0: 3}
    assert watched.seen() == [(0, "app:0", 3), (1, "app:0", None)]
    watched.brokers.members = {"m0": ("g-r-0", None, (0,)), "m1": ("rdkafka", "g-r-1", None)}
    assert watched.seen() == [(1, None, None)], (
        "the former owner has given it up, and the next one has not got it"
    )
    watched.brokers.members["m1"] = ("rdkafka", "g-r-1", (1,))
    assert watched.seen() == [(1, "app:1", None)]
    watched.brokers.coordinator = 3
    assert watched.seen() == [], "the former coordinator does not answer for the group any more"
    watched.brokers.members = {"m2": ("other", None, (0, 1))}
    assert watched.seen() == [(0, "m2", 3), (1, "m2", None)]


def test_brokers_that_do_not_know_the_next_generation_protocol_are_not_asked_for_it(watched: Watched) -> None:
    watched.brokers.kind, watched.brokers.knows_next_generation = "", False
    watched.brokers.positions = {0: 3}
    assert watched.seen() == []


def test_groups_of_another_protocol_and_assignments_of_another_format_have_no_owner(watched: Watched) -> None:
    watched.brokers.members = {"m": ("g-r-0", None, (0,))}
    watched.brokers.garbage = b"\x00"
    watched.brokers.positions = {0: 4}
    assert watched.seen() == [(0, None, 4)]
    watched.brokers.garbage, watched.brokers.kind = b"", ""
    assert watched.seen() == []
