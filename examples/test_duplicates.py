"""Duplicates by a lost response: the broker appends a record, its answer does not arrive, and the client sends again.

While the responses of the leader are cut off, requests still reach it. A producer that gets no answer repeats the
request. Without idempotence the broker cannot know that it has the records already, and appends them once more:
Kafka promises "at least once". With idempotence, each batch has a sequence number, and the broker answers a
repetition with the offset of the first one.

Run it: ``pytest examples/test_duplicates.py`` (about a minute).
"""

from __future__ import annotations

import pytest

from pytest_kafkacheck import AppendLog, Experiment, cut_clients


def lost_responses(*, idempotence: bool) -> Experiment:
    return Experiment(
        workload=AppendLog(
            partitions=1,
            sessions=0,
            rate=100,
            idempotence=idempotence,
            client={"request_timeout_ms": 1000},  # before it sends again; 30 s by default
            topic_config={"min.insync.replicas": 2},
        ),
        faults=[cut_clients("leader", one_way="out", at=2, lasting=4)],
    )


@pytest.mark.nightly
def test_without_idempotence_a_lost_response_duplicates_records(kafkacheck):
    run = kafkacheck(lost_responses(idempotence=False))
    run.assert_valid()  # duplicates are reported and allowed
    assert "duplicate" in {finding.anomaly for finding in run.verdict.findings}


@pytest.mark.nightly
def test_with_idempotence_nothing_is_duplicated(kafkacheck):
    run = kafkacheck(lost_responses(idempotence=True))
    run.assert_valid()
    assert not run.verdict.findings
