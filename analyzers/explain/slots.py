"""The log near a finding: what was seen at each offset, and what each reader got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import Row

from analyzers.explain.evidence.excerpt import MAX_ROWS
from analyzers.explain.explanation import Slot
from analyzers.explain.labels import Labels
from analyzers.explain.names import value_name


def slots(
    rows: Sequence[Row], offsets: Sequence[int], values: Sequence[int], around: int, labels: Labels
) -> Iterator[Slot]:
    """In order of offset. An offset at which nothing was seen has a slot if it lies between others that were seen."""
    seen = {row.offset for row in rows}
    holes = {offset for offset in range(min(seen), max(seen)) if offset not in seen} if seen else set()
    near = {hole for hole in holes if any(abs(hole - focus) <= around for focus in offsets)}
    lines = [
        *((row.offset, row) for row in rows),
        *((offset, None) for offset in near | (set(offsets) - seen)),
    ]
    for offset, row in sorted(lines, key=lambda line: (line[0], _order(line[1]))):
        if row is None:
            yield Slot(offset=offset, value=None, focus=offset in offsets)
            continue
        yield Slot(
            offset=offset,
            value=value_name(row.value) if row.value is not None else f"({row.problem})",
            epoch=row.epoch,
            written=f"acknowledged to {labels.client(row.acked)}" if row.acked is not None else "",
            read=_readers(row, labels),
            focus=offset in offsets and (not values or row.value in values),
        )


def reader_line(row: Row, labels: Labels) -> tuple[str, str]:
    """A reader, and the records it got as offset=value."""
    seen = [f"{offset}={value_name(value) if value is not None else '?'}" for _, offset, value in row.seen]
    return labels.reader(row), " ".join(seen[:MAX_ROWS]) + (" ..." * (len(seen) > MAX_ROWS))


def _order(row: Row | None) -> int:
    return -1 if row is None or row.value is None else int(row.value)


def _readers(row: Row, labels: Labels) -> str:
    if not row.readers:
        return "no process"
    number = f"{row.readers:,} process{'es' * (row.readers > 1)}"
    return f"{number}, first {labels.at(row.first_read)}{', final read' * bool(row.in_final)}"
