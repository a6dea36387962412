"""What is known about the releases of Kafka, and what is assumed about those that are not known."""

from __future__ import annotations

import shutil

import pytest

from pytest_kafkacheck.cluster.spec.release import (
    METADATA,
    METADATA_LEVELS,
    RELEASES,
    Release,
    facts,
    release_of,
)
from pytest_kafkacheck.cluster.spec.settings import known
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from tests.support.release_facts import declared, merged


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda release: release.line)
def test_the_newest_metadata_version_is_that_of_the_line(release: Release) -> None:
    assert release_of(release.tested) is release
    if METADATA in release.features:
        names = {level: name for name, level in METADATA_LEVELS.items()}
        assert names[release.features[METADATA][1]].startswith(release.line)


def test_metadata_version_by_name_is_its_level() -> None:
    assert release_of("4.1.1").level(METADATA, "4.0-IV3", where="x") == 25


def test_a_release_newer_than_the_newest_line_is_taken_for_one_of_that_line() -> None:
    newest = RELEASES["4.4"]
    newer = release_of("5.0.1")
    assert (newer.line, newer.number, newer.like, newer.modes) == ("5.0", (5, 0), "4.4", newest.modes)
    assert (newer.features, newer.needs) == (newest.features, newest.needs)
    assert known("broker", "5.0") == known("broker", "4.4")
    ClusterSpec(version="5.0.1", features={METADATA: "4.4-IV2"}, config={"num.io.threads": 4})


def test_levels_are_given_to_the_format_command_in_the_way_that_the_release_knows() -> None:
    assert release_of("3.8.1").format_arguments({METADATA: 14}) == ["--release-version=3.6-IV2"]
    assert release_of("3.9.0").format_arguments({METADATA: 14}) == ["--feature", f"{METADATA}=14"]


def test_the_facts_of_a_line_replace_those_that_were_there() -> None:
    """A setting that one line lacks, one that only the newest has, and one whose type changed."""
    rows = [
        ["broker", "num.io.threads", "LONG"],
        ["broker", "new.setting", "INT"],
        ["level", "4.5-IV0", "34"],
        ["level", "4.6-IV0", "35"],
        ["metadata", "7", "34"],
        ["feature", "kraft.version", "0", "1", "1", "0"],
        ["feature", "share.version", "0", "2", "2", "23"],
    ]
    found = merged(facts(), "4.5.0", rows)
    assert found["lines"]["4.5"] == {
        "tested": "4.5.0",
        "features": {METADATA: [7, 34, 34], "share.version": [0, 2, 2]},
        "needs": {"share.version": 23},
    }
    assert found["metadata"] == {**METADATA_LEVELS, "4.5-IV0": 34}
    assert found["broker"]["num.io.threads"] == ["LONG", "2.8-"]
    assert found["broker"]["new.setting"] == ["INT", "4.5-"]
    assert found["broker"]["background.threads"] == ["INT", "2.8-4.4"]
    again = merged(found, "4.5.1", [row for row in rows if row[1] != "new.setting"])
    assert "new.setting" not in again["broker"]
    assert again["lines"]["4.5"]["tested"] == "4.5.1"


@pytest.mark.nightly
@pytest.mark.skipif(
    shutil.which("mvn") is None or shutil.which("javac") is None, reason="needs Maven and a JDK"
)
def test_the_facts_are_those_of_the_jars() -> None:
    found = facts()
    for release in RELEASES.values():
        found = merged(found, release.tested, declared(release.tested))
    assert found == facts()
