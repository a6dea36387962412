"""Topics of runs that were killed: nobody else deletes them, and their replicas are copied after every fault."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from pathlib import Path

from pytest_kafkacheck.cluster.kafka import append_time, metadata_views, topics
from pytest_kafkacheck.experiment.topic_register import TopicRegister
from pytest_kafkacheck.experiment.used_cluster import UsedCluster


def abandoned(
    names: Iterable[str], *, home: Path, registered: Collection[str] = (), alone: bool = True
) -> list[str]:
    """Which topics belong to earlier runs: those that are registered as such, and for a run that has the cluster for
    itself also those of all runs beside it.

    A topic of a run contains the run's id, and so does its directory's name. Topics that proofs create for a moment
    have a name of their own.

    home        directory of the run that is about to begin; those of the other runs are beside it.
    registered  see `TopicRegister.abandoned`.
    """
    if not alone:
        return sorted(set(names) & set(registered))
    runs = {each.name.rpartition("-")[2] for each in home.parent.iterdir() if each.is_dir() and each != home}
    return sorted(
        name
        for name in names
        if name in registered
        or name.startswith(append_time.PREFIX)
        or any(part in runs for part in name.split("-"))
    )


def delete_abandoned(cluster: UsedCluster, register: TopicRegister, *, home: Path, alone: bool) -> list[str]:
    """Delete topics of earlier runs, and return their names.

    alone  whether no other run uses the cluster.
    Brokers that do not answer are left out. Raises InfrastructureError when none deletes a topic.
    """
    registered = register.abandoned()
    if not alone and not registered:
        return []
    names: set[str] = set()
    for address in cluster.brokers.values():
        with contextlib.suppress(OSError):
            names |= {name for name, _ in metadata_views.metadata(address, None)}
    found = abandoned(names, home=home, registered=registered, alone=alone)
    for name in found:
        topics.delete(cluster.brokers, name)
    if names and (gone := {*found, *(registered - names)}):
        register.deleted(gone)
    return found
