"""Probes of settings, eligible leaders, groups and transactions, with answers as they come over the network."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin import (
    DescribeConfigsResponse,
    DescribeGroupsResponse,
    DescribeTopicPartitionsResponse,
    DescribeTransactionsResponse,
    ListGroupsResponse,
    ListTransactionsResponse,
)
from kafka.protocol.consumer import ConsumerProtocolAssignment, OffsetFetchResponse

from tests.support.offsets_topic import batch, ending_at, fetched, key, of_generation
from tests.support.scripted_broker import ScriptedBroker, offsets_topic
from workloads.clients.messages.describe_groups import (
    ConsumerGroupDescribeResponse,
    ShareGroupDescribeResponse,
)
from workloads.probes.eligible import EligibleProbe
from workloads.probes.group_state import GroupStateProbe
from workloads.probes.probe import Probe
from workloads.probes.settings import SettingsProbe
from workloads.probes.transaction import TransactionProbe

TOPICS = {"log-r1": 2}


def sampled(probe: type[Probe], broker: ScriptedBroker) -> list[Any]:
    return list(probe(TOPICS, "r1").sample(broker.ask))


def settings(unclean: str) -> DescribeConfigsResponse:
    Result = DescribeConfigsResponse.DescribeConfigsResult
    fields = {"version": 1, "read_only": False, "config_source": 5, "is_sensitive": False, "synonyms": []}
    config = Result.DescribeConfigsResourceResult(
        name="unclean.leader.election.enable", value=unclean, **fields
    )
    of = {"version": 1, "resource_type": 2, "error_message": None}
    good = Result(resource_name="log-r1", error_code=0, configs=[config], **of)
    gone = Result(resource_name="gone-r1", error_code=3, configs=[], **of)
    return DescribeConfigsResponse(version=1, throttle_time_ms=0, results=[good, gone])


def test_settings_are_recorded_when_they_change() -> None:
    probe, broker = SettingsProbe(TOPICS, "r1"), ScriptedBroker(settings("false"))
    row = {"topic": "log-r1", "value": {"unclean.leader.election.enable": "false"}}
    assert [list(probe.sample(broker.ask)) for _ in range(2)] == [[row], []]
    (changed,) = probe.sample(ScriptedBroker(settings("true")).ask)
    assert changed["value"] == {"unclean.leader.election.enable": "true"}
    assert set(broker.asked[0].resources[0].configuration_keys) > {"min.insync.replicas", "retention.ms"}


def partitions(*eligible: int, error: int = 0) -> DescribeTopicPartitionsResponse:
    Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    part = Topic.DescribeTopicPartitionsResponsePartition(
        version=0, error_code=error, partition_index=1, leader_id=3, leader_epoch=7, replica_nodes=[3, 1, 2],
        isr_nodes=[3], eligible_leader_replicas=list(eligible), last_known_elr=None, offline_replicas=[],
    )  # fmt: skip
    topic = Topic(
        version=0, error_code=0, name="log-r1", topic_id=UUID(int=1), is_internal=False, partitions=[part],
        topic_authorized_operations=0,
    )  # fmt: skip
    return DescribeTopicPartitionsResponse(version=0, throttle_time_ms=0, topics=[topic], next_cursor=None)


def test_eligible_leaders_are_recorded_when_they_change() -> None:
    probe = EligibleProbe(TOPICS, "r1")
    (row,) = probe.sample(ScriptedBroker(partitions()).ask)
    assert row["value"] == {"eligible": [], "last_known": []}
    assert list(probe.sample(ScriptedBroker(partitions()).ask)) == []
    assert list(probe.sample(ScriptedBroker(partitions(2, error=3)).ask)) == []
    (row,) = probe.sample(ScriptedBroker(partitions(2, 1)).ask)
    assert row == {
        "topic": "log-r1", "partition": 1, "leader": 3, "leader_epoch": 7, "isr": [3], "replicas": [3, 1, 2],
        "value": {"eligible": [1, 2], "last_known": []},
    }  # fmt: skip


@pytest.mark.parametrize("probe", [EligibleProbe, TransactionProbe])
def test_a_broker_without_a_request_is_not_asked_for_it(probe: type[Probe]) -> None:
    broker = ScriptedBroker(versions=-1)
    assert sampled(probe, broker) == []
    assert len(broker.asked) == 1


def test_transactions_of_the_run_are_recorded() -> None:
    Listed = ListTransactionsResponse.TransactionState
    listed = ListTransactionsResponse(
        version=0, throttle_time_ms=0, error_code=0, unknown_state_filters=[], transaction_states=[
            Listed(version=0, transactional_id=name, producer_id=7, transaction_state="Ongoing")
            for name in ("mine-r1", "moved-r1", "other")
        ],
    )  # fmt: skip
    State = DescribeTransactionsResponse.TransactionState
    states = [
        State(
            version=0, error_code=error, transactional_id=name, transaction_state="Ongoing", transaction_timeout_ms=9,
            transaction_start_time_ms=1234, producer_id=7, producer_epoch=2,
            topics=[State.TopicData(version=0, topic="log-r1", partitions=[0, 1])],
        )
        for name, error in (("mine-r1", 0), ("moved-r1", 16))
    ]  # fmt: skip
    described = DescribeTransactionsResponse(version=0, throttle_time_ms=0, transaction_states=states)
    broker = ScriptedBroker(listed, described)
    assert [row["value"] for row in sampled(TransactionProbe, broker)] == [{
        "transactional_id": "mine-r1", "state": "Ongoing", "producer_id": 7, "epoch": 2, "started": 1234,
        "partitions": ["log-r1-0", "log-r1-1"],
    }]  # fmt: skip
    assert broker.asked[-1].transactional_ids == ["mine-r1", "moved-r1"]


@pytest.mark.parametrize("probe", [TransactionProbe, GroupStateProbe])
def test_what_is_not_there_is_looked_for_once_a_second(
    probe: type[Probe], monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = ListTransactionsResponse(
        version=0, throttle_time_ms=0, error_code=0, unknown_state_filters=[], transaction_states=[]
    )
    broker = ScriptedBroker(
        nothing, ListGroupsResponse(version=5, throttle_time_ms=0, error_code=0, groups=[])
    )
    now = [100.0]
    monkeypatch.setattr(sys.modules[probe.__module__], "time", SimpleNamespace(monotonic=lambda: now[0]))
    looks = probe(TOPICS, "r1")
    asked = []
    for later in (0, 0.9, 1.0):
        now[0] = 100.0 + later
        assert list(looks.sample(broker.ask)) == []
        asked.append(len(broker.asked))
    assert [later - asked[0] for later in asked] == [0, 0, 1]


def groups(kind: str, version: int = 5) -> ListGroupsResponse:
    Listed = ListGroupsResponse.ListedGroup
    return ListGroupsResponse(
        version=version, throttle_time_ms=0, error_code=0, groups=[
            Listed(version=version, group_id=name, protocol_type="consumer", group_state="Stable", group_type=kind)
            for name in ("mine-r1", "other")
        ],
    )  # fmt: skip


def positions(error: int = 0) -> OffsetFetchResponse:
    Topic = OffsetFetchResponse.OffsetFetchResponseTopic
    found = [
        Topic.OffsetFetchResponsePartition(
            version=5, partition_index=number, committed_offset=offset, committed_leader_epoch=-1, metadata="",
            error_code=0,
        )
        for number, offset in ((0, 8), (1, -1))
    ]  # fmt: skip
    topics = [Topic(version=5, name="log-r1", partitions=found)]
    return OffsetFetchResponse(version=5, throttle_time_ms=0, topics=topics, error_code=error)


def of_members(response: type[Any], version: int, **more: Any) -> Any:
    Group = response.DescribedGroup
    Assignment = Group.Member.Assignment
    given = Assignment(
        version=version,
        topic_partitions=[
            Assignment.TopicPartitions(
                version=version, topic_id=UUID(int=1), topic_name="log-r1", partitions=[0]
            )
        ],
    )
    member = Group.Member(
        version=version, member_id="m", rack_id=None, member_epoch=4, client_id="c", client_host="h",
        subscribed_topic_names=["log-r1"], assignment=given, **more,
    )  # fmt: skip
    group = Group(
        version=version, error_code=0, error_message=None, group_id="mine-r1", group_state="Assigning", group_epoch=5,
        assignment_epoch=4, assignor_name="uniform", members=[member], authorized_operations=0,
    )  # fmt: skip
    return response(version=version, throttle_time_ms=0, groups=[group])


WITH_EPOCHS = {
    "group": "mine-r1", "state": "Assigning", "protocol": "uniform", "epoch": 5, "assigned_epoch": 4,
    "members": {"m": ["log-r1-0"]},
}  # fmt: skip


def test_a_group_of_the_next_generation_reports_its_epochs() -> None:
    none = ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment(version=0, topic_partitions=[])
    more = {"instance_id": None, "subscribed_topic_regex": None, "target_assignment": none}
    described = of_members(ConsumerGroupDescribeResponse, 0, **more)
    broker = ScriptedBroker(groups("Consumer"), positions(), described)
    assert [row["value"] for row in sampled(GroupStateProbe, broker)] == [
        WITH_EPOCHS | {"type": "consumer", "positions": {"log-r1-0": 8}}
    ]


def test_a_share_group_reports_its_epochs_and_has_no_positions() -> None:
    broker = ScriptedBroker(groups("Share"), of_members(ShareGroupDescribeResponse, 1))
    assert [row["value"] for row in sampled(GroupStateProbe, broker)] == [
        WITH_EPOCHS | {"type": "share", "positions": {}}
    ]


def classic(error: int = 0, kind: str = "consumer", state: str = "Stable") -> DescribeGroupsResponse:
    Group = DescribeGroupsResponse.DescribedGroup
    given = ConsumerProtocolAssignment(version=0, assigned_partitions=[("log-r1", [1])], user_data=b"")
    member = Group.DescribedGroupMember(
        version=5, member_id="m", group_instance_id=None, client_id="c", client_host="h", member_metadata=b"",
        member_assignment=bytes(given.encode()),
    )  # fmt: skip
    group = Group(
        version=5, error_code=error, group_id="mine-r1", group_state=state, protocol_type=kind,
        protocol_data="range", members=[member], authorized_operations=[],
    )  # fmt: skip
    return DescribeGroupsResponse(version=5, throttle_time_ms=0, groups=[group])


MINE = "mine-r1"


def with_log(*batches: bytes, mark: int) -> ScriptedBroker:
    """A group of the classic protocol, whose coordinator's log ended at 5 when it was first looked at."""
    log = offsets_topic(1), ending_at(5), fetched(b"".join(batches), mark=mark)
    return ScriptedBroker(*log, groups("Classic"), positions(), classic())


