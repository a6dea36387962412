"""What a probe is. `partition` is the one to copy for samples of every broker, `quorum` for those of the cluster."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, Literal, Protocol

from workloads import probes

Ask = Callable[[Any], Any]
"""Sends a request to one broker and returns its response. Raises OSError when it does not answer in time.
Of ZooKeeper: reads paths, as `workloads.clients.zookeeper_session.Read`."""

Source = Literal["every broker", "any broker", "ZooKeeper"]

Row = Mapping[str, Any]

UNANSWERED = "unanswered"
"""Kind of the row for a sample that failed; see the schema."""


IDLE = 1.0
"""Seconds between looks for something that is not there, such as groups in a run without any."""


class Probe(Protocol):
    """Samples one kind of state. Made once for each broker, or once for all.

    kind      of its rows in the observations table.
    interval  seconds from the beginning of a sample to that of the next. Except with "any broker", samples are more
              frequent for a while after a change of leader, epoch or ISR, see `workloads.roles.probe`.
    asks      "every broker": all at the same time, over connections that stay open. "any broker": one for each
              sample, in turn and over a new connection. "ZooKeeper": one session, and nothing in KRaft mode.
    """

    kind: ClassVar[str]
    interval: ClassVar[float]
    asks: ClassVar[Source]

    def __init__(self, topics: Mapping[str, int], run: str) -> None:
        """topics: of the workload, with their numbers of partitions. run: a part of the names of what it uses."""

    def sample(self, ask: Ask) -> Iterable[Row]:
        """One sample: rows by name of column, without run, process, time, node, kind, asked and connection, which are
        the same for all probes. What no column has a place for goes into ``value``, a JSON-able mapping whose keys
        the probe documents. Raises OSError when the broker does not answer; a row of kind `UNANSWERED` says so.
        """


@cache
def all_probes() -> tuple[type[Probe], ...]:
    """Sorted by kind."""
    names = (f"{probes.__name__}.{module.name}" for module in pkgutil.iter_modules(probes.__path__))
    modules = [importlib.import_module(name) for name in names if name != __name__]
    return tuple(sorted((module.PROBE for module in modules), key=lambda probe: probe.kind))
