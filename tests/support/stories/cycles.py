"""Histories whose transactions form cycles, or would do so with one dependency more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.support.stories.transactions import ONE, READ, TWO, A, B, C, Span, txn

D, E, F, G, H = range(104, 109)


def in_pairs(
    s: Any, *pairs: tuple[int, int], spans: Mapping[int, Span] | None = None, kind: str = "ok",
    is_read: bool = True,
) -> Any:  # fmt: skip
    """Each pair of transactions in the order of their records in a log. All overlap, and they end in the order of
    their numbers.

    spans    when other transactions begin and end.
    kind     the outcome of A.
    is_read  whether final reads find the records of A.
    """
    times = {op: (1, op) for pair in pairs for op in pair} | dict(spans or {})
    for partition, pair in enumerate(pairs):
        for offset, op in enumerate(pair):
            more = {"process": op - 100, "partition": partition, "type": kind if op == A else "ok"}
            s.send(value(op, partition), offset, transaction=op, at=times[op], **more)
    for op, span in times.items():
        txn(s, op, span, process=op - 100, name=f"x{op}", kind=kind if op == A else "ok")
    for partition, pair in enumerate(pairs):
        log = {offset: value(op, partition) for offset, op in enumerate(pair) if op != A or is_read}
        s.final(log, end=2, partition=partition, **READ)
    return s


def value(op: int, partition: int) -> int:
    return (op - 100 << 40) + partition


def cycle_within_one_span(s: Any) -> Any:
    """Only C to A goes back, and the others lie next to each other in between."""
    return in_pairs(s, (A, B), (B, C), (C, A))


def cycle_over_spans_that_touch(s: Any) -> Any:
    """The dependencies C to B and B to A go back, and the cycle needs one from A to C."""
    return in_pairs(s, (A, C), (C, B), (B, A))


def cycle_over_spans_that_overlap(s: Any) -> Any:
    """The dependencies C to A and D to B go back, and the cycle needs one from A to D."""
    return in_pairs(s, (A, D), (D, B), (B, C), (C, A))


def cycle_over_a_span_that_holds_another(s: Any) -> Any:
    """C to B goes back, too, within the span of E to A, which that of F to D overlaps."""
    return in_pairs(s, (A, F), (F, D), (D, E), (E, A), (C, B))


def two_cycles_with_a_dependency_between_them(s: Any) -> Any:
    return in_pairs(s, (A, B), (B, A), (B, C), (C, D), (D, C))


def opposite_orders_in_one_of_two_logs(s: Any) -> Any:
    """Two logs have one order. The first of them is shown."""
    return in_pairs(s, (A, B), (A, B), (B, A))


def opposite_orders_with_two_records_of_one(s: Any) -> Any:
    """A transaction does not depend on itself."""
    in_pairs(s, (A, B), (B, A)).send(ONE + 7, 2, transaction=A, partition=1, at=(1, A))
    return s.poll(ONE + 7, 2, partition=1, **READ)


def opposite_orders_with_an_aborted_transaction(s: Any) -> Any:
    """Readers got its records, which is an anomaly of its own."""
    return in_pairs(s, (A, B), (B, A), kind="fail")


def opposite_orders_with_a_transaction_of_unknown_outcome(s: Any) -> Any:
    """A broker acknowledged its records. Nobody got them, so that it may have been aborted."""
    return in_pairs(s, (A, B), (B, A), kind="info", is_read=False)


def opposite_orders_as_acknowledged(s: Any) -> Any:
    """Only the acknowledgements show where the records of A were, which are lost."""
    return in_pairs(s, (A, B), (B, A), is_read=False)


def opposite_orders_with_a_tombstone(s: Any) -> Any:
    """A record without a value cannot be recognised when it is read."""
    s.send(ONE + 7, 2, value=None, transaction=A, at=(1, A))
    s.send(TWO + 7, 3, transaction=B, at=(1, B))
    return in_pairs(s, (C, D), (B, A)).poll(TWO + 7, 3, **READ)


def opposite_orders_with_the_second_of_two_copies(s: Any) -> Any:
    """A record of A lies before and behind that of B. The first copy counts."""
    return in_pairs(s, (A, B), (A, B)).poll(ONE, 2, process=11, **READ)


def written_against_real_time_by_one_that_never_ended(s: Any) -> Any:
    """C ended before A began, yet A comes before B, and B before C. A final read found the record of A."""
    return in_pairs(s, (A, B), (B, C), spans={A: (30, None), B: (1, 50), C: (10, 20)}, kind="info")


def written_against_real_time_beside_other_dependencies(s: Any) -> Any:
    """C ended before A began, yet A comes before B, and B before C. D lies between C and A in real time, and depends
    on transactions outside of that cycle. The order of G and H goes back as well, long after it."""
    spans = {A: (30, 40), C: (10, 20), D: (22, 24), E: (1, 15)}
    spans |= {op: (1, end) for op, end in ((B, 50), (F, 60), (G, 70), (H, 80))}
    return in_pairs(s, (A, B), (B, C), (E, D), (D, F), (H, G), spans=spans)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    cycle_within_one_span: {"G0": 1},
    cycle_over_spans_that_touch: {"G0": 1},
    cycle_over_spans_that_overlap: {"G0": 1},
    cycle_over_a_span_that_holds_another: {"G0": 1},
    two_cycles_with_a_dependency_between_them: {"G0": 2},
    opposite_orders_in_one_of_two_logs: {"G0": 1},
    opposite_orders_with_two_records_of_one: {"G0": 1},
    opposite_orders_with_an_aborted_transaction: {"G1a": 2},
    opposite_orders_with_a_transaction_of_unknown_outcome: {},
    opposite_orders_with_a_tombstone: {},
    opposite_orders_with_the_second_of_two_copies: {"duplicate": 1},
    opposite_orders_as_acknowledged: {"G0": 1, "lost-write": 2},
    written_against_real_time_beside_other_dependencies: {"G0-realtime": 1},
    written_against_real_time_by_one_that_never_ended: {"G0-realtime": 1},
}
