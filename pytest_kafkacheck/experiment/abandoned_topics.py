"""Topics of runs that were killed: nobody else deletes them, and their replicas are copied after every fault."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import append_time, metadata_views, topics


def abandoned(names: Iterable[str], *, home: Path) -> list[str]:
    """Which topics belong to earlier runs. A topic of a run contains the run's id, and so does its directory's name.
    Those that proofs create for a moment have a name of their own.

    home  directory of the run that is about to begin; those of the other runs are beside it.
    """
    runs = {each.name.rpartition("-")[2] for each in home.parent.iterdir() if each.is_dir() and each != home}
    return sorted(
        name
        for name in names
        if name.startswith(append_time.PREFIX) or any(part in runs for part in name.split("-"))
    )


def delete_abandoned(cluster: DockerCluster, *, home: Path) -> list[str]:
    """Delete topics of earlier runs, and return their names. Only for a run that has the cluster for itself.

    Brokers that do not answer are left out. Raises InfrastructureError when none deletes a topic.
    """
    names: set[str] = set()
    for address in cluster.brokers.values():
        with contextlib.suppress(OSError):
            names |= {name for name, _ in metadata_views.metadata(address, None)}
    found = abandoned(names, home=home)
    for name in found:
        topics.delete(cluster.brokers, name)
    return found
