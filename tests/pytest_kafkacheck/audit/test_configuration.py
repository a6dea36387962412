"""Configurations: defaults by release, and values that make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.errors import UsageError


@pytest.mark.parametrize(
    ("version", "mode", "elr", "acks", "idempotence"),
    [
        ("0.10.2.1", "zookeeper", False, 1, False),
        ("2.8.2", "zookeeper", False, 1, False),
        ("3.0.0", "zookeeper", False, "all", False),
        ("3.1.0", "zookeeper", False, "all", False),
        ("3.0.1", "zookeeper", False, "all", True),
        ("3.9.2", "kraft", False, "all", True),
        ("4.0.1", "kraft", False, "all", True),
        ("4.1.1", "kraft", True, "all", True),
    ],
)
def test_defaults_of_a_release(version: str, mode: str, elr: bool, acks: object, idempotence: bool) -> None:
    made = Configuration(version=version)
    assert (made.mode, made.elr, made.acks, made.idempotence) == (mode, elr, acks, idempotence)


def test_idempotence_is_off_where_acks_are_too_few_for_it() -> None:
    assert not Configuration(acks=1).idempotence
    assert Configuration(idempotence=True, client_version="2.8.2").acks == "all"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"replication": 0}, "replication=0: expected a whole number, 1 or more"),
        ({"min_isr": True}, "min_isr=True: expected a whole number, 1 or more"),
        ({"acks": 2}, "acks=2: expected all, 1, 0"),
        ({"acks": True}, "acks=True: expected all, 1, 0"),
        ({"version": "4"}, "version='4': expected a Kafka release, such as 4.1.1"),
        ({"version": "3.2.0", "mode": "kraft"}, "KRaft is fit for production since Kafka 3.3"),
        ({"version": "4.1.1", "mode": "zookeeper"}, "Kafka 4.0 removed ZooKeeper mode"),
        ({"version": "3.9.2", "elr": True}, "eligible leader replicas need Kafka 4.0"),
        ({"version": "4.1.1", "protocol": "0.10.2"}, "KRaft has no such setting"),
        ({"version": "2.8.2", "protocol": "3.0"}, "it is later than the release"),
        ({"commit": "sometimes"}, "commit='sometimes': expected after-processing, before-processing, auto"),
    ],
)
def test_values_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", "\\(")):
        Configuration(**settings)


def test_what_cannot_be_as_it_stands_is_named() -> None:
    assert Configuration(replication=3, min_isr=2).problems() == ()
    (problem,) = Configuration(acks=1, idempotence=True).problems()
    assert problem == "enable.idempotence=true needs acks=all; with acks=1 a producer does not start"
