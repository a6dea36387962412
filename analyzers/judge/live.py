"""Judges a window of a history while the run is in progress: only findings that no other part can refute."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from analyzers.catalogue.check import Check, Live
from analyzers.catalogue.registry import ANOMALIES, CHECKS
from analyzers.facts.fact import SENDS_AND_POLLS
from analyzers.facts.registry import NEEDS
from analyzers.history.incarnations import by_incarnation, cuts, topic_changes
from analyzers.history.load import load, release
from analyzers.history.sources import sources
from analyzers.judge.find import CheckResult, Crashed, find
from workloads.history.parquet import WHOLE, write
from workloads.history.schema import TABLES

MOST = 1_000
"""Findings of one anomaly and run that are remembered, so that each is reported once. After these, live judging does
not look for the anomaly any more, and only the verdict has the number of all."""

LIVE: Mapping[str, Live] = {check.name: check.live for check in CHECKS if isinstance(check.live, Live)}
"""By anomaly."""

EITHER: Mapping[str, frozenset[str]] = {name: live.either or frozenset({name}) for name, live in LIVE.items()}
"""Anomaly to the anomalies, itself included, of which the whole history has one where a part of it has this one."""

_ALIKE = {
    name: min(other for other in LIVE if other == name or (live.either and LIVE[other].either == live.either))
    for name, live in LIVE.items()
}
"""Anomaly to the first of those that a part of a history cannot tell apart from it: they have one count."""


class Reported:
    """The findings of earlier windows, so that each is reported once. Holds up to `most` of each anomaly and run."""

    def __init__(self, *, most: int = MOST) -> None:
        self.most = most
        self.full: set[str] = set()
        """Anomalies with so many findings that no more are looked for."""
        self._keys: dict[tuple[str, str], set[tuple[Any, ...]]] = {}

    def new(self, found: CheckResult) -> CheckResult | None:
        """What of it was not reported before; None for nothing. It counts as reported from then on."""
        known = self._keys.setdefault((found.run, _ALIKE[found.anomaly]), set())
        subject = ANOMALIES[found.anomaly].subject.columns
        names = (*subject, *LIVE[found.anomaly].per)
        keys = [tuple(shown[name] for name in names) for shown in found.examples]
        fresh = [shown for key, shown in zip(keys, found.examples, strict=True) if key not in known]
        count = len(fresh)
        if found.count > len(found.examples) or len(known) + count > self.most:
            self.full |= {name for name, alike in _ALIKE.items() if alike == _ALIKE[found.anomaly]}
            count = max(count, found.count - len(known))
        known.update(keys[: self.most])
        return replace(found, count=count, examples=tuple(fresh), extents=()) if fresh else None


def live_checks(*, keeps_records: bool, full: Collection[str] = ()) -> list[Check]:
    """The checks as they run during a run.

    keeps_records  whether nothing is to delete records in this run.
    full           anomalies that are not looked for any more.
    """
    running = (check.while_running() for check in CHECKS)
    return [
        check
        for check in running
        if check is not None
        and check.name not in full
        and (keeps_records or not LIVE[check.name].if_records_stay)
    ]


def find_live(
    spark: SparkSession, tables: Mapping[str, pa.Table], reported: Reported, *, keeps_records: bool
) -> tuple[list[CheckResult], list[Crashed]]:
    """What the checks in `LIVE` find in the given part of a history, or of several runs, and that was not reported.

    tables         by name, as `workloads.history.live.window` makes them.
    reported       what was found in earlier parts; these findings are added.
    keeps_records  see `live_checks`.
    """
    kinds = {*pc.unique(tables["operations"]["f"]).to_pylist(), None, SENDS_AND_POLLS}
    checks = [
        check
        for check in live_checks(keeps_records=keeps_records, full=reported.full)
        if NEEDS.get(check.over) in kinds
    ]
    with tempfile.TemporaryDirectory(prefix="kafkacheck-live-") as folder:
        for name, table in tables.items():
            directory = Path(folder) / "history" / name
            directory.mkdir(parents=True)
            write(directory / WHOLE, [table], TABLES[name])
        directories = sources(spark, [Path(folder)])
        history = load(spark, directories)
        try:
            topics = topic_changes(history, directories)
            logs = by_incarnation(history, cuts(topics, is_complete=False))
            found, crashed = find(replace(logs, is_running=True), checks, examples=reported.most)
        finally:
            release(spark, history)
    return [each for one in found if (each := reported.new(one)) is not None], crashed
