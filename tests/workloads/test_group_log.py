"""Generations of groups, read from the log of their coordinator."""

from __future__ import annotations

import pytest
from kafka.protocol.consumer import FetchResponse

from tests.support.offsets_topic import batch, ending_at, fetched, key, of_generation
from tests.support.scripted_broker import ScriptedBroker, offsets_topic
from workloads.clients.group_log import GroupLog, partition_of

MINE = "mine-r1"


class OffsetsTopic:
    """The topic with one partition. ends: when the log is first looked at. batches: appended later."""

    def __init__(self, *batches: bytes, mark: int, ends: int = 5) -> None:
        self.broker = ScriptedBroker(offsets_topic(1), ending_at(ends), fetched(b"".join(batches), mark=mark))
        self.log = GroupLog()
        self.log.begin(self.broker.ask)

    def generation(self, group: str = MINE) -> int | None:
        return self.log.generation(self.broker.ask, group)

    def then(self, response: FetchResponse) -> int | None:
        self.broker.by_request["FetchRequest"] = response
        return self.generation()


@pytest.mark.parametrize("version", [0, 3, 4])
def test_the_newest_generation_that_was_written_counts(version: int) -> None:
    topic = OffsetsTopic(
        batch(5, (key(MINE), of_generation(6, version)), (key("other"), of_generation(9, version))),
        batch(7, (key(MINE), of_generation(7, version)), (key(MINE, 1), b"a position")),
        mark=9,
    )
    assert topic.generation() == 7
    (request,) = [each for each in topic.broker.asked if type(each).__name__ == "FetchRequest"]
    assert [part.fetch_offset for part in request.topics[0].partitions] == [5], "from where the log ended"
    assert topic.then(fetched(b"", mark=9)) == 7
    assert topic.generation("other") == 9


def test_a_generation_is_unknown_until_all_was_read() -> None:
    topic = OffsetsTopic(batch(5, (key(MINE), of_generation(6))), mark=7)
    assert topic.generation() is None
    assert topic.then(fetched(batch(6, (key(MINE), of_generation(7))), mark=7)) == 7


def test_a_group_that_was_deleted_has_no_generation() -> None:
    topic = OffsetsTopic(batch(5, (key(MINE), of_generation(6)), (key(MINE), None)), mark=7)
    assert topic.generation() is None


def test_a_value_of_an_unknown_version_is_left_out() -> None:
    assert OffsetsTopic(batch(5, (key(MINE), of_generation(6, 5))), mark=6).generation() is None


def test_after_a_truncation_the_log_is_read_again() -> None:
    """What was truncated does not count any more."""
    topic = OffsetsTopic(batch(5, (key(MINE), of_generation(6))), mark=6)
    assert topic.generation() == 6
    topic.broker.by_request["ListOffsetsRequest"] = ending_at(2)
    assert topic.then(fetched(b"", mark=-1, error=1)) is None
    assert topic.then(fetched(b"", mark=2)) is None
    assert topic.broker.asked[-1].topics[0].partitions[0].fetch_offset == 2
    assert topic.then(fetched(batch(2, (key(MINE), of_generation(4))), mark=3)) == 4


def test_a_broker_that_refuses_the_log_knows_no_generation() -> None:
    topic = OffsetsTopic(batch(5, (key(MINE), of_generation(6))), mark=6)
    assert topic.then(fetched(b"", mark=-1, error=6)) is None
    assert topic.then(fetched(batch(5, (key(MINE), of_generation(6))), mark=6)) == 6


def test_a_topic_that_is_made_later_is_read_from_its_beginning() -> None:
    broker = ScriptedBroker(offsets_topic(0))
    log = GroupLog()
    log.begin(broker.ask)
    assert log.generation(broker.ask, MINE) is None
    later = ScriptedBroker(offsets_topic(1), fetched(batch(0, (key(MINE), of_generation(1))), mark=1))
    assert log.generation(later.ask, MINE) == 1
    assert later.asked[-1].topics[0].partitions[0].fetch_offset == 0


@pytest.mark.parametrize(("group", "partition"), [("", 0), ("group-0", 48), ("zahlungen-ü-😀", 27)])
def test_a_group_is_in_the_partition_of_its_hash(group: str, partition: int) -> None:
    """As ``Math.abs(group.hashCode()) % 50`` in Java."""
    assert partition_of(group, 50) == partition
