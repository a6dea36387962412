"""Elections and circumstances of a cut, at the limits of each rule. Needs no JVM."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzers.causes.derive import derive
from analyzers.causes.evidence import Change, Extent, Sample
from analyzers.causes.explainer import ABOVE_HIGH_WATERMARK, LAST_REPLICA, UNCLEAN_ELECTION, UNFLUSHED
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.finding import Election
from tests.support.cause_evidence import (
    FOLLOWS,
    LOG,
    LOST,
    NEW,
    OLD,
    S,
    changes,
    cut,
    evidence,
    extent,
    fault,
    sample,
    texts,
)

POWER_LOSS = fault("power-loss", 4, 6, nodes=(1,))


def test_the_election_is_the_next_one_as_it_was_first_seen() -> None:
    of = changes(
        sample(1, 1, 1, 0, 5), sample(4, 3, -1, 1, 10), sample(5, 3, 2, 2, 10, isr=(2, 3)),
        sample(6, 2, 2, 2, 10, isr=(2,)),
        sample(7, 2, 2, 2, 10, isr=(2, 3)), sample(8, 1, 1, 0, 20), sample(9, 1, 2, 2, 10), sample(10, 3, 3, 3, 10),
    )  # fmt: skip
    cause = cut(LOST, of=of)
    assert cause is not None
    assert cause.election == Election(leader=2, epoch=2, time=5.0, isr=(2,))


def test_a_later_election_that_was_seen_earlier_is_not_the_next_one() -> None:
    of = changes(
        sample(1, 1, 1, 0, 20), sample(5, 3, 3, 2, 10), sample(6, 2, 2, 1, 10), sample(9, 1, 3, 2, 10)
    )
    cause = cut(LOST, of=of)
    assert cause is not None
    assert cause.election == Election(leader=2, epoch=1, time=6.0, isr=(1, 2))


def test_without_a_sample_of_the_new_leader_others_tell_of_it() -> None:
    of = changes(
        sample(1, 1, 1, 0, 20, isr=(0, 1)), sample(5, 3, 0, 1, 10, isr=(3, 0)), sample(9, 1, 0, 1, 10)
    )
    cause = cut(LOST, of=of)
    assert cause is not None
    assert cause.election == Election(leader=0, epoch=1, time=5.0, isr=(3, 0))
    assert "broker 0 leads t-0, epoch 1, ISR {0, 3}; its log ends at 10" in texts(cause)
    assert "broker 1 follows broker 0 and has truncated its log from 20 to 10" in texts(cause)


def test_a_replica_without_a_leader_has_lost_the_end_of_its_log() -> None:
    cause = cut(LOST, of=changes(sample(1, 1, 1, 0, 20, mark=11), sample(9, 1, -1, 1, 10)))
    assert cause is not None
    assert cause.election is None
    assert cause.circumstances == ()
    assert texts(cause)[-1] == "broker 1 has lost the end of its log: from 20 to 10"


def test_an_acknowledgement_above_the_high_watermark_is_one_of_the_leader() -> None:
    def circumstances(mark: int | None, *extents: Extent) -> tuple[str, ...]:
        of = changes(replace(OLD, high_watermark=mark), NEW, replace(FOLLOWS, log_end=10))
        cause = cut(*extents, of=of)
        assert cause is not None
        return cause.circumstances

    assert circumstances(10, LOST) == (ABOVE_HIGH_WATERMARK,)
    assert circumstances(11, LOST) == ()
    assert circumstances(None, LOST) == ()
    at_the_sample = replace(LOST, first=OLD.time)
    assert circumstances(10, at_the_sample) == (), "of equal times, none is known to come first"
    assert circumstances(10, replace(LOST, first=OLD.time - 1)) == (ABOVE_HIGH_WATERMARK,)
    reused = extent("offset-reuse")
    assert circumstances(10, reused) == ()
    assert circumstances(10, reused, replace(LOST, low=None)) == ()
    assert circumstances(12, reused, replace(LOST, low=12)) == (ABOVE_HIGH_WATERMARK,)


@pytest.mark.parametrize(
    ("settings", "mark", "event", "extents", "circumstances"),
    [
        ({"acks": "all"}, 10, POWER_LOSS, [LOST], (UNFLUSHED,)),
        ({"acks": "all"}, 10, POWER_LOSS, [extent("offset-reuse")], (UNFLUSHED,)),
        ({"acks": "1"}, 10, POWER_LOSS, [LOST], ()),
        ({"acks": "1"}, 20, POWER_LOSS, [LOST], (UNFLUSHED,)),
        ({}, 10, POWER_LOSS, [LOST], (ABOVE_HIGH_WATERMARK,)),
        ({}, 20, POWER_LOSS, [LOST], (UNFLUSHED,)),
        ({}, 19, POWER_LOSS, [LOST], ()),  # a replica in sync may have lacked the last one
        ({}, None, POWER_LOSS, [LOST], ()),
        ({}, 20, POWER_LOSS, [extent("offset-reuse")], ()),
        ({}, 20, POWER_LOSS, [extent("offset-reuse"), replace(LOST, high=None)], ()),
        ({"acks": "all"}, 10, replace(POWER_LOSS, fault="kill"), [LOST], ()),
        ({"acks": "all"}, 10, fault("power-loss", 4, 6, nodes=(2,)), [LOST], ()),
    ],
)
def test_a_leader_without_power_loses_what_no_disk_had(
    settings: dict[str, str],
    mark: int | None,
    event: FaultEvent,
    extents: list[Extent],
    circumstances: tuple[str, ...],
) -> None:
    of = changes(replace(OLD, high_watermark=mark), NEW, replace(FOLLOWS, log_end=10))
    (cause,) = derive(replace(evidence(*extents, of=of, events=[event]), settings=settings))
    assert cause.circumstances == circumstances


def isr_seen(*samples: Sample) -> tuple[str, ...]:
    of = changes(
        *samples, replace(OLD, high_watermark=20), replace(NEW, time=9 * S), replace(FOLLOWS, log_end=10)
    )
    cause = cut(LOST, of=of)
    assert cause is not None
    return cause.circumstances


def test_the_isr_before_the_election_is_that_of_the_last_epoch_as_other_brokers_saw_it() -> None:
    """Broker 1 is cut off and goes on to see others in the ISR, or is alone in it."""
    assert isr_seen() == ()
    assert isr_seen(sample(2, 3, 1, 0, 5, isr=(3, 1))) == (UNCLEAN_ELECTION,)
    assert isr_seen(sample(2, 3, 1, 0, 5, isr=(1,))) == (UNCLEAN_ELECTION, LAST_REPLICA)
    assert isr_seen(sample(2, 3, 1, 0, 5, isr=(3, 1)), sample(4, 3, 1, 0, 5, isr=(2, 1))) == ()
    assert isr_seen(sample(2, 3, 1, 0, 5, isr=(3, 1)), sample(4, 3, 1, 0, 5, isr=())) == (UNCLEAN_ELECTION,)
    assert isr_seen(sample(6, 3, 2, 1, 5, isr=(2, 1)), sample(7, 4, 2, 1, 5, isr=(3,))) == ()
    assert isr_seen(sample(2, 4, 1, 0, 5, isr=(2, 1)), sample(4, 3, 1, -1, 5, isr=(3, 1))) == ()
    assert isr_seen(sample(2, 3, 1, 0, 5, isr=(2, 1)), sample(9, 3, 2, 1, 5, isr=(3,))) == ()
    assert isr_seen(sample(2, 1, 1, 0, 5, isr=(1,))) == ()
    unseen = cut(LOST, of=changes(replace(OLD, isr=()), NEW, replace(FOLLOWS, log_end=10)))
    assert unseen is not None
    assert unseen.circumstances == (ABOVE_HIGH_WATERMARK,)


def test_the_step_of_the_last_replica_is_the_first_before_the_cut() -> None:
    alone = [sample(at, 3, 1, 0, 20, isr=(1,)) for at in (2, 4)]
    of = changes(OLD, NEW, replace(FOLLOWS, log_end=10), *alone, sample(3, 3, 1, 0, 20))
    cause = cut(LOST, of={LOG: [each for each in of[LOG] if each.after.node != 2]})
    assert cause is not None
    alone_at = [step.time for step in cause.steps if "only one left" in step.text]
    assert alone_at == [2.0]
    late = cut(LOST, of=changes(sample(1, 1, 1, 0, 20, isr=(1,)), sample(6, 1, 1, 1, 10, isr=(1,))))
    assert late is not None
    assert late.circumstances == (LAST_REPLICA,), "its high watermark was sampled before the writes"
    assert [step.time for step in late.steps if "only one left" in step.text] == [1.0]
    unseen = [Change(before=sample(1, 1, 1, 0, 20, isr=(1,)), after=sample(6, 1, 1, 1, 10, isr=(1,)))]
    late = cut(LOST, of={LOG: unseen})
    assert late is not None
    assert late.circumstances == (LAST_REPLICA,)
    assert not any("only one left" in text for text in texts(late)), "it was seen only with the cut itself"
