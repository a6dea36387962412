"""A workload of your own, in a test file: clients that write a value and read the log until the value comes back.

A workload says everything that a run needs to know about it in one class, and what its worker processes do in one
function for each role. All else works as with the built-in `AppendLog`: the verdict, `kafkacheck replay`, `shrink`
and `analyze`. experiment.json names this file and the class: keep the file where it is to replay and shrink a run.

Run it: ``pytest examples/test_echo.py`` (about half a minute).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from pytest_kafkacheck import (
    PROBE,
    Experiment,
    Sending,
    Topic,
    WorkerContext,
    WorkerRole,
    WorkerSpec,
    Workload,
    kill,
)

LIMIT = 10.0
"""Seconds for a value to come back."""


@dataclass(frozen=True)
class Echo(Workload):
    """clients  processes that write and read.
    layout   partition to node ids; None: Kafka decides.
    """

    clients: int = 1
    layout: Mapping[int, Sequence[int]] | None = None

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (Topic(name=f"echo-{run}", partitions=1, replication_factor=3, assignment=self.layout),)

    def workers(self) -> tuple[WorkerSpec, ...]:
        sending = {"acks": "all", "idempotence": True, "record_size": 0, "client": {}}
        return (
            *(WorkerSpec(role=CLIENT, process=number, options=sending) for number in range(self.clients)),
            # Asks the brokers for their state, without which the verdict would be unknown.
            WorkerSpec(role=PROBE, process=self.clients),
        )

    # For replay: the same nodes lead again.
    def with_layout(self, layout: Mapping[int, Sequence[int]] | None) -> Echo:
        return replace(self, layout=layout)

    # For shrink: what to leave out.
    def smaller(self) -> Iterator[tuple[str, Echo]]:
        if self.clients > 1:
            yield "1 client", replace(self, clients=1)


def echo(context: WorkerContext) -> None:
    """Runs in each client process until `context.stop` is set."""
    records = context.records()
    sending = Sending(context, records)
    consumer = context.consumer(dict.fromkeys(context.logs, 0))
    if sending.connect():
        context.ready()
    for log in cycle(context.logs):
        if context.stop.wait(0.01):
            break
        sending.send([log])
        acknowledged = [each for each in sending.collect(LIMIT) if each.outcome.type == "ok"]
        deadline = time.monotonic() + LIMIT
        while any(consumer.positions[log] <= (each.outcome.offset or 0) for each in acknowledged):
            if context.stop.is_set() or time.monotonic() > deadline:
                break
            invoked = time.monotonic_ns()
            polled = consumer.poll(0.2)
            now = time.monotonic_ns()
            records.polled(
                context.op(), polled, invoked=invoked, completed=now, assignment=consumer.assignment
            )
    sending.finish(LIMIT)
    consumer.close()


CLIENT = WorkerRole("echo-client", echo)


def test_every_value_comes_back_although_the_leader_is_killed(kafkacheck):
    run = kafkacheck(
        Experiment(workload=Echo(clients=2), faults=[kill("leader", at=1, lasting=2)], cooldown=1)
    )
    run.assert_valid()
    assert run.verdict.exercised.faults[0].effective
