"""What checks of two neighbouring rows of one process share: rows of `steps` and of `gaps`."""

from __future__ import annotations

from analyzers.catalogue.evidence import Number

KEY_OF_BOTH = Number("the key of both records, where only the order of the key is broken", optional=True)

STEP_IS_CERTAIN = (
    "It is a step between two rows that are certainly neighbours (see `Lines.take` in "
    "`workloads.history.live.lines`)."
)
GAP_IS_CERTAIN = (
    "It is a step between two rows that are certainly neighbours (see `Lines.take` in "
    "`workloads.history.live.lines`) over a known record; more rows only add known records."
)
NOTHING_WAS_REMOVED = "The recorded settings of the topic keep all records, and nothing is to delete any."
