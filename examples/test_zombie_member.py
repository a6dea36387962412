"""A zombie: a member of a group stalls for longer than the session timeout, and goes on as if nothing had happened.

The group has given its partitions to another member meanwhile, which begins at the committed positions. So what the
zombie had polled and not committed is handled twice, and not more. The coordinator refuses the zombie's commits.
What a zombie does outside of the group, such as sending, nobody refuses, unless it is in the same transaction.

Run it: ``pytest examples/test_zombie_member.py`` (about two minutes).
"""

from __future__ import annotations

import pytest

from pytest_kafkacheck import Copy, Experiment, Groups, pause_client

SAFE = {"min.insync.replicas": 2}


@pytest.mark.nightly
def test_the_commits_of_a_zombie_are_refused(kafkacheck):
    run = kafkacheck(
        Experiment(
            workload=Groups(members=2, session_timeout=3, commit="periodic", topic_config=SAFE),
            faults=[pause_client("role:member", at=4, lasting=8)],
        )
    )
    run.assert_valid()
    assert run.verdict.exercised.commits["fail"] > 0


def zombie(guarantee: str) -> Experiment:
    """It takes 1 s between the copies of a batch and the commit, so the pause begins there."""
    return Experiment(
        workload=Copy(guarantee=guarantee, work=1, session_timeout=3, topic_config=SAFE),
        faults=[pause_client("role:copier", at=4, lasting=8)],
        cooldown=8,
        expect="valid" if guarantee == "exactly-once" else "invalid",
    )


@pytest.mark.nightly
def test_what_a_zombie_sends_stays(kafkacheck):
    kafkacheck(zombie("at-least-once")).assert_invalid("duplicate-copy")


@pytest.mark.nightly
def test_the_transaction_of_a_zombie_is_refused(kafkacheck):
    kafkacheck(zombie("exactly-once")).assert_valid()