def test_a_stable_group_of_the_classic_protocol_has_its_generation() -> None:
    broker = with_log(batch(5, (key(MINE), of_generation(6))), mark=6)
    (row,) = sampled(GroupStateProbe, broker)
    assert (row["value"]["epoch"], row["value"]["assigned_epoch"]) == (6, None)
    broker.by_request["DescribeGroupsRequest"] = classic(state="PreparingRebalance")
    (row,) = sampled(GroupStateProbe, broker)
    assert row["value"]["epoch"] is None


def test_a_generation_that_is_written_during_the_sample_does_not_count() -> None:
    broker = with_log(batch(5, (key(MINE), of_generation(6))), mark=6)
    ask = broker.ask

    def meanwhile(request: Any) -> Any:
        if type(request).__name__ == "DescribeGroupsRequest":
            broker.by_request["FetchRequest"] = fetched(batch(6, (key(MINE), of_generation(7))), mark=7)
        return ask(request)

    probe = GroupStateProbe(TOPICS, "r1")
    (row,) = probe.sample(meanwhile)
    assert row["value"]["epoch"] is None
    (row,) = probe.sample(ask)
    assert row["value"]["epoch"] == 7


def test_a_group_whose_log_cannot_be_read_has_no_epoch() -> None:
    """An older broker does not report types of groups."""
    broker = ScriptedBroker(groups("", version=4), positions(), classic(), versions=4)
    probe = GroupStateProbe(TOPICS, "r1")
    for _ in range(2):
        (row,) = probe.sample(broker.ask)
    assert row["value"] == {
        "group": "mine-r1", "type": "classic", "state": "Stable", "protocol": "range", "epoch": None,
        "assigned_epoch": None, "members": {"m": ["log-r1-1"]}, "positions": {"log-r1-0": 8},
    }  # fmt: skip
    assert [type(each).__name__ for each in broker.asked].count("ApiVersionsRequest") == 1


@pytest.mark.parametrize(
    "broker",
    [
        ScriptedBroker(groups("Classic"), positions(16), classic()),
        ScriptedBroker(groups("Classic"), positions(), classic(16)),
        ScriptedBroker(groups("Classic"), positions(), classic(kind="connect")),
    ],
    ids=["positions refused", "group refused", "no consumers"],
)
def test_a_group_that_moved_or_has_no_consumers_gives_no_row(broker: ScriptedBroker) -> None:
    assert sampled(GroupStateProbe, broker) == []
