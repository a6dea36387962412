"""The faults there are, a file for each or for each family."""

from __future__ import annotations

from nemesis.faults.brokers import AddBroker, RemoveBroker
from nemesis.faults.clients import IsolateClient, KillClient, PauseClient
from nemesis.faults.clock import Clock
from nemesis.faults.configure import Configure, ConfigureBroker
from nemesis.faults.coordination import DeleteController, Fence, Rebalance
from nemesis.faults.corrupt import Corrupt, Wipe
from nemesis.faults.cpu import Cpu
from nemesis.faults.crash_loop import CrashLoop
from nemesis.faults.cut_clients import CutClients
from nemesis.faults.disk import DiskFull, DiskStall, LogDirFailure, PowerLoss
from nemesis.faults.dns import Dns
from nemesis.faults.elect import Elect, LeaderStorm
from nemesis.faults.fault import Fault
from nemesis.faults.isolate import Isolate
from nemesis.faults.kill import Kill
from nemesis.faults.loss import Loss
from nemesis.faults.memory import Memory
from nemesis.faults.oom import Oom
from nemesis.faults.partition import Partition
from nemesis.faults.pause import Pause
from nemesis.faults.reassign import Reassign
from nemesis.faults.reset import Reset
from nemesis.faults.restart import Restart, RollingRestart
from nemesis.faults.shaping import Bandwidth, Delay, Duplicate, Reorder
from nemesis.faults.stop import Stop
from nemesis.faults.topics import AddPartitions, DeleteRecords, RecreateTopic

FAMILIES: dict[str, tuple[type[Fault], ...]] = {
    "process": (Kill, Stop, Restart, RollingRestart, Pause, CrashLoop, Oom),
    "network": (
        Isolate, Partition, CutClients, Reset, Loss, Bandwidth, Delay, Duplicate, Reorder, Dns,
    ),
    "resources": (Cpu, Memory, DiskFull, DiskStall),
    "storage": (PowerLoss, Corrupt, Wipe, LogDirFailure),
    "clock": (Clock,),
    "Kafka": (
        Elect, LeaderStorm, Reassign, AddBroker, RemoveBroker, RecreateTopic, AddPartitions, DeleteRecords,
        Configure, ConfigureBroker, DeleteController, Fence, Rebalance,
    ),
    "clients": (KillClient, PauseClient, IsolateClient),
}  # fmt: skip

FAULTS: dict[str, type[Fault]] = {fault.name: fault for family in FAMILIES.values() for fault in family}
"""By the name they have in schedules."""

__all__ = [
    "FAMILIES",
    "FAULTS",
    "AddBroker",
    "AddPartitions",
    "Bandwidth",
    "Clock",
    "Configure",
    "ConfigureBroker",
    "Corrupt",
    "Cpu",
    "CrashLoop",
    "CutClients",
    "Delay",
    "DeleteController",
    "DeleteRecords",
    "DiskFull",
    "DiskStall",
    "Dns",
    "Duplicate",
    "Elect",
    "Fault",
    "Fence",
    "Isolate",
    "IsolateClient",
    "Kill",
    "KillClient",
    "LeaderStorm",
    "LogDirFailure",
    "Loss",
    "Memory",
    "Oom",
    "Partition",
    "Pause",
    "PauseClient",
    "PowerLoss",
    "Reassign",
    "Rebalance",
    "RecreateTopic",
    "RemoveBroker",
    "Reorder",
    "Reset",
    "Restart",
    "RollingRestart",
    "Stop",
    "Wipe",
]
