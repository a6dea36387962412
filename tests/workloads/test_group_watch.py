"""The watch over an application's group: what the coordinator's answers become in the history."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.consumer import ConsumerProtocolAssignment, OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from workloads.roles.group_watch import GroupWatch

SOURCE = (("s-r", 0), ("s-r", 1))


class Brokers:
    """Three brokers of which one is the coordinator.

    members   by member id: client.id, group.instance.id, partitions; None: in a rebalance.
    fails     nodes that do not answer.
    """

    def __init__(self) -> None:
        self.coordinator = 2
        self.members: dict[str, tuple[str, str | None, tuple[int, ...] | None]] = {}
        self.positions: dict[int, int] = {}
        self.fails: set[int] = set()
        self.kind = "consumer"
        self.garbage = b""

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
            assert isinstance(message, DescribeGroupsRequest)
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


def test_groups_of_another_protocol_and_assignments_of_another_format_have_no_owner(watched: Watched) -> None:
    watched.brokers.members = {"m": ("g-r-0", None, (0,))}
    watched.brokers.garbage = b"\x00"
    watched.brokers.positions = {0: 4}
    assert watched.seen() == [(0, None, 4)]
    watched.brokers.garbage, watched.brokers.kind = b"", ""
    assert watched.seen() == []
