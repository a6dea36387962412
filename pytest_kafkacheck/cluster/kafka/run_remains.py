"""Deletes what clients of an interrupted run left on brokers: topics and groups that are named after the run."""

from __future__ import annotations

import time
from collections.abc import Mapping

import kafka.errors
from kafka.protocol.admin import DeleteGroupsRequest, ListGroupsRequest

from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.errors import KafkacheckError
from workloads.clients.connection import Address, ask

INTERVAL = 0.5
"""Seconds between two looks."""

LOOKS = 2
"""In a row that find nothing: a request that a killed process sent may take effect after the first."""

GONE = (0, 69)
"""Error codes of a group that is deleted: none, GROUP_ID_NOT_FOUND."""


def delete_remains(brokers: Mapping[int, Address], run: str, *, limit: float) -> list[str]:
    """Returns what is left, with the reason; empty if nothing is.

    limit  seconds: a group can be deleted once its last member is gone, which for the member of a killed process
           takes its session timeout.
    """
    deadline, empty = time.monotonic() + limit, 0
    while True:
        left = [*_delete_topics(brokers, run), *_delete_groups(brokers, run)]
        empty = 0 if left else empty + 1
        if empty == LOOKS or time.monotonic() >= deadline:
            return left
        time.sleep(INTERVAL)


def is_of_run(name: str, run: str) -> bool:
    return run in name.split("-")


def _delete_topics(brokers: Mapping[int, Address], run: str) -> list[str]:
    """Those that were there: the next look shows whether they are gone."""
    names: set[str] = set()
    left = []
    for address in brokers.values():
        try:
            names |= {name for name, _ in metadata_views.metadata(address, None) if is_of_run(name, run)}
        except OSError as error:
            left.append(_unanswered(address, error))
    for name in sorted(names):
        reason = "still being deleted"
        try:
            topics.delete(brokers, name)
        except KafkacheckError as error:
            reason = str(error)
        left.append(f"topic {name} ({reason})")
    return left


def _delete_groups(brokers: Mapping[int, Address], run: str) -> list[str]:
    """Each broker lists and deletes the groups that it coordinates."""
    left = []
    for address in brokers.values():
        try:
            left += _delete_groups_of(address, run)
        except OSError as error:
            left.append(_unanswered(address, error))
    return left


def _delete_groups_of(coordinator: Address, run: str) -> list[str]:
    listed = ask(coordinator, ListGroupsRequest(version=3), timeout=metadata_views.TIMEOUT).groups
    names = [each.group_id for each in listed if is_of_run(each.group_id, run)]
    if not names:
        return []
    request = DeleteGroupsRequest(version=2, groups_names=names)
    return [
        f"group {each.group_id} ({kafka.errors.for_code(each.error_code).__name__})"
        for each in ask(coordinator, request, timeout=metadata_views.TIMEOUT).results
        if each.error_code not in GONE
    ]


def _unanswered(address: Address, error: OSError) -> str:
    return f"what broker {address} knows ({error or type(error).__name__})"
