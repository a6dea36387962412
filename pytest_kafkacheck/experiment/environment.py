"""environment.json of a run: what its figures depend on, and where its partitions lay."""

from __future__ import annotations

import json
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.experiment.used_cluster import UsedCluster
from workloads.clients.library import library
from workloads.workload import Workload


def write_environment(home: Path, cluster: UsedCluster, workload: Workload) -> None:
    """Versions, host and cluster, and one reading of both clocks, which relates the history's times to dates."""
    libraries = {workload.library, *(worker.library for worker in workload.workers())}
    facts = {
        "kafkacheck": version("pytest-kafkacheck"),
        "clients": {name: library(name).version() for name in sorted(libraries)},
        "python": platform.python_version(),
        "host": {"system": platform.platform(), "processors": os.cpu_count()},
        "cluster": {
            "run": cluster.run,
            # Passwords and keys are not kept.
            "brokers": {node: [at.host, at.port] for node, at in cluster.brokers.items()},
            "security": sorted({str(at.security or "PLAINTEXT") for at in cluster.brokers.values()}),
        },
        "clock": {"monotonic_ns": time.monotonic_ns(), "unix_ns": time.time_ns()},
    }
    RunDirectory(home).environment.write_text(json.dumps(facts, indent=2) + "\n")


def write_layout(home: Path, cluster: UsedCluster, topic: str) -> None:
    """Add "layout" to environment.json: {partition: [node ids]} of the main topic, preferred leaders first.

    A replay needs it: without it, a node id does not say which partitions the node led.
    """
    file = RunDirectory(home).environment
    facts = json.loads(file.read_text())
    view = next(iter(metadata_views.views(cluster.brokers, [topic]).values()), {})
    facts["layout"] = {partition: list(each.replicas) for (_, partition), each in sorted(view.items())}
    unfinished = file.with_name(".environment.unfinished")
    unfinished.write_text(json.dumps(facts, indent=2) + "\n")
    os.replace(unfinished, file)
