"""Faulty clients on real brokers: every anomaly that a client or another program can cause is found.

`tests/support/sightings.py` says which test has seen which anomaly.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pytest_kafkacheck as api
from analyzers.catalogue.bounds import Bounds
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from tests.support.faulty_clients.workloads import (
    WithCarelessSender,
    WithDeleter,
    WithFaultyClients,
    WithFaultyMembers,
    WithMislabelledReader,
)
from workloads.groups import Groups

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SAFE = {"min.insync.replicas": 2}


def findings(run: Run) -> set[str]:
    return {finding.anomaly for finding in run.verdict.findings}


def test_readers_and_senders(kafkacheck: Callable[[Experiment], Run]) -> None:
    workload = WithFaultyClients(topic_config=SAFE)
    run = kafkacheck(Experiment(workload=workload, duration=6, expect="invalid"))
    assert findings(run) == {
        "G1a",
        "foreign-record",
        "corrupt-record",
        "phantom-read",
        "future-read",
        "realtime-order",
        "poll-skip",
        "int-poll-skip",
        "nonmonotonic-poll",
        "int-nonmonotonic-poll",
        "stalled-reader",
        "monotonic-reads",
    }


@pytest.mark.nightly
def test_a_reader_that_takes_uncommitted_records_for_committed_ones(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    workload = WithMislabelledReader(topic_config=SAFE)
    run = kafkacheck(Experiment(workload=workload, duration=10, expect="invalid"))
    assert findings(run) >= {"G1a", "precommitted-read", "read-above-lso", "G0", "int-send-skip"}


@pytest.mark.nightly
def test_members_and_programs_that_change_their_group(kafkacheck: Callable[[Experiment], Run]) -> None:
    run = kafkacheck(
        Experiment(
            workload=WithFaultyMembers(topic_config=SAFE),
            duration=15,
            bounds=Bounds(orphaned=0.5),
            expect="invalid",
        )
    )
    # A sample of the coordinator between two commits of one group shows the note, and there may be none.
    assert findings(run) - {"position-regression"} == {
        "commit-beyond-polls",
        "commit-beyond-end",
        "commit-regression",
        "excess-duplicates",
        "orphaned-partition",
        "double-ownership",
    }


@pytest.mark.nightly
def test_a_group_that_begins_at_the_end_of_an_added_partition(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    workload = Groups(partitions=2, members=1, auto_offset_reset="latest", rate=50, topic_config=SAFE)
    # Producers learn of the partition while the member stands still.
    faults = [api.pause_client("role:member", at=3, lasting=4), api.add_partitions(at=3.5)]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=6))
    assert findings(run) == {"added-partition-skip"}
    run.assert_valid()


@pytest.mark.nightly
def test_a_program_that_deletes_topics_of_others(kafkacheck: Callable[[Experiment], Run]) -> None:
    run = kafkacheck(Experiment(workload=WithDeleter(topic_config=SAFE), duration=8, expect="invalid"))
    assert findings(run) == {"forgotten-change"}


@pytest.mark.nightly
def test_a_log_that_is_written_anew(kafkacheck: Callable[[Experiment], Run]) -> None:
    """The ISR shrinks to the leader, then an unclean election replaces the leader."""
    unsafe = {"min.insync.replicas": 1, "unclean.leader.election.enable": True}
    faults = [
        api.partition("leader", plane="replication", at=2, lasting=7),
        api.kill("leader", at=8, lasting=12),
    ]
    workload = WithCarelessSender(topic_config=unsafe)
    run = kafkacheck(Experiment(workload=workload, faults=faults, expect="invalid"))
    assert findings(run) >= {
        "lost-write",
        "lost-read",
        "offset-reuse",
        "monotonic-writes",
        "writes-follow-reads",
        "nonmonotonic-send",
        "realtime-order",
        "overtaken-write",
    }
