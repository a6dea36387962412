"""What each Kafka release supports. What its jars declare is in ``releases.json``; the rules about lines are here.

docs/versions.md says the same in prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pytest_kafkacheck.errors import UsageError

METADATA = "metadata.version"
KRAFT = "kraft.version"
ELR = "eligible.leader.replicas.version"

FACTS = Path(__file__).with_name("releases.json")
"""What the jars of each line declare, written by `python -m tests.support.release_facts`:

lines     line to the newest patch release, and to features as in `Release`.
metadata  name to level of metadata.version.
broker    name to type and lines of a setting, such as ``["INT", "2.8-3.9 4.2-"]``: `lines_of` explains it.
topic, producer, consumer   the same.
"""

KRAFT_SINCE = (3, 3)
"""The first line whose KRaft is meant for production."""

ZOOKEEPER_UNTIL = (3, 9)
FORMAT_FEATURES_SINCE = (3, 9)
"""The first line whose StorageTool has --feature. Earlier ones have only metadata.version, as --release-version."""

LOG4J2_SINCE = (4, 0)


def as_number(line: str) -> tuple[int, int]:
    """(4, 1) from "4.1"."""
    major, minor = line.split(".")
    return int(major), int(minor)


def line_of(version: str) -> str:
    """ "4.1" from "4.1.2"."""
    return version.rpartition(".")[0]


def lines_of(spans: str, lines: Iterable[str]) -> list[str]:
    """The lines that a text such as "2.8-3.9 4.2-" names: 2.8 to 3.9, and all from 4.2 on."""
    ends = [
        (first, last if dash else first)
        for first, dash, last in (each.partition("-") for each in spans.split())
    ]
    return [
        line
        for line in lines
        if any(
            as_number(first) <= as_number(line) and (not last or as_number(line) <= as_number(last))
            for first, last in ends
        )
    ]


@cache
def facts() -> Mapping[str, Any]:
    """The content of `FACTS`."""
    return dict(json.loads(FACTS.read_text()))


METADATA_LEVELS: Mapping[str, int] = facts()["metadata"]
"""Level of metadata.version by name (Kafka's MetadataVersion)."""

SCRAM_METADATA = METADATA_LEVELS["3.5-IV2"]
"""The lowest metadata.version with which storage can be formatted with SCRAM users."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A line of releases, such as 4.1. All its patch releases support the same.

    tested      the patch release that is tested on real clusters.
    features    levels that can be chosen at format time, by feature: (lowest, highest, default).
    needs       lowest metadata.version with which a feature can be above 0, for features that have such a limit.
    like        None, or the newest line of `RELEASES`: for a newer one, everything is taken from there.
    """

    line: str
    tested: str
    features: Mapping[str, Sequence[int]]
    needs: Mapping[str, int]
    like: str | None = None

    @property
    def number(self) -> tuple[int, int]:
        return as_number(self.line)

    @property
    def kraft(self) -> bool:
        return self.number >= KRAFT_SINCE

    @property
    def zookeeper(self) -> bool:
        return self.number <= ZOOKEEPER_UNTIL

    @property
    def modes(self) -> tuple[Literal["kraft", "zookeeper"], ...]:
        """The default mode comes first."""
        return (*(("kraft",) if self.kraft else ()), *(("zookeeper",) if self.zookeeper else ()))

    @property
    def logging(self) -> Literal["log4j2", "reload4j"]:
        """The logging library."""
        return "log4j2" if self.number >= LOG4J2_SINCE else "reload4j"

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

    def format_arguments(self, levels: Mapping[str, int | str]) -> list[str]:
        """The arguments with which StorageTool formats storage with these feature levels."""
        if self.number < FORMAT_FEATURES_SINCE:
            return [f"--release-version={_metadata_name(int(level))}" for level in levels.values()]
        return [argument for name, level in levels.items() for argument in ("--feature", f"{name}={level}")]

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


RELEASES = {line: Release(line=line, **of) for line, of in facts()["lines"].items()}
"""Known releases by line, oldest first."""

OLDEST, *_, NEWEST = RELEASES.values()


def release_of(version: str) -> Release:
    """The line of a release. One that is newer than all known lines is taken for one of the newest line.

    Raises UsageError for other texts, and for lines that are too old or that do not exist.
    """
    if not isinstance(version, str) or not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise UsageError(f"ClusterSpec.version={version!r}: expected a Kafka release, such as '4.1.1'")
    line = line_of(version)
    if line in RELEASES:
        return RELEASES[line]
    if as_number(line) > NEWEST.number:
        return replace(NEWEST, line=line, tested=version, like=NEWEST.line)
    why = "is too old" if as_number(line) < OLDEST.number else "does not exist"
    raise UsageError(
        f"ClusterSpec.version={version!r}: Kafka {line} {why}; expected {OLDEST.line} or later: {', '.join(RELEASES)}"
    )


def _metadata_level(name: str) -> int | None:
    """The level of a name such as "4.0-IV3", or "4.0" for the last one of that line."""
    return METADATA_LEVELS.get(name) or max(
        (level for known, level in METADATA_LEVELS.items() if known.partition("-")[0] == name), default=None
    )


def _metadata_name(level: int) -> str:
    return list(METADATA_LEVELS)[level - 1]
