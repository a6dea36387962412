"""The first test, which ``kafkacheck init`` writes."""

from __future__ import annotations

TEST = '''"""What must hold of this Kafka configuration while brokers fail."""

from pytest_kafkacheck import AppendLog, Experiment, isolate, kill

SAFE = {"min.insync.replicas": 2}


def test_acknowledged_writes_survive_an_isolated_leader(kafkacheck):
    run = kafkacheck(
        Experiment(
            workload=AppendLog(partitions=3, acks="all", topic_config=SAFE),
            faults=[isolate("leader", at=3, lasting=8)],
        )
    )
    run.assert_valid()


def test_acknowledged_writes_survive_a_killed_leader(kafkacheck):
    run = kafkacheck(
        Experiment(
            workload=AppendLog(partitions=3, acks="all", topic_config=SAFE),
            faults=[kill("leader", at=3, lasting=6)],
        )
    )
    run.assert_valid()
'''
