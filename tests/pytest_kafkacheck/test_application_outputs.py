"""Which inputs have outputs, by batches of source and sink; and of which applications one can see that."""

from __future__ import annotations

import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from pytest_kafkacheck import AppendLog, Pipeline, UsageError, kill
from pytest_kafkacheck.experiment.applications.outputs import Outputs, Place
from pytest_kafkacheck.experiment.applications.plan import ApplicationPlan, unseen
from pytest_kafkacheck.experiment.experiment import Experiment
from workloads.tokens import token

SOURCE, SINK = ("orders-r", 0), ("invoices-r", 0)

ABORTED, COMMITTED = 0, 1

ROOT = Path(__file__).parents[2]


def batch(first: int, *values: bytes, producer: int = -1) -> bytes:
    """Of a transaction, if it has a producer."""
    builder = DefaultRecordBatchBuilder(2, 0, producer >= 0, producer, 0, 0, 1 << 20)
    for number, value in enumerate(values):
        builder.append(number, 1, None, value, [])
    return placed(builder.build(), first)


def marker(at: int, kind: int, *, producer: int) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, True, producer, 0, -1, 1 << 20)
    builder.append(0, 1, struct.pack(">hh", 0, kind), b"\0" * 6, [])
    data = bytearray(builder.build())
    at_attributes = DefaultRecordBatch.ATTRIBUTES_OFFSET
    (attributes,) = struct.unpack_from(">h", data, at_attributes)
    struct.pack_into(">h", data, at_attributes, attributes | DefaultRecordBatch.CONTROL_MASK)
    return placed(data, at)


def placed(data: Any, first: int) -> bytes:
    return struct.pack(">q", first) + bytes(data[8:])


@pytest.fixture
def outputs() -> Outputs:
    """Inputs 0 to 9 are in the source."""
    made = Outputs("r", source=SOURCE[0], identify=None)
    made.next = {SOURCE: 0, SINK: 0}
    assert made.read(SOURCE, batch(0, *(token("r", value).encode() for value in range(10))))
    made.begin(SOURCE)
    return made


def write(outputs: Outputs, data: bytes) -> None:
    outputs.read(SINK, data)
    outputs.settle()


def invoices(*values: int) -> list[bytes]:
    return [b'{"of": "%s"}' % token("r", value).encode() for value in values]


def inputs(found: list[tuple[Place, Place]]) -> list[int]:
    return [of.offset for of, _ in found]


def test_outputs_count_from_the_position_on(outputs: Outputs) -> None:
    assert outputs.last(SOURCE) == -1
    write(outputs, batch(0, *invoices(0, 1, 2)))
    assert outputs.next == {SOURCE: 10, SINK: 3}
    assert outputs.last(SOURCE) == 2
    assert outputs.from_position(SOURCE, 1) == [
        (Place(SOURCE, 1), Place(SINK, 1)),
        (Place(SOURCE, 2), Place(SINK, 2)),
    ]
    assert outputs.from_position(SOURCE, 3) == []
    assert str(Place(SINK, 2)) == "2 of invoices-r-0"


def test_outputs_of_a_transaction_count_once_it_is_committed(outputs: Outputs) -> None:
    write(outputs, batch(0, *invoices(0, 1), producer=7) + batch(2, *invoices(4), producer=8))
    assert outputs.from_position(SOURCE, 0) == []
    assert {producer: inputs(found) for producer, found in outputs.in_transactions({SOURCE}).items()} == {
        7: [0, 1], 8: [4],
    }  # fmt: skip
    assert outputs.last(SOURCE) == 4, "they are there, and nobody knows how the transaction ends"
    write(outputs, marker(3, COMMITTED, producer=7) + marker(4, ABORTED, producer=8))
    assert inputs(outputs.from_position(SOURCE, 0)) == [0, 1]
    assert outputs.in_transactions({SOURCE}) == {}
    assert outputs.last(SOURCE) == 1


def test_what_another_process_wrote_is_not_new_and_is_there(outputs: Outputs) -> None:
    write(outputs, batch(0, *invoices(0, 1)) + batch(2, *invoices(2), producer=7))
    outputs.begin(SOURCE)
    assert outputs.from_position(SOURCE, 0) == []
    assert outputs.in_transactions({SOURCE}) == {}
    assert outputs.last(SOURCE) == 2
    write(outputs, marker(3, COMMITTED, producer=7) + batch(4, *invoices(0)))
    assert inputs(outputs.from_position(SOURCE, 0)) == [0], "it was written again"


def test_records_that_name_no_input_do_not_count(outputs: Outputs) -> None:
    assert outputs.read(SINK, batch(0, b"metrics", *invoices(99)))
    assert not outputs.read(SINK, b"")
    outputs.settle()
    assert outputs.last(SOURCE) == -1
    assert outputs.next[SINK] == 2


def test_an_input_that_came_while_the_sink_was_read_has_its_output(outputs: Outputs) -> None:
    """Otherwise its position would be ahead of the outputs."""
    outputs.read(SINK, batch(0, *invoices(10)))
    outputs.read(SOURCE, batch(10, token("r", 10).encode()))
    outputs.settle()
    assert outputs.last(SOURCE) == 10


COMMAND = [sys.executable, "{bootstrap}", "{source}", "{sink}"]


def right(*_: object) -> bool:
    return True


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        (AppendLog(), "AppendLog runs no application"),
        (Pipeline(command=COMMAND), "does not use the placeholder {group}"),
        (
            Pipeline(command=[*COMMAND, "{group}"], aggregate=right),
            "with aggregate, outputs name no single inputs",
        ),
        (Pipeline(command=[*COMMAND, "{group}"], instances=2), "only their client.id says which of them"),
    ],
)
def test_applications_that_nobody_can_look_at_are_refused_before_anything_starts(
    workload: Any, said: str
) -> None:
    assert said in (unseen(workload) or "")
    assert ApplicationPlan.of(workload, "r") is None
    if isinstance(workload, Pipeline):
        with pytest.raises(UsageError, match="trigger 'committed-ahead:app:0'") as refused:
            Experiment(workload=workload, faults=[kill("app:0", after="committed-ahead:app:0", lasting=1)])
        assert said in str(refused.value)


def test_a_plan_has_the_names_of_the_run() -> None:
    workload = Pipeline(source="orders", sink="invoices", command=[*COMMAND, "{group}"], group="invoicing")
    both = replace(workload, instances=2, env={"ID": "{client}"})
    for instances, each in ((1, workload), (2, both)):
        assert unseen(each) is None
        assert ApplicationPlan.of(each, "r") == ApplicationPlan(
            run="r", source="orders-r", sink="invoices-r", group="invoicing-r", identify=None,
            clients={number: f"invoicing-r-{number}" for number in range(instances)},
        )  # fmt: skip


def test_schedules_know_the_group_of_an_application() -> None:
    topology = Experiment(workload=Pipeline(command=[*COMMAND, "{group}"])).topology
    assert topology.members == {"application": 0}
    assert topology.transactions == ()
    assert topology.unseen_instances is None


def test_an_experiment_is_made_without_client_libraries() -> None:
    program = (
        "import sys; from pytest_kafkacheck import Experiment, Pipeline; "
        "Experiment(workload=Pipeline(command=['a', '{bootstrap}', '{source}', '{sink}', '{group}'])); "
        "print([name for name in ('kafka', 'pyarrow', 'docker', 'pyspark') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"
