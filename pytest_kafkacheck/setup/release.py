"""What each Kafka release supports, as its own jars say; docs/versions.md is the same for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_kafkacheck.errors import UsageError

METADATA = "metadata.version"

METADATA_LEVELS = {
    name: level
    for level, name in enumerate(
        (
            "3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0", "3.5-IV0",
            "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3",
            "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1",
            "4.2-IV0", "4.2-IV1", "4.3-IV0",
        ),
        start=1,
    )
}  # fmt: skip
"""Level of metadata.version by name (Kafka's MetadataVersion)."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A line of releases, such as 4.1: all its patch releases support the same.

    tested      the patch release that is tested on real clusters.
    modes       "kraft", "zookeeper", with the one that is meant when nothing else is said first.
    features    levels one may choose at format time: (least, most, the one without a choice).
    scram_args  whether StorageTool's format takes SCRAM users.
    logging     the library that writes its log.
    """

    line: str
    tested: str
    modes: tuple[Literal["kraft", "zookeeper"], ...]
    features: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    scram_args: bool
    logging: Literal["log4j2", "reload4j"]

    @property
    def kraft(self) -> bool:
        return "kraft" in self.modes

    @property
    def zookeeper(self) -> bool:
        return "zookeeper" in self.modes

    @property
    def log_file(self) -> str:
        return "log4j2.yaml" if self.logging == "log4j2" else "log4j.properties"

    @property
    def log_flag(self) -> str:
        """The JVM's flag, up to the file's path."""
        return "-Dlog4j2.configurationFile=" if self.logging == "log4j2" else "-Dlog4j.configuration=file:"

    def level(self, feature: str, wanted: object, *, where: str) -> int:
        """The level of a feature given as a number, or for metadata.version by name. Raises UsageError."""
        if feature not in self.features:
            known = ", ".join(sorted(self.features)) or "none"
            why = (
                f"kafkacheck's quorums are static, which is {feature} 0"
                if feature == "kraft.version"
                else f"Kafka {self.line} has no such feature to choose at format time"
            )
            raise UsageError(f"{where}={wanted!r}: {why}; there are: {known}")
        least, most, _ = self.features[feature]
        named = METADATA_LEVELS.get(wanted) if feature == METADATA and isinstance(wanted, str) else wanted
        if not isinstance(named, int) or isinstance(named, bool) or not least <= named <= most:
            raise UsageError(f"{where}={wanted!r}: Kafka {self.line} supports {self._range(feature)}")
        return named

    def _range(self, feature: str) -> str:
        least, most, _ = self.features[feature]
        if feature != METADATA:
            return f"{least} to {most}"
        names = {level: name for name, level in METADATA_LEVELS.items()}
        return f"{least} to {most}, or by name: '{names[least]}' to '{names[most]}'"


def _kraft4(line: str, tested: str, metadata: int, *, share: int, streams: int) -> Release:
    return Release(
        line=line,
        tested=tested,
        modes=("kraft",),
        features={
            METADATA: (7, metadata, metadata),
            "eligible.leader.replicas.version": (0, 1, 1),
            "transaction.version": (0, 2, 2),
            "group.version": (0, 1, 1),
            "share.version": (0, 1, share),
            "streams.version": (0, 1 if streams else 0, streams),
        },
        scram_args=True,
        logging="log4j2",
    )


RELEASES = {
    release.line: release
    for release in (
        Release(line="2.8", tested="2.8.2", modes=("zookeeper",), scram_args=False, logging="reload4j"),
        Release(
            line="3.9",
            tested="3.9.2",
            modes=("kraft", "zookeeper"),
            features={METADATA: (1, 21, 21)},
            scram_args=True,
            logging="reload4j",
        ),
        _kraft4("4.1", "4.1.1", 27, share=0, streams=0),
        _kraft4("4.2", "4.2.1", 29, share=1, streams=1),
        _kraft4("4.3", "4.3.0", 30, share=1, streams=1),
    )
}
"""By line. Others may well work, but nobody has seen them do so here."""


def release_of(version: str) -> Release:
    """Raises UsageError for what is no release, or one of an untested line."""
    if not isinstance(version, str) or not (match := re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version)):
        raise UsageError(f"ClusterSpec.version={version!r}: expected a Kafka release, such as '4.1.1'")
    line = f"{match[1]}.{match[2]}"
    if line not in RELEASES:
        wanted = (int(match[1]), int(match[2]))
        near = min(RELEASES, key=lambda known: _distance(wanted, known))
        raise UsageError(
            f"ClusterSpec.version={version!r}: kafkacheck is not tested with Kafka {line}; it is with "
            f"{', '.join(release.tested for release in RELEASES.values())}; nearest: {RELEASES[near].tested!r}"
        )
    return RELEASES[line]


def _distance(wanted: tuple[int, int], line: str) -> tuple[int, int]:
    major, minor = map(int, line.split("."))
    return abs(wanted[0] - major), abs(wanted[1] - minor)
