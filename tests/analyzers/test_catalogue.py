"""The catalogue is complete. No JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.catalogue import ANOMALIES, CATALOGUE, Anomaly, require_known
from analyzers.checks import CHECKS, Check


def test_every_check_has_its_entry_and_every_entry_its_check() -> None:
    assert sorted(check.anomaly for check in CHECKS) == sorted(anomaly.name for anomaly in CATALOGUE)
    assert len(ANOMALIES) == len(CATALOGUE)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.anomaly)
def test_the_evidence_shown_is_the_evidence_explained(check: Check) -> None:
    assert set(check.shows) == set(ANOMALIES[check.anomaly].evidence)


@pytest.mark.parametrize("anomaly", CATALOGUE, ids=lambda anomaly: anomaly.name)
def test_an_entry_says_how_it_is_counted_and_reads_as_a_sentence(anomaly: Anomaly) -> None:
    assert "counted per" in anomaly.definition
    one, many = anomaly.summary(1), anomaly.summary(2)
    assert one != many
    assert "(s)" not in one + many


def test_only_what_cannot_be_told_is_unknown() -> None:
    assert {a.name for a in CATALOGUE if a.severity == "unknown"} == {"unseen", "expired"}
    assert {a.name for a in CATALOGUE if a.severity == "note"} == {"int-send-skip"}


DOCUMENT = (Path(__file__).parents[2] / "docs" / "anomalies.md").read_text()


@pytest.mark.parametrize("anomaly", CATALOGUE, ids=lambda anomaly: anomaly.name)
def test_every_anomaly_is_explained_where_its_link_points(anomaly: Anomaly) -> None:
    _, _, target = anomaly.link.partition("docs/anomalies.md#")
    assert f'<a id="{target}"></a>\n## {anomaly.name}\n' in DOCUMENT
    section = DOCUMENT.partition(f"\n## {anomaly.name}\n")[2].partition("\n## ")[0]
    for part in ("**Means.**", "**Promised.**", "**Causes.**", "**Look further.**"):
        assert part in section


STABLE = """
    lost-write unseen duplicate inconsistent-offsets offset-reuse phantom-read foreign-record corrupt-record
    read-your-writes monotonic-reads monotonic-writes writes-follow-reads
    poll-skip nonmonotonic-poll int-poll-skip int-nonmonotonic-poll nonmonotonic-send int-nonmonotonic-send
    int-send-skip realtime-order G1a
"""


def test_the_stable_identifiers_are_there() -> None:
    assert set(STABLE.split()) <= ANOMALIES.keys()


def test_names_are_checked() -> None:
    assert require_known(["duplicate"]) == {"duplicate"}
    with pytest.raises(ValueError, match="no anomaly named dup, lost; there are lost-write, "):
        require_known({"lost", "dup"})
