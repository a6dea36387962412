"""What clients did around each fault is counted the same one by one and by tenth of a second."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import combinations_with_replacement
from typing import Any

import pytest

from analyzers.judge.around_faults import MANY_EVENTS, AroundFault, around_faults
from workloads.history.schema import NEMESIS

pytestmark = pytest.mark.spark

SECOND = 1_000_000_000
STAGES = {
    "in one tenth": ((1 * SECOND + 200, 1 * SECOND + 300), (1 * SECOND + 500, 1 * SECOND + 700)),
    "at whole seconds": ((3 * SECOND, 4 * SECOND - 1), (6 * SECOND, 6 * SECOND + 1)),
    "never injected": ((7 * SECOND, None), None),
    "never healed": ((8 * SECOND, 8 * SECOND + 5), None),
}
"""By event: when it was injected and healed, each from and to, in ns."""

BORDERS = sorted(
    {at for stages in STAGES.values() for stage in stages if stage for at in stage if at is not None}
)
TIMES = sorted({0, 5 * SECOND, 9 * SECOND, *(at + aside for at in BORDERS for aside in (-1, 0, 1))})
SPANS = list(combinations_with_replacement(TIMES, 2))


def around_each_border(s: Any) -> Any:
    for event, stages in STAGES.items():
        for name, at in zip(("inject", "heal"), stages, strict=True):
            if at is not None:
                value = json.dumps({"event": event, "stage": name})
                s.operation(
                    "isolate", at=at, process=NEMESIS, type="info", value=value, topic=None, partition=None
                )
    for n, at in enumerate(SPANS):
        s.send(1 << 40 | n, n, at=at, **({"source": n} if n % 3 == 0 else {}))
        s.operation("read", at=at, session=1, process=7, start_offset=0, end_offset=0)
        s.operation("commit", at=at, process=8, group=f"g{at[1]}", generation=1, end_offset=1)
        s.operation(
            "txn", at=at, process=5, value=json.dumps({"outcome": "commit"}), topic=None, partition=None
        )
        s.operation("acknowledgement", at=at, process=9, group="shared", start_offset=n)
    return s.send(1 << 40 | len(SPANS), None, at=(9 * SECOND, None), type="info")


def expected(event: str) -> AroundFault:
    (opening, opened), healed = STAGES[event]
    closing, closed = healed or (None, None)

    def after(spans: Iterable[tuple[int, int]]) -> int:
        return 0 if closed is None else sum(completed > closed for _, completed in spans)

    return AroundFault(
        before=sum(completed < opening for _, completed in SPANS),
        during=0
        if opened is None
        else sum(
            invoked >= opened and (closing is None or completed <= closing) for invoked, completed in SPANS
        ),
        after=after(SPANS),
        copies=after(SPANS[::3]),
        acknowledgements=after(SPANS),
        reads=after(SPANS),
        transactions=after(SPANS),
        groups=frozenset(
            f"g{completed}" for _, completed in SPANS if closed is not None and completed > closed
        ),
    )


@pytest.mark.parametrize("events", [MANY_EVENTS, MANY_EVENTS + 1], ids=["one by one", "by tenth of a second"])
def test_operations_at_and_beside_each_border_are_counted(loaded: Any, story: Any, events: int) -> None:
    history = loaded({"a": around_each_border(story()), "b": around_each_border(story())})
    found = around_faults(history, events=events)
    assert found == {run: {event: expected(event) for event in STAGES} for run in "ab"}
