"""Transactions on a real cluster: while brokers and clients fail, readers of committed records see all or nothing.

Each transactor writes to random partitions in one transaction, and commits or aborts it. Two processes share one
transactional id, so that they fence one another; some transactions stay open for longer than their timeout, so that
the coordinator aborts them. Readers with isolation.level=read_committed must get every committed record and no
other.

The second test shows what is not promised: with unclean elections, a partition may lose its part of a committed
transaction, while the other partition keeps its own.

Run it: ``pytest examples/test_transactions.py`` (about two minutes).
"""

from __future__ import annotations

import pytest

from pytest_kafkacheck import Experiment, Transactions, fence, isolate, kill, kill_client, partition


@pytest.mark.nightly  # by day, tests/cluster/test_bank.py
def test_transactions_are_atomic_while_clients_a_leader_and_a_coordinator_fail(kafkacheck):
    run = kafkacheck(
        Experiment(
            workload=Transactions(topic_config={"min.insync.replicas": 2}, rivals=1, stalls=0.02, timeout=3),
            faults=[
                fence("transaction:transactor-1", at=2),
                isolate("leader", at=2, lasting=5),
                kill_client("role:transactor", at=3, lasting=3),
                kill("transaction-coordinator:transactor-0", at=11, lasting=4),
            ],
            # A client gives up a transaction without an answer after 10 s, and then claims its id again.
            cooldown=14,
        )
    )
    run.assert_valid()


@pytest.mark.nightly
def test_an_unclean_election_tears_transactions(kafkacheck):
    run = kafkacheck(
        Experiment(
            workload=Transactions(
                partitions=2,
                replication_factor=2,
                topic_config={"min.insync.replicas": 1, "unclean.leader.election.enable": True},
                assignment={0: [1, 2], 1: [3, 1]},
                aborts=0.0,
            ),
            faults=[
                partition([[1], [2]], plane="replication", at=3, lasting=12),
                kill(1, after="isr-shrink", at=3, lasting=10),
            ],
            expect="invalid",
        )
    )
    run.assert_invalid("lost-write", "torn-transaction")
