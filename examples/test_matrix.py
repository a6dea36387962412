"""Which settings keep acknowledged writes when the ISR shrinks to the leader and then the leader is lost.

acks × min.insync.replicas × unclean.leader.election.enable, one cluster for all eight cells. First only the
replication traffic between the leader and its followers is cut, so the ISR shrinks to the leader; then the
leader is killed. What each cell shows on Kafka 4.1 (eligible leader replicas on):

- ``acks=all`` with ``min.insync.replicas=2`` keeps everything: alone, the leader refuses to acknowledge.
- with ``min.insync.replicas=1`` the leader acknowledges alone, whatever acks says. If an unclean election is
  allowed, a follower without these writes takes over and they are lost; if not, the partition waits for the
  leader to return, and nothing is lost.
- ``acks=1`` with ``min.insync.replicas=2`` loses writes *even without unclean election*: below the minimum the
  followers that left the ISR stay eligible, and one of them is elected cleanly without what the leader alone
  had acknowledged.

Run it: ``pytest examples/test_matrix.py`` (about five minutes).
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_kafkacheck import AppendLog, Experiment, kill, partition

SHRINK = partition("leader", plane="replication", at=2, lasting=9)


@dataclass(frozen=True)
class Cell:
    """Three settings; then: are writes lost, acknowledged by the leader alone, acknowledged without it."""

    acks: str | int
    min_isr: int
    unclean: bool
    loses: bool
    alone: bool
    without: bool

    @property
    def lose(self):
        """Kill the leader for long enough to see another one elected, where one may be.

        An election takes 3 s after a kill; 10 s where the leader was the active controller, too.
        """
        return kill("leader", at=10, lasting=20 if self.without else 10)

    def __str__(self) -> str:
        return f"acks={self.acks}-min.isr={self.min_isr}-unclean={str(self.unclean).lower()}"


CELLS = [
    Cell(1, 1, True, loses=True, alone=True, without=True),
    Cell(1, 1, False, loses=False, alone=True, without=False),
    Cell(1, 2, True, loses=True, alone=True, without=True),
    Cell(1, 2, False, loses=True, alone=True, without=True),
    Cell("all", 1, True, loses=True, alone=True, without=True),
    Cell("all", 1, False, loses=False, alone=True, without=False),
    Cell("all", 2, True, loses=False, alone=False, without=True),
    Cell("all", 2, False, loses=False, alone=False, without=True),
]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_isr_shrinks_to_the_leader_then_the_leader_is_lost(kafkacheck, cell):
    run = kafkacheck(
        Experiment(
            workload=AppendLog(
                partitions=1,
                acks=cell.acks,
                rate=200,
                topic_config={
                    "min.insync.replicas": cell.min_isr,
                    "unclean.leader.election.enable": cell.unclean,
                },
            ),
            faults=[SHRINK, cell.lose],
        )
    )
    exercised = run.verdict.exercised
    shrunk, lost = exercised.faults
    assert shrunk.effective, run.text()
    assert lost.effective, run.text()
    # 0: with eligible leader replicas, a partition without a leader may have an empty ISR.
    assert exercised.smallest_isr in (0, 1), run.text()
    assert shrunk.nodes[0] == lost.nodes[0], f"the leader changed before it was killed\n{run.text()}"

    if cell.loses:
        run.assert_invalid("lost-write")
    else:
        run.assert_valid()
    # What is lost was acknowledged by the leader alone, even if a slow machine sent it before the cut was proved.
    assert (shrunk.acks_during > 0 or cell.loses) == cell.alone, run.text()
    assert (lost.acks_during > 0) == cell.without, run.text()
