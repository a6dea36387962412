"""Records of a partition that was paused before all of them were polled.

kafka-python keeps them, and does not fetch the partition meanwhile. After the partition is resumed it returns them
only if its fetcher holds no other response, and a response whose records were all polled counts as one: without
another partition to poll, the resumed one then returns nothing for ever (kafka-python 3.0.12).
"""

from __future__ import annotations

from typing import Any


def let_go_of_consumed_response(fetcher: Any) -> None:
    """Call it before a poll. A response is false once all of its records were polled."""
    if not fetcher._next_partition_records:
        fetcher._next_partition_records = None
