"""Rows at which a sampled state changes, found in vectorised form: a long run has a hundred thousand samples."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

SILENT = 2_000_000_000
"""ns without a sample of a broker, after which the report says that it did not answer. Probes sample each 0.2 s to
1 s, and wait up to a second for an answer."""


def shifted(column: pa.ChunkedArray, by: int = 1) -> pa.Array:
    """Each row's value of the row before (by=1) or after it (by=-1); null where there is none."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    pad = pa.nulls(min(abs(by), len(whole)), whole.type)
    parts = [pad, whole[: len(whole) - by]] if by > 0 else [whole[-by:], pad]
    return pa.concat_arrays(parts)


def differs(table: pa.Table, columns: Sequence[str], by: int = 1) -> pa.Array:
    """Whether any of these columns differs from the row before (by=1) or after it; True where there is none."""
    found = pa.array([False] * len(table))
    for name in columns:
        mine = table[name].combine_chunks()
        other = shifted(mine, by)
        same = pc.or_(
            pc.fill_null(pc.equal(mine, other), False), pc.and_(pc.is_null(mine), pc.is_null(other))
        )
        found = pc.or_(found, pc.invert(same))
    if len(table):
        edge = pa.array([at == (0 if by > 0 else len(table) - 1) for at in range(len(table))])
        found = pc.or_(found, edge)
    return found
