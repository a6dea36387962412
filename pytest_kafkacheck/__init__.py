"""kafkacheck: real Kafka clusters, real faults, and a verdict.

Everything a test needs is importable from here; names load on first use, so that having the
plugin installed costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzers.checks.bounds import Bounds as Bounds
    from analyzers.verdict.finding import Finding as Finding
    from analyzers.verdict.verdict import Verdict as Verdict
    from nemesis.api import add_broker as add_broker
    from nemesis.api import add_partitions as add_partitions
    from nemesis.api import bandwidth as bandwidth
    from nemesis.api import bridge as bridge
    from nemesis.api import clock as clock
    from nemesis.api import configure as configure
    from nemesis.api import configure_broker as configure_broker
    from nemesis.api import corrupt as corrupt
    from nemesis.api import cpu as cpu
    from nemesis.api import crash_loop as crash_loop
    from nemesis.api import cut_clients as cut_clients
    from nemesis.api import delay as delay
    from nemesis.api import delete_controller as delete_controller
    from nemesis.api import delete_records as delete_records
    from nemesis.api import disk_full as disk_full
    from nemesis.api import disk_stall as disk_stall
    from nemesis.api import dns as dns
    from nemesis.api import duplicate as duplicate
    from nemesis.api import elect as elect
    from nemesis.api import fence as fence
    from nemesis.api import halves as halves
    from nemesis.api import isolate as isolate
    from nemesis.api import isolate_client as isolate_client
    from nemesis.api import kill as kill
    from nemesis.api import kill_client as kill_client
    from nemesis.api import leader_storm as leader_storm
    from nemesis.api import log_dir_failure as log_dir_failure
    from nemesis.api import loss as loss
    from nemesis.api import majority_ring as majority_ring
    from nemesis.api import memory as memory
    from nemesis.api import oom as oom
    from nemesis.api import partition as partition
    from nemesis.api import pause as pause
    from nemesis.api import pause_client as pause_client
    from nemesis.api import power_loss as power_loss
    from nemesis.api import reassign as reassign
    from nemesis.api import rebalance as rebalance
    from nemesis.api import recreate_topic as recreate_topic
    from nemesis.api import remove_broker as remove_broker
    from nemesis.api import reorder as reorder
    from nemesis.api import reset as reset
    from nemesis.api import restart as restart
    from nemesis.api import rolling_restart as rolling_restart
    from nemesis.api import stop as stop
    from nemesis.api import wipe as wipe
    from nemesis.budget import Budget as Budget
    from nemesis.combine import every as every
    from nemesis.combine import overlap as overlap
    from nemesis.combine import repeat as repeat
    from nemesis.combine import sequence as sequence
    from nemesis.combine import storm as storm
    from nemesis.generate import Generated as Generated
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec as ClusterSpec
    from pytest_kafkacheck.errors import CapabilityError as CapabilityError
    from pytest_kafkacheck.errors import InfrastructureError as InfrastructureError
    from pytest_kafkacheck.errors import KafkacheckError as KafkacheckError
    from pytest_kafkacheck.errors import UsageError as UsageError
    from pytest_kafkacheck.errors import VerdictError as VerdictError
    from pytest_kafkacheck.experiment.experiment import Experiment as Experiment
    from pytest_kafkacheck.run import Run as Run
    from workloads.append_log import AppendLog as AppendLog

_FAULTS = (
    "add_broker",
    "add_partitions",
    "bandwidth",
    "bridge",
    "clock",
    "configure",
    "configure_broker",
    "corrupt",
    "cpu",
    "crash_loop",
    "cut_clients",
    "delay",
    "delete_controller",
    "delete_records",
    "disk_full",
    "disk_stall",
    "dns",
    "duplicate",
    "elect",
    "fence",
    "halves",
    "isolate",
    "isolate_client",
    "kill",
    "kill_client",
    "leader_storm",
    "log_dir_failure",
    "loss",
    "majority_ring",
    "memory",
    "oom",
    "partition",
    "pause",
    "pause_client",
    "power_loss",
    "reassign",
    "rebalance",
    "recreate_topic",
    "remove_broker",
    "reorder",
    "reset",
    "restart",
    "rolling_restart",
    "stop",
    "wipe",
)
_WAYS = ("every", "overlap", "repeat", "sequence", "storm")

_HOMES = {
    "AppendLog": "workloads.append_log",
    "Bounds": "analyzers.checks.bounds",
    "Budget": "nemesis.budget",
    "CapabilityError": "pytest_kafkacheck.errors",
    "ClusterSpec": "pytest_kafkacheck.cluster.spec.spec",
    "Experiment": "pytest_kafkacheck.experiment.experiment",
    "Finding": "analyzers.verdict.finding",
    "Generated": "nemesis.generate",
    "InfrastructureError": "pytest_kafkacheck.errors",
    "KafkacheckError": "pytest_kafkacheck.errors",
    "Run": "pytest_kafkacheck.run",
    "UsageError": "pytest_kafkacheck.errors",
    "Verdict": "analyzers.verdict.verdict",
    "VerdictError": "pytest_kafkacheck.errors",
    **dict.fromkeys(_FAULTS, "nemesis.api"),
    **dict.fromkeys(_WAYS, "nemesis.combine"),
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("pytest-kafkacheck")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_kafkacheck.guard import check_siblings

    check_siblings()
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
