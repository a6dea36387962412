"""A load that is uneven and changes with the phase, on real brokers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pyarrow.parquet as pq
import pytest

from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.append_log import AppendLog

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(300)]


def test_a_load_changes_with_the_phase_and_differs_from_partition_to_partition(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    workload = AppendLog(
        producers=1,
        sessions=0,
        rate={"start": 100, "steady": 1000, "recovery": 300},
        record_size={100: 9, 5000: 1},
        skew=1,
    )
    run = kafkacheck(Experiment(workload=workload, warm_up=4, duration=4, cooldown=4))
    run.assert_valid()
    rows = pq.read_table(run.path / "history" / "records", filters=[("f", "=", "send")]).to_pylist()
    begun = {phase.phase: phase.sends for phase in run.verdict.availability.phases}
    for phase, expected in {"start": 400, "steady": 4000, "recovery": 1200}.items():
        assert 0.8 * expected < begun[phase] < 1.5 * expected, begun
    found = Counter(row["partition"] for row in rows)
    # Shares of 6, 3 and 2 of 11.
    for partition, share in enumerate((6, 3, 2)):
        assert abs(found[partition] / len(rows) - share / 11) < 0.05, found
