"""Rows on their way to a segment, held by column: a column costs nothing for the rows in which it is null, and little
where consecutive rows have the same value. The segment has all rows, each with all columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

TEXT = pa.string()

KEPT = 1024
"""Values of an array that is kept."""


class Piece(NamedTuple):
    """Values of one column for consecutive rows from `begin`.

    values  one for each row, or None if all have the value `same`.
    """

    begin: int
    length: int
    values: Sequence[Any] | None
    same: Any


class Columns:
    """Collects rows of a table. Not thread-safe.

    table   its name, for messages.
    schema  its columns.
    """

    def __init__(self, table: str, schema: pa.Schema) -> None:
        self._table, self._schema = table, schema
        self._pieces: dict[str, list[Piece]] = {name: [] for name in schema.names}
        self._count = 0
        self._constants: dict[str, tuple[Any, pa.Array | None]] = {}
        """Of each column: its last single value, and once it came twice in a row, an array of it."""

    def __len__(self) -> int:
        return self._count

    def add(
        self, count: int, same: Mapping[str, Any], each: Mapping[str, Sequence[Any]] | None = None
    ) -> None:
        """Take `count` rows. Columns that are not given are null.

        same  columns of which all these rows have one value.
        each  columns with a value for each row. They must not be changed later.
        Raises ValueError for a column that the table does not have, and for another number of values.
        """
        begin, pieces, each = self._count, self._pieces, each or {}
        if not (same.keys() <= pieces.keys() and each.keys() <= pieces.keys()):
            unknown = ", ".join(map(repr, sorted({*same, *each} - pieces.keys())))
            raise ValueError(
                f"the table {self._table} has no column {unknown}; its columns are {', '.join(pieces)}"
            )
        for name, values in each.items():
            if len(values) != count:
                raise ValueError(f"column {name}: {len(values)} values for {count} rows")
        for name, value in same.items():
            pieces[name].append(Piece(begin, count, None, value))
        for name, values in each.items():
            pieces[name].append(Piece(begin, count, values, None))
        self._count += count

    def take(self) -> pa.RecordBatch:
        """All rows, in the order in which they were added. Then there are none."""
        arrays = [self._array(field) for field in self._schema]
        for pieces in self._pieces.values():
            pieces.clear()
        self._count = 0
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, field: pa.Field) -> pa.Array:
        pieces, count = self._pieces[field.name], self._count
        first = pieces[0].same if pieces else None
        if all(piece.values is None and piece.same == first for piece in pieces) and (
            first is None or sum(piece.length for piece in pieces) == count
        ):
            return self._repeated(field, first, count)
        values: list[Any] = []
        for begin, length, of, same in pieces:
            if len(values) < begin:
                values += [None] * (begin - len(values))
            if of is None:
                values += [same] * length
            else:
                values += of
        values += [None] * (count - len(values))
        # Most columns of text hold one value, and comparing takes a fifth of the time of converting.
        if field.type == TEXT and count and values.count(values[0]) == count:
            return self._repeated(field, values[0], count)
        return pa.array(values, field.type)

    def _repeated(self, field: pa.Field, value: Any, count: int) -> pa.Array:
        """Most values last for many batches, and a slice takes a fifth of the time of a new array."""
        known, array = self._constants.get(field.name, (None, None))
        if known == value and type(known) is type(value):
            if array is None or len(array) < count:
                array = pa.repeat(pa.scalar(value, field.type), max(count, KEPT))
                self._constants[field.name] = (value, array)
            return array.slice(0, count)
        self._constants[field.name] = (value, None)
        return pa.repeat(pa.scalar(value, field.type), count)
