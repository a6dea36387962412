"""Times relative to the beginning of a run, as people read them."""

from __future__ import annotations

from typing import Literal

Unit = Literal["s", "ms", "us"]
"""In which times are shown: the unit of an imported file, and s for one in ns."""


def seconds(time: int | None, began: int | None) -> float | None:
    """s since the run's first operation, from ns; None if either is unknown."""
    return None if time is None or began is None else (time - began) / 1e9
