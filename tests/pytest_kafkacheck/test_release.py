"""The table of versions in the documentation agrees with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_kafkacheck.cluster.spec.release import METADATA, METADATA_LEVELS, RELEASES, Release, release_of

DOCS = Path(__file__).parents[2] / "docs" / "versions.md"

COLUMNS = (
    METADATA, "eligible.leader.replicas.version", "transaction.version", "group.version", "share.version",
    "streams.version",
)  # fmt: skip


def row(release: Release) -> str:
    cells = [release.line, release.tested, ", ".join(release.modes)]
    for name in COLUMNS:
        level = release.features.get(name)
        cells.append(f"{level[0]}–{level[1]} ({level[2]})" if level else "–")
    return "| " + " | ".join([*cells, release.logging]) + " |"


def test_the_table_of_versions_is_true() -> None:
    shown = [line for line in DOCS.read_text().splitlines() if re.match(r"\| \d+\.\d+ \| ", line)]
    assert shown == [row(release) for release in RELEASES.values()]


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda release: release.line)
def test_the_newest_metadata_version_is_that_of_the_line(release: Release) -> None:
    assert release_of(release.tested) is release
    if METADATA in release.features:
        names = {level: name for name, level in METADATA_LEVELS.items()}
        assert names[release.features[METADATA][1]].startswith(release.line)


def test_metadata_version_by_name_is_its_level() -> None:
    assert release_of("4.1.1").level(METADATA, "4.0-IV3", where="x") == 25
