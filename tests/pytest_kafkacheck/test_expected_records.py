"""For how many records Spark is warmed up."""

from __future__ import annotations

from pytest_kafkacheck import AppendLog, Experiment, isolate
from pytest_kafkacheck.experiment.harness import UNLIMITED, expected_records


def test_it_grows_with_the_rate_the_clients_and_the_time() -> None:
    def of(duration: float = 10, faults: tuple = (), **options: int) -> int:  # type: ignore[type-arg]
        workload = AppendLog(**{"producers": 2, "readers": 1, "sessions": 1, "rate": 100} | options)
        return expected_records(Experiment(workload=workload, duration=duration, faults=faults, cooldown=0))

    assert of() >= 100 * 2 * 10 * 4
    assert of(rate=200) == 2 * of()
    assert of(readers=2) == of() + 100 * 2 * 10
    assert of(duration=20) == 2 * of()
    assert of(faults=(isolate("leader", at=20, lasting=10),)) == 3 * of()


def test_full_speed_counts_as_many() -> None:
    assert expected_records(Experiment(workload=AppendLog(rate=None))) == UNLIMITED
