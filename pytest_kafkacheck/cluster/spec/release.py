"""What each Kafka release supports, taken from its jars. docs/versions.md says the same in prose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_kafkacheck.errors import UsageError

METADATA = "metadata.version"
KRAFT = "kraft.version"
ELR = "eligible.leader.replicas.version"

SCRAM_METADATA = 11
"""The lowest metadata.version with which storage can be formatted with SCRAM users: 3.5-IV2."""

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
    """A line of releases, such as 4.1. All its patch releases support the same.

    tested      the patch release that is tested on real clusters.
    modes       "kraft" and "zookeeper"; the default mode comes first.
    features    levels that can be chosen at format time, by feature: (lowest, highest, default).
    needs       lowest metadata.version with which a feature can be above 0, for features that have such a limit.
    scram_args  whether StorageTool's format command accepts SCRAM users.
    logging     the logging library.
    """

    line: str
    tested: str
    modes: tuple[Literal["kraft", "zookeeper"], ...]
    features: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    needs: Mapping[str, int] = field(default_factory=dict)
    scram_args: bool
    logging: Literal["log4j2", "reload4j"]

    @property
    def number(self) -> tuple[int, int]:
        major, minor = self.line.split(".")
        return int(major), int(minor)

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
        """The JVM flag for the logging configuration; the file's path must follow."""
        return "-Dlog4j2.configurationFile=" if self.logging == "log4j2" else "-Dlog4j.configuration=file:"

    def level(self, feature: str, wanted: object, *, where: str) -> int:
        """The level of a feature, given as a number or, for metadata.version, by name. Raises UsageError."""
        if feature not in self.features:
            raise UsageError(f"{where}={wanted!r}: {self._why_no(feature)}")
        least, most, _ = self.features[feature]
        named = _metadata_level(wanted) if feature == METADATA and isinstance(wanted, str) else wanted
        if not isinstance(named, int) or isinstance(named, bool) or not least <= named <= most:
            raise UsageError(f"{where}={wanted!r}: Kafka {self.line} supports {self._range(feature)}")
        return named

    def check_together(self, levels: Mapping[str, int], *, where: str) -> None:
        """Raise UsageError for levels that are allowed each, but that Kafka refuses together."""
        if not levels:
            return
        metadata = levels.get(METADATA, self.features[METADATA][2])
        for feature, level in levels.items():
            if level and metadata < (needed := self.needs.get(feature, 0)):
                raise UsageError(
                    f"{where}[{feature!r}]={level} with {METADATA} {metadata} ({_metadata_name(metadata)}): it needs "
                    f"{METADATA} {needed} ({_metadata_name(needed)}) or later; raise that, or set {feature} to 0"
                )

    def _why_no(self, feature: str) -> str:
        known = ", ".join(sorted(self.features)) or "none"
        if feature == KRAFT:
            return f"kafkacheck's quorums are static, which is {feature} 0; features to choose: {known}"
        elsewhere = [each.line for each in RELEASES.values() if feature in each.features]
        there = f", which Kafka {', '.join(elsewhere)} has" if elsewhere else ""
        return f"Kafka {self.line} has no such feature to choose at format time{there}; features to choose: {known}"

    def _range(self, feature: str) -> str:
        least, most, _ = self.features[feature]
        if feature != METADATA:
            return f"{least} to {most}"
        return f"{least} to {most}, or by name: '{_metadata_name(least)}' to '{_metadata_name(most)}'"


def _kraft4(line: str, tested: str, metadata: int, *, share: int, streams: bool) -> Release:
    return Release(
        line=line,
        tested=tested,
        modes=("kraft",),
        features={
            METADATA: (7, metadata, metadata),
            ELR: (0, 1, 1),
            "transaction.version": (0, 2, 2),
            "group.version": (0, 1, 1),
            "share.version": (0, 1, share),
            **({"streams.version": (0, 1, 1)} if streams else {}),
        },
        needs={ELR: METADATA_LEVELS["4.0-IV1"]},
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
            features={METADATA: (4, 21, 21)},
            scram_args=True,
            logging="reload4j",
        ),
        _kraft4("4.1", "4.1.1", 27, share=0, streams=False),
        _kraft4("4.2", "4.2.1", 29, share=1, streams=True),
        _kraft4("4.3", "4.3.0", 30, share=1, streams=True),
    )
}
"""Supported releases by line. Other lines may work, but they are not tested."""


def release_of(version: str) -> Release:
    """The line of a release. Raises UsageError for other texts and for lines that are not tested."""
    if not isinstance(version, str) or not (match := re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version)):
        raise UsageError(f"ClusterSpec.version={version!r}: expected a Kafka release, such as '4.1.1'")
    line = f"{match[1]}.{match[2]}"
    if line not in RELEASES:
        wanted = (int(match[1]), int(match[2]))
        near = min(RELEASES, key=lambda known: _distance(wanted, known))
        raise UsageError(
            f"ClusterSpec.version={version!r}: kafkacheck is not tested with Kafka {line}; tested are "
            f"{', '.join(release.tested for release in RELEASES.values())}; nearest: {RELEASES[near].tested!r}"
        )
    return RELEASES[line]


def _metadata_level(name: str) -> int | None:
    """The level of a name such as "4.0-IV3", or "4.0" for the last one of that line."""
    return METADATA_LEVELS.get(name) or max(
        (level for known, level in METADATA_LEVELS.items() if known.partition("-")[0] == name), default=None
    )


def _metadata_name(level: int) -> str:
    return list(METADATA_LEVELS)[level - 1]


def _distance(wanted: tuple[int, int], line: str) -> tuple[int, int]:
    major, minor = map(int, line.split("."))
    return abs(wanted[0] - major), abs(wanted[1] - minor)
