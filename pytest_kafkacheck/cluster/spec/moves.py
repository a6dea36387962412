"""To which releases the nodes of a running cluster can be moved.

A node that is moved keeps its data, and the cluster keeps its feature levels. So a move to an older release is
possible as long as that release knows these levels. In ZooKeeper mode, nodes of a newer release go on speaking the
protocol of the cluster's own one (``inter.broker.protocol.version``).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from nemesis.event import Event
from pytest_kafkacheck.cluster.spec.release import METADATA, RELEASES, release_of
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError

PROTOCOL_VERSION = "inter.broker.protocol.version"


def moved(spec: ClusterSpec, version: str) -> ClusterSpec:
    """The spec of nodes of that cluster that run another release. Raises UsageError for one that cannot run it."""
    release = release_of(version)
    config = dict(spec.config)
    if not spec.kraft:
        if release.number > spec.release.number:
            config.setdefault(PROTOCOL_VERSION, spec.release.line)
        return replace(spec, version=version, image=None, config=config)
    for name, level in _levels(spec).items():
        least, most, _ = release.features.get(name, (0, 0, 0))
        if not least <= level <= most:
            raise UsageError(
                f"nodes of Kafka {spec.version} cannot move to {version}: the cluster has {name} {level}, and Kafka "
                f"{release.line} supports {least} to {most}; choose another release, or start the cluster with "
                f"ClusterSpec(features={{{name!r}: {most}}})"
            )
    known = {name: level for name, level in spec.features.items() if name in release.features}
    return replace(spec, version=version, image=None, features=known)


def _levels(spec: ClusterSpec) -> dict[str, int]:
    """Of the features of a KRaft cluster. Where metadata.version is given, others that are not given follow it."""
    given = {name: int(level) for name, level in spec.features.items()}
    if METADATA in given:
        return given
    return {name: default for name, (_, _, default) in spec.release.features.items()} | given


def next_release(spec: ClusterSpec) -> str | None:
    """The newest patch release of the next line that can run the cluster; None where no such line is known."""
    if spec.attached is not None:
        return None
    later = [each for each in RELEASES.values() if each.number > spec.release.number]
    with suppress(UsageError):
        return moved(spec, later[0].tested).version if later else None
    return None


def moves(spec: ClusterSpec, events: Iterable[Event]) -> list[ClusterSpec]:
    """The specs of the nodes that these events move to other releases. Raises UsageError for an impossible one."""
    found = {}
    for event in events:
        if (version := event.fault.moves_to) is None:
            continue
        try:
            found[version] = moved(spec, version)
        except UsageError as error:
            raise UsageError(f"Experiment.faults: event {event.id!r}: {error}") from error
    return list(found.values())
