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


class Kept(NamedTuple):
    """What the last batch had in a column that has one value: most values last for many batches, and a slice takes a
    fifth of the time of a new array. The slice is kept, too: batches of one send at a time have the same length.

    array  a long one, once the value came twice in a row.
    """

    value: Any
    array: pa.Array | None = None
    slice: pa.Array | None = None


class Columns:
    """Collects rows of a table. Not thread-safe.

    table   its name, for messages.
    schema  its columns.
    """

    def __init__(self, table: str, schema: pa.Schema) -> None:
        self._table, self._schema = table, schema
        self._fields = {field.name: (place, field) for place, field in enumerate(schema)}
        self._pieces: dict[str, list[Piece]] = {}
        """Of the columns that are not null in all rows so far."""
        self._count = 0
        self._kept = dict.fromkeys(self._fields, Kept(None))
        self._nulls: list[pa.Array] = []
        """All columns of the last batch, as if each were null."""

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
        begin, pieces, fields, each = self._count, self._pieces, self._fields, each or {}
        if not (same.keys() <= fields.keys() and each.keys() <= fields.keys()):
            unknown = ", ".join(map(repr, sorted({*same, *each} - fields.keys())))
            raise ValueError(
                f"the table {self._table} has no column {unknown}; its columns are {', '.join(fields)}"
            )
        for name, values in each.items():
            if len(values) != count:
                raise ValueError(f"column {name}: {len(values)} values for {count} rows")
        for name, value in same.items():
            if value is not None:
                pieces.setdefault(name, []).append(Piece(begin, count, None, value))
        for name, values in each.items():
            pieces.setdefault(name, []).append(Piece(begin, count, values, None))
        self._count += count

    def take(self) -> pa.RecordBatch:
        """All rows, in the order in which they were added. Then there are none."""
        count = self._count
        if not self._nulls or len(self._nulls[0]) != count:
            self._nulls = [pa.nulls(count, field.type) for field in self._schema]
        arrays = [*self._nulls]
        for name, pieces in self._pieces.items():
            place, field = self._fields[name]
            arrays[place] = self._array(field, pieces)
        self._pieces = {}
        self._count = 0
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, field: pa.Field, pieces: list[Piece]) -> pa.Array:
        count, first = self._count, pieces[0].same
        if all(piece.values is None and piece.same == first for piece in pieces) and (
            sum(piece.length for piece in pieces) == count
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
        """An array of that value."""
        known, array, part = self._kept[field.name]
        if known != value or type(known) is not type(value):
            self._kept[field.name] = Kept(value)
            return pa.repeat(pa.scalar(value, field.type), count)
        if part is not None and len(part) == count:
            return part
        if array is None or len(array) < count:
            array = pa.repeat(pa.scalar(value, field.type), max(count, KEPT))
        part = array.slice(0, count)
        self._kept[field.name] = Kept(value, array, part)
        return part
