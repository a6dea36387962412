"""Each check has a promise that exercises it."""

from __future__ import annotations

from pathlib import Path

from analyzers.catalogue.registry import ANOMALIES
from analyzers.verdict.promises import _BY_PROMISE, EXERCISED_BY, PROMISES

WITHOUT_CHECKS = {"acks-during-faults", "work-at-faults"}
"""One shows that a cluster stays available, for which a bound is needed. The other is about faults, not
about a check."""


def test_every_check_is_exercised_by_one_promise() -> None:
    named = [name for names in _BY_PROMISE.values() for name in names]
    assert sorted(named) == sorted(ANOMALIES), "each anomaly of the catalogue, once"
    assert PROMISES.keys() - WITHOUT_CHECKS == {*EXERCISED_BY.values()}


def test_the_document_names_the_promise_of_each_anomaly() -> None:
    sections = (Path(__file__).parents[2] / "docs" / "anomalies.md").read_text().split('<a id="')[1:]
    for section in sections:
        name = section.partition('"')[0]
        if name in ANOMALIES:
            assert f"**Exercised.** By [`{EXERCISED_BY[name]}`](promises.md)" in section
