"""What each Kafka release supports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_kafkacheck.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Release:
    kraft: bool
    zookeeper: bool
    features: Mapping[str, tuple[int, int]]
    log_file: str
    log_flag: str


def release_of(version: str) -> Release:
    if not isinstance(version, str) or not (match := re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version)):
        raise UsageError(f"ClusterSpec.version={version!r}: expected a Kafka release, such as '4.1.1'")
    number = tuple(map(int, match.groups()))
    new = number >= (4, 0, 0)
    return Release(
        kraft=number >= (3, 3, 0),
        zookeeper=not new,
        features={"eligible.leader.replicas.version": (0, 1)} if new else {},
        log_file="log4j2.yaml" if new else "log4j.properties",
        log_flag="-Dlog4j2.configurationFile=" if new else "-Dlog4j.configuration=file:",
    )
