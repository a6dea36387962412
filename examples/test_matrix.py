"""Which settings keep acknowledged writes when the ISR shrinks to the leader and then the leader is lost.

acks × min.insync.replicas × unclean.leader.election.enable, all eight in one run: each has a topic and a producer.
First the followers leave the ISR one after another, so that the leader is alone in it; then the leader is killed.
What each cell shows on Kafka 4.1 (eligible leader replicas on):

- ``acks=all`` with ``min.insync.replicas=2`` keeps everything: alone, the leader refuses to acknowledge.
- with ``min.insync.replicas=1`` the leader acknowledges alone, whatever acks says. If an unclean election is
  allowed, a follower without these writes takes over and they are lost; if not, the partition waits for the
  leader to return, and nothing is lost.
- ``acks=1`` with ``min.insync.replicas=2`` loses writes *even without unclean election*: below the minimum the
  followers that left the ISR stay eligible, and one of them is elected cleanly without what the leader alone
  had acknowledged.

Run it: ``pytest examples/test_matrix.py`` (about a minute), or ``kafkacheck matrix examples/test_matrix.py``.
"""

from __future__ import annotations

from pytest_kafkacheck import ConfigMatrix, scenarios

MATRIX = ConfigMatrix(
    acks=["all", 1],
    topic_config={"min.insync.replicas": [1, 2], "unclean.leader.election.enable": [True, False]},
) * scenarios("isr-of-one-killed")

SHOWN = {
    "acks=all-min.isr=1-unclean=true": "loses",
    "acks=all-min.isr=1-unclean=false": "unavailable",  # until the leader is back
    "acks=all-min.isr=2-unclean=true": "unavailable",  # while the leader is alone
    "acks=all-min.isr=2-unclean=false": "unavailable",
    "acks=1-min.isr=1-unclean=true": "loses",
    "acks=1-min.isr=1-unclean=false": "unavailable",
    "acks=1-min.isr=2-unclean=true": "loses",
    "acks=1-min.isr=2-unclean=false": "loses",
}


@MATRIX.parametrize
def test_isr_shrinks_to_the_leader_then_the_leader_is_lost(kafkacheck, cell):
    kafkacheck(cell).assert_as_predicted()
    assert cell.expected == SHOWN[cell.chosen.name]
