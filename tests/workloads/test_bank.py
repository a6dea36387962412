"""Bank: its topics and workers, the values that it refuses, and what a transactor writes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.verdict.promises import PROMISES
from tests.support.worker_context import worker_context
from tests.workloads.test_transactions import OPTIONS, FakeProducer, rows
from workloads.bank import Bank
from workloads.clients.protocol import Log
from workloads.conformance import check_workload
from workloads.payload import amount_of
from workloads.roles.context import WorkerContext
from workloads.roles.transact import LARGEST_AMOUNT, Transactor, transfers


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"topics_written": 0}, "Bank.topics_written=0: expected a whole number, 1 to 100"),
        ({"topics_written": 1, "partitions": 1},
         "Bank.partitions=1 with topics_written=1: expected two accounts at least"),
        ({"transactors": 0}, "Bank.transactors=0: expected a whole number, 1 to 100"),
        ({"rivals": -1}, "Bank.rivals=-1"),
        ({"transfers": 0}, "Bank.transfers=0: expected a whole number, 1 to 500"),
        ({"snapshot_readers": -1}, "Bank.snapshot_readers=-1"),
        ({"rate": 0}, "Bank.rate=0: expected records per second above 0, or None"),
        ({"aborts": 2}, "Bank.aborts=2: expected a share, 0 to 1"),
        ({"stalls": "few"}, "Bank.stalls='few': expected a share, 0 to 1"),
        ({"timeout": 0}, "Bank.timeout=0: expected seconds, 1 to 900"),
        ({"interval": 0}, "Bank.interval=0: expected seconds, 0.1 to 3600"),
        ({"topic_config": {"min.insync.replicas": 4}}, "Bank.topic_config['min.insync.replicas']=4"),
        ({"assignment": {0: [1]}}, "Bank.assignment={0: [1]}: expected partitions 0 to 1"),
        ({"client": {"acks": 1}}, "Bank.client['acks']"),
        ({"library": "none"}, "Bank.library='none': expected one of"),
    ],
)  # fmt: skip
def test_values_that_are_not_allowed_are_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Bank(**values)


def test_writers_stop_before_those_that_read_what_they_wrote() -> None:
    bank = Bank(rivals=1)
    names = [each.role.name for each in bank.workers()]
    assert names == [*["transactor"] * 3, "snapshot-reader", "auditor", "probe"]
    assert bank.stop_order == (("transactor",), ("snapshot-reader",), ("auditor",))
    assert {each.role.name for each in bank.workers() if each.role.observes} == {"auditor", "probe"}
    assert Bank(snapshot_readers=0).stop_order == (("transactor",), ("auditor",))
    shared = [each.options["shared"] for each in bank.workers() if each.role.name == "transactor"]
    assert shared == [True, False, True]
    assert bank.requires <= PROMISES.keys()
    assert bank.allowed <= ANOMALIES.keys()


def test_schedules_name_the_transactional_ids() -> None:
    assert Bank(transactors=1).aliases("a1") == {"transactor-0": "transactor-0-a1"}
    assert [each.name for each in Bank().topics("a1")] == ["accounts-0-a1", "accounts-1-a1"]


@pytest.mark.parametrize(
    "values", [{}, {"rivals": 2, "transactors": 1}, {"snapshot_readers": 0, "transfers": 1}]
)
def test_it_comes_back_from_json_and_is_made_smaller(values: dict[str, Any]) -> None:
    bank = Bank(**values)
    check_workload(bank)
    smaller = dict(bank.smaller())
    assert all(each != bank for each in smaller.values())
    assert ("1 transactors" in smaller) == (bank.transactors > 1)
    for each in smaller.values():
        check_workload(each)
    layout = dict.fromkeys(range(bank.partitions), (3, 1, 2))
    assert bank.with_layout(layout).topics("a1")[1].assignment == layout


@pytest.fixture
def context(tmp_path: Path) -> WorkerContext:
    return worker_context(
        tmp_path, "transactor", OPTIONS | {"transfers": 3}, topics={"t": 2, "u": 1}, run="r1"
    )


def test_each_transfer_is_a_debit_and_a_credit_of_another_account(context: WorkerContext) -> None:
    choice = Random(1)
    sizes: Counter[int] = Counter()
    accounts: set[Log] = set()
    for _ in range(200):
        logs, amounts = transfers(context, choice)
        sizes[len(logs)] += 1
        accounts |= {*logs}
        for debited, credited in zip(logs[::2], logs[1::2], strict=True):
            assert debited != credited
        for debit, credit in zip(amounts[::2], amounts[1::2], strict=True):
            assert -LARGEST_AMOUNT <= debit < 0
            assert credit == -debit
    assert sizes.keys() == {2, 4, 6}
    assert accounts == set(context.logs)


def test_amounts_are_in_the_records_and_in_the_history(
    context: WorkerContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int | None] = []

    class Looks(FakeProducer):
        def send(self, op: int, log: Any, payload: bytes, keyed: Any = None) -> None:
            sent.append(amount_of(payload))
            super().send(op, log, payload, keyed)

    monkeypatch.setattr(context, "transactional", lambda *_, **__: Looks())
    transactor = Transactor(context, transfers)
    transactor.transact()
    transactor.close()
    context.close()
    recorded = [row for row in rows(tmp_path, "records") if row["type"] != "invoke"]
    assert [row["amount"] for row in recorded] == sent
    assert sum(row["amount"] for row in recorded) == 0
    assert {row["type"] for row in recorded} == {"ok"}
