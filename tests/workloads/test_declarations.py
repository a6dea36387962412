"""What workloads declare: it names anomalies that exist, and what they allow and need follows from it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from analyzers.catalogue.anomaly import FAMILIES
from analyzers.catalogue.registry import ANOMALIES
from workloads.admin import Admin
from workloads.append_log import AppendLog
from workloads.compacted import Compacted
from workloads.conformance import check_workload
from workloads.declaration import Allowed, Declaration, Need, always
from workloads.groups import Groups
from workloads.rewind import Rewind
from workloads.sessions import Sessions
from workloads.stored import built_in
from workloads.transactions import Transactions
from workloads.workload import PRODUCER, Topic, WorkerSpec, Workload

DECLARED = {kind: kind.declaration for kind in built_in().values()}

JUDGED_BY_BOUNDS = "availability"
"""A family that an experiment asks for, with bounds, and no workload."""


@pytest.mark.parametrize("kind", DECLARED, ids=lambda kind: kind.__name__)
def test_a_declaration_names_what_exists(kind: type[Workload]) -> None:
    each = DECLARED[kind]
    assert all((each.name, each.does, each.page, each.judged_by))
    assert set(each.judged_by) <= {*FAMILIES, *ANOMALIES}
    assert {name for allowed in each.allows for name in allowed.anomalies} <= ANOMALIES.keys()
    for part in (*each.needs, *each.allows):
        assert bool(part.when) == (part.applies is not always)
    check_workload(kind(**each.example))
    for need in each.needs:
        assert need.release == (0, 0) or f"Kafka {need.release[0]}.{need.release[1]}" in need.what


def test_each_family_is_what_some_workload_is_about() -> None:
    families = {name for each in DECLARED.values() for name in each.judged_by if name in FAMILIES}
    assert families == {*FAMILIES} - {JUDGED_BY_BOUNDS}
    assert len({each.name for each in DECLARED.values()}) == len(DECLARED)


TWICE = {"duplicate", "nonmonotonic-send"}


@pytest.mark.parametrize(
    ("workload", "allowed"),
    [
        (AppendLog(), set()),
        (AppendLog(idempotence=False), TWICE),
        (AppendLog(acks=1), {*TWICE, "read-your-writes"}),
        (Sessions(), set()),
        (Sessions(acks=1), {*TWICE, "read-your-writes"}),
        (Sessions(read_from="follower"), {"read-your-writes", "monotonic-reads"}),
        (Rewind(), {"expired"}),
        (Rewind(acks=1), {*TWICE, "expired"}),
        (Compacted(), set()),
        (Compacted(delete_retention=0.001), set()),
        (Admin(), {"expired"}),
        (Groups(auto_offset_reset="latest"), set()),
        (Transactions(stalls=0.1), set()),
    ],
)
def test_what_is_allowed_depends_on_the_configuration(workload: Workload, allowed: set[str]) -> None:
    assert workload.allowed == allowed


def test_the_least_release_is_the_highest_that_the_configuration_needs() -> None:
    assert Admin().least_release == (4, 0)
    assert Groups().least_release == (0, 0)
    two = Declaration(
        needs=(
            Need(what="Kafka 4.1", why="-", release=(4, 1), applies=lambda workload: workload > 1),
            Need(what="Kafka 3.5", why="-", release=(3, 5)),
        )
    )
    assert [two.least_release(number) for number in (1, 2)] == [(3, 5), (4, 1)]


@dataclass(frozen=True, kw_only=True)
class OfTheUser(Workload):
    declaration = Declaration(
        allows=(Allowed(anomalies=("duplicate",), why="-", applies=lambda workload: workload.retries),)
    )
    retries: bool = True

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (Topic(name=f"own-{run}", partitions=1, replication_factor=1),)

    def workers(self) -> tuple[WorkerSpec, ...]:
        return (WorkerSpec(role=PRODUCER, process=0),)


def test_a_workload_of_the_user_may_have_a_declaration() -> None:
    check_workload(OfTheUser())
    assert OfTheUser().to_json() == {"retries": True}
    assert (OfTheUser().allowed, OfTheUser(retries=False).allowed) == ({"duplicate"}, set())
