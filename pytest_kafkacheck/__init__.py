"""kafkacheck: real Kafka clusters, real faults, and a verdict.

Everything that a test needs can be imported from here. Names are loaded on first use, so that a plugin that is
installed but not used costs nothing. Type checkers read the generated `__init__.pyi`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pytest_kafkacheck.fault_functions import FAULT_FUNCTIONS

HOMES = {
    "Admin": "workloads.admin",
    "AppendLog": "workloads.append_log",
    "Compacted": "workloads.compacted",
    "Bank": "workloads.bank",
    "Bounds": "analyzers.catalogue.bounds",
    "Budget": "nemesis.budget",
    "CapabilityError": "pytest_kafkacheck.errors",
    "Cell": "pytest_kafkacheck.matrix.cell",
    "CellResult": "pytest_kafkacheck.matrix.cell_result",
    "ClusterSpec": "pytest_kafkacheck.cluster.spec.spec",
    "ConfigMatrix": "pytest_kafkacheck.matrix.config_matrix",
    "Copy": "workloads.copying",
    "DockerCluster": "pytest_kafkacheck.cluster.docker.cluster",
    "Ending": "workloads.clients.protocol",
    "Experiment": "pytest_kafkacheck.experiment.experiment",
    "Finding": "analyzers.verdict.finding",
    "Generated": "nemesis.generate",
    "Groups": "workloads.groups",
    "Pipeline": "workloads.pipeline",
    "Queue": "workloads.queue",
    "Rewind": "workloads.rewind",
    "InfrastructureError": "pytest_kafkacheck.errors",
    "Kafkacheck": "pytest_kafkacheck.plugin.runner",
    "KafkacheckError": "pytest_kafkacheck.errors",
    "PROBE": "workloads.workload",
    "Recording": "pytest_kafkacheck.recorder.session",
    "Run": "pytest_kafkacheck.run",
    "Sending": "workloads.roles.sending",
    "Sessions": "workloads.sessions",
    "Soak": "pytest_kafkacheck.soak.plan",
    "Topic": "workloads.workload",
    "TransactionalSending": "workloads.roles.transactional_sending",
    "Transactions": "workloads.transactions",
    "UsageError": "pytest_kafkacheck.errors",
    "scenarios": "pytest_kafkacheck.matrix.matrix",
    "Verdict": "analyzers.verdict.verdict",
    "VerdictError": "pytest_kafkacheck.errors",
    "WorkerContext": "workloads.roles.context",
    "WorkerRole": "workloads.workload",
    "WorkerSpec": "workloads.workload",
    "Workload": "workloads.workload",
    "every": "nemesis.combine",
    "overlap": "nemesis.combine",
    "repeat": "nemesis.combine",
    "sequence": "nemesis.combine",
    "storm": "nemesis.combine",
    **FAULT_FUNCTIONS,
}
"""Public name to the module that defines it."""

__all__ = sorted([*HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("pytest-kafkacheck")
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_kafkacheck.guard import check_siblings

    check_siblings()
    value = getattr(import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
