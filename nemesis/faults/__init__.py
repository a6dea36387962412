"""The faults there are, one file each."""

from __future__ import annotations

from nemesis.faults.fault import Fault
from nemesis.faults.isolate import Isolate
from nemesis.faults.kill import Kill
from nemesis.faults.partition import Partition
from nemesis.faults.pause import Pause

FAULTS: dict[str, type[Fault]] = {fault.name: fault for fault in (Kill, Pause, Isolate, Partition)}
"""By the name they have in schedules."""
