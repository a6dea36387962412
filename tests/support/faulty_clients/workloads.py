"""Workloads whose sound clients are accompanied by faulty ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from workloads.admin import Admin
from workloads.append_log import AppendLog
from workloads.groups import Groups
from workloads.transactions import Transactions
from workloads.workload import WorkerRole, WorkerSpec

HERE = "tests.support.faulty_clients"

WRONG_READER = WorkerRole("wrong-reader", f"{HERE}.readers:read_wrongly")
STOPPED_READER = WorkerRole("stopped-reader", f"{HERE}.readers:read_and_stop", poll_limit=1.0)
FORGETFUL_SESSION = WorkerRole("forgetful-session", f"{HERE}.readers:read_to_an_old_end")
WRONG_SENDER = WorkerRole("wrong-sender", f"{HERE}.senders:send_wrongly")
CARELESS_SENDER = WorkerRole("careless-sender", f"{HERE}.senders:send_and_forget")
MISLABELLED_READER = WorkerRole("mislabelled-reader", f"{HERE}.readers:read_uncommitted_as_committed")
SLOW_TRANSACTOR = "tests.support.faulty_clients.senders:transact_slowly"
DELETER = WorkerRole("deleter", f"{HERE}.outsiders:delete_topics_of_administrators")


def numbered(workers: Iterable[WorkerSpec]) -> tuple[WorkerSpec, ...]:
    return tuple(replace(each, process=process) for process, each in enumerate(workers))


def beside(workers: Iterable[WorkerSpec], role: WorkerRole) -> tuple[WorkerSpec, ...]:
    return numbered([*workers, WorkerSpec(role=role, process=0)])


def stopped_first(order: tuple[tuple[str, ...], ...], role: WorkerRole) -> tuple[tuple[str, ...], ...]:
    """The order in which roles are stopped, with this one among the first."""
    first, *later = order
    return ((*first, role.name), *later)


@dataclass(frozen=True, kw_only=True)
class WithFaultyClients(AppendLog):
    partitions: int = 1
    producers: int = 1
    readers: int = 1
    sessions: int = 0
    rate: Any = 200

    def workers(self) -> tuple[WorkerSpec, ...]:
        return numbered([
            *super().workers(),
            WorkerSpec(role=WRONG_READER, process=0),
            WorkerSpec(role=STOPPED_READER, process=0),
            WorkerSpec(role=FORGETFUL_SESSION, process=0, session=100),
            WorkerSpec(role=WRONG_SENDER, process=0),
        ])  # fmt: skip

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return stopped_first(super().stop_order, WRONG_SENDER)


@dataclass(frozen=True, kw_only=True)
class WithCarelessSender(AppendLog):
    """Mostly its sessions write, so that the log is short: after a truncation, they soon write at offsets that they
    have used before."""

    partitions: int = 1
    producers: int = 1
    sessions: int = 3
    rate: Any = 10

    def workers(self) -> tuple[WorkerSpec, ...]:
        return beside(super().workers(), CARELESS_SENDER)

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return stopped_first(super().stop_order, CARELESS_SENDER)


@dataclass(frozen=True, kw_only=True)
class WithMislabelledReader(Transactions):
    """Its transactors stretch their transactions, so that they overlap."""

    partitions: int = 2
    size: int = 12
    rate: Any = 200
    aborts: float = 0.3
    stalls: float = 0.1
    timeout: float = 1.0
    uncommitted_readers: int = 0

    def workers(self) -> tuple[WorkerSpec, ...]:
        workers = [
            replace(each, role=replace(each.role, function=SLOW_TRANSACTOR))
            if each.role.name == "transactor"
            else each
            for each in super().workers()
        ]
        options: Mapping[str, Any] = {"auto_offset_reset": "earliest", "committed": True}
        return numbered([*workers, WorkerSpec(role=MISLABELLED_READER, process=0, options=options)])


@dataclass(frozen=True, kw_only=True)
class WithFaultyMembers(Groups):
    """One group for each defect."""

    partitions: int = 3
    rate: Any = 60
    groups: int = 5
    members: int = 2

    def workers(self) -> tuple[WorkerSpec, ...]:
        """The members of each group: the role's function of each, and for how long it leaves its group."""
        functions: dict[str, list[tuple[str, float | None]]] = {
            "group-0": [("commit_wrong_positions", None)],
            "group-1": [("join_again_after_a_reset", 1.5)],
            "group-2": [("", 1.5), ("work_for_long", None)],
            "group-3": [("assign_everything_to_everyone", None)] * 2,
            "group-4": [("commit_positions_of_another_topic", None)],
        }
        members = {
            (each.options["group"], each.options["number"]): each
            for each in super().workers()
            if "group" in each.options
        }
        others = [each for each in super().workers() if "group" not in each.options]
        chosen = [
            _with(members[group, number], function, len(wanted), rejoin)
            for group, wanted in functions.items()
            for number, (function, rejoin) in enumerate(wanted)
        ]
        return numbered([*others, *chosen])


def _with(worker: WorkerSpec, function: str, members: int, rejoin: float | None) -> WorkerSpec:
    role = replace(worker.role, function=f"{HERE}.members:{function}") if function else worker.role
    return replace(worker, role=role, options={**worker.options, "members": members, "rejoin": rejoin})


@dataclass(frozen=True, kw_only=True)
class WithDeleter(Admin):
    administrators: int = 1
    side_topics: int = 4
    inspect_every: int = 1

    def workers(self) -> tuple[WorkerSpec, ...]:
        return beside(super().workers(), DELETER)
