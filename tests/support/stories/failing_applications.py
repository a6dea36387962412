"""Applications with one defect each, and how it shows in the records of a run. Times in s.

Instance 0 is process 3, instance 1 process 4. All inputs are in one partition, and have one key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from tests.support.stories.failures import ONE, S, at, began, fault

SINK = "o"
KEY = 7
POOL = 1000
"""The id of the producer of instance 0; that of instance 1 is one more."""


def started(s: Any, inputs: int) -> Any:
    """Instance 0 has the partition, which gets so many inputs."""
    began(s, {})
    for process, instance in ((3, 0), (4, 1)):
        for event, time in (("started", 0), ("stopped", 30)):
            value = {"role": "app", "process": process, "event": event, "instance": instance}
            s.operation(
                "worker", at=at(time, time), process=-2, type="info", value=json.dumps(value), topic=None,
                partition=None,
            )  # fmt: skip
    for offset in range(inputs):
        s.send(ONE + offset, offset, at=at(1 + offset / 1000, 1.0005 + offset / 1000), key=KEY)
    s.now = round(26 * S)
    s.final({offset: ONE + offset for offset in range(inputs)}, end=inputs)
    return owned(s, 0.5, 0)


def owned(s: Any, time: float, instance: int) -> Any:
    return observed(s, time, "group_log", owner=f"app:{instance}", member=f"m-{instance}", generation=1)


def committed(s: Any, time: float, position: int, *, transaction: int | None = None) -> Any:
    return observed(s, time, "group_log", position=position, transaction=transaction)


def printed(s: Any, time: float, line: str) -> Any:
    return observed(s, time, "application", instance="app:0", event="printed", line=line)


def observed(s: Any, time: float, kind: str, **value: Any) -> Any:
    row = {"process": 8, "kind": kind, "topic": "t", "partition": 0, "node": 1, "value": json.dumps(value)}
    s.observations.append(row | {"time": round(time * S)})
    return s


def wrote(
    s: Any, time: float, inputs: Iterable[int], *, step: float = 0.0, by: int | None = 0,
    transactional: bool = False, places: Iterable[int] | None = None,
) -> Any:  # fmt: skip
    """One output each. by: the instance; None: a producer without an id. places: their offsets in the sink."""
    rows = [each for each in s.operations if each["f"] == "output"]
    where = iter(range(len(rows), 1_000_000) if places is None else places)
    for number, offset in enumerate(inputs):
        value = {
            "source": ONE + offset,
            "written": round((time + number * step) * S),
            "producer": None if by is None else POOL + by,
            "transactional": transactional,
        }
        s.operation(
            "output", at=at(27, 27), process=8, topic=SINK, start_offset=next(where), value=json.dumps(value)
        )
    return s


def ended(s: Any, position: int, guarantee: str = "at-least-once") -> Any:
    value = json.dumps({"sink": SINK, "guarantee": guarantee})
    return s.operation("pipeline", at=at(28, 28), process=8, end_offset=position, group="a", value=value)


def killed(s: Any, time: float) -> Any:
    return fault(s, "kill-client", time, time + 2, processes=[3], target="app:0")


def outputs_in_the_producer(s: Any) -> Any:
    """Each commit comes just after the sends."""
    started(s, 20)
    committed(wrote(s, 1.3, range(10)), 1.31, 10)
    committed(wrote(s, 1.5, range(10, 15)), 1.51, 15)
    return ended(killed(committed(s, 1.71, 20), 1.8), 20)


def commits_first(s: Any) -> Any:
    started(s, 20)
    wrote(committed(s, 1.3, 10), 1.5, range(10))
    wrote(committed(s, 1.6, 15), 1.8, range(10, 15))
    return ended(killed(committed(s, 1.9, 20), 2.0), 20)


def commits_by_timer(s: Any) -> Any:
    """Ten outputs a second, and a commit each second, of three inputs more."""
    wrote(started(s, 73), 1.05, range(70), step=0.1)
    for second in range(1, 8):
        committed(s, 1 + second, 10 * second + 3)
    return ended(killed(s, 8.02), 73)


def errors_ignored(s: Any) -> Any:
    started(s, 20)
    committed(wrote(s, 1.3, range(10)), 1.35, 10)
    fault(s, "cut-clients", 2.0, 6.0, nodes=[2])
    printed(s, 5.4, "ERROR KafkaTimeoutError: Batch for partition o-0 expired")
    committed(s, 5.5, 15)
    return ended(committed(wrote(s, 7.0, range(15, 20)), 7.1, 20), 20)


def ended_before_the_commit(s: Any, *, transactional: bool = False) -> Any:
    started(s, 20)
    committed(wrote(s, 1.3, range(10), transactional=transactional), 1.35, 10)
    killed(wrote(s, 1.5, range(10, 15), transactional=transactional), 1.55)
    wrote(owned(s, 8.0, 1), 8.2, range(10, 20), by=1, transactional=transactional)
    return ended(committed(s, 8.4, 20), 20, "exactly-once")


def positions_beside_transactions(s: Any) -> Any:
    return ended_before_the_commit(s, transactional=True)


def appended_twice(s: Any) -> Any:
    """The producer sent it again, because the answer was lost."""
    started(s, 10)
    wrote(wrote(s, 1.3, range(10), by=None), 1.3, [4], by=None)
    return ended(committed(s, 1.4, 10), 10, "exactly-once")


def goes_on_with_a_revoked_partition(s: Any) -> Any:
    """It was frozen in the middle of its work. The new owner had begun at its position when it continued."""
    mine = {"transactional": True}
    started(s, 20)
    committed(wrote(s, 1.3, range(10), **mine), 1.35, 10, transaction=POOL)
    fault(s, "pause-client", 1.5, 10.0, processes=[3], target="app:0")
    committed(wrote(owned(s, 8.0, 1), 8.2, range(10, 15), by=1, **mine), 8.3, 15, transaction=POOL + 1)
    committed(wrote(s, 10.2, range(10, 15), **mine), 10.3, 15, transaction=POOL)
    return ended(
        committed(wrote(s, 10.5, range(15, 20), by=1, **mine), 10.6, 20, transaction=POOL + 1),
        20,
        "exactly-once",
    )


def set_back_by_the_old_owner(s: Any) -> Any:
    """The new owner had done everything when the old one committed the position behind its own orders. Then the
    partition came back to it, at that position."""
    mine = {"transactional": True}
    started(s, 20)
    committed(wrote(s, 1.3, range(10), **mine), 1.35, 10, transaction=POOL)
    fault(s, "pause-client", 1.5, 10.0, processes=[3], target="app:0")
    committed(wrote(owned(s, 8.0, 1), 8.2, range(10, 20), by=1, **mine), 8.3, 20, transaction=POOL + 1)
    committed(wrote(s, 10.2, range(10, 15), **mine), 10.3, 15, transaction=POOL)
    fault(s, "kill-client", 11.0, 13.0, processes=[4], target="app:1")
    return ended(
        committed(wrote(owned(s, 17.0, 0), 17.2, range(15, 20), **mine), 17.3, 20, transaction=POOL),
        20,
        "exactly-once",
    )


def commits_a_revoked_partition(s: Any, *, time: float = 1.7) -> Any:
    """It was in the middle of a transaction when the partition moved. The new owner began at the position before."""
    mine = {"transactional": True}
    started(s, 20)
    committed(wrote(s, 1.3, range(10), **mine), 1.35, 10, transaction=POOL)
    committed(owned(wrote(s, 1.5, range(10, 15), **mine), 1.6, 1), time, 15, transaction=POOL)
    return ended(
        committed(wrote(s, 1.8, range(10, 20), by=1, **mine), 1.9, 20, transaction=POOL + 1),
        20,
        "exactly-once",
    )


def sends_overlap(s: Any) -> Any:
    """The input at 6 was with a slower thread than that at 7."""
    started(s, 10)
    wrote(s, 1.3, [*range(6), 7, 6, 8, 9], step=0.01)
    return ended(committed(s, 1.5, 10), 10, "order-per-key")


def sent_in_order_and_retried(s: Any) -> Any:
    started(s, 10)
    wrote(s, 1.3, range(10), step=0.01, by=None, places=[*range(6), 7, 6, 8, 9])
    return ended(committed(s, 1.5, 10), 10, "order-per-key")


FAILING_APPLICATIONS: tuple[Callable[[Any], Any], ...] = (
    outputs_in_the_producer,
    commits_first,
    commits_by_timer,
    errors_ignored,
    ended_before_the_commit,
    positions_beside_transactions,
    appended_twice,
    goes_on_with_a_revoked_partition,
    set_back_by_the_old_owner,
    commits_a_revoked_partition,
    sends_overlap,
    sent_in_order_and_retried,
)
