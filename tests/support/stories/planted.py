"""All histories with a planted anomaly, and near misses, from the files of this package.

To plant another anomaly, add a file here with `PLANTED`: functions that fill a `Story`, each with the anomalies that
the checks must find in it, and how many of each.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.check import Live
from analyzers.catalogue.registry import CHECKS, bound_checks
from tests.support import stories

PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    make: expected
    for module in sorted(each.name for each in iter_modules(stories.__path__))
    if module != "planted"
    for make, expected in getattr(import_module(f"tests.support.stories.{module}"), "PLANTED", {}).items()
}

BOUNDS = Bounds(unavailable=1, recovery=1, orphaned=1, standstill=1)
"""In s. Histories that are not about availability last a few hundred ns, far below these limits."""

ALL = (*CHECKS, *bound_checks(BOUNDS))

RUNNING = tuple(
    running
    for check in CHECKS
    if isinstance(check.live, Live)
    and (check.live.over or check.live.where)
    and (running := check.while_running())
)
"""The checks that examine something else while the run goes on."""
