"""Judging while a run goes on: what is found for certain is said at once. The verdict is made without it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analyzers.catalogue.registry import ANOMALIES, CHECKS
from analyzers.history.relative_time import seconds
from analyzers.judge.find import Found
from analyzers.judge.live import find_live
from pytest_kafkacheck.experiment.stored_runs import SparkProvider
from workloads.history.window import LIMIT, Window

log = logging.getLogger(__name__)

EVERY = 15.0
"""Seconds between rounds. Together with the age at which segments are sealed, a finding takes less than a minute."""

PATIENCE = 60.0
"""Seconds that the end of a run waits for the round under way."""


SMALLEST = 1 << 20

EITHER = {check.name: check.live_either for check in CHECKS}


def fitting(limit: int, *, took: float, every: float) -> int:
    """Bytes of the next window after a round of so many: a busy machine looks less far back, and stays in time."""
    if took > every:
        return max(limit // 2, SMALLEST)
    return min(limit * 2, LIMIT) if took < every / 3 else limit


class LiveJudge:
    """Judges the last minutes of a run's history again and again, in a thread of its own, while the block lasts.

    home     the run's folder; what is found goes into its ``live.jsonl``, a line for each anomaly and round.
    spark    gives the session; it is waited for.
    say      takes one line for an anomaly, when it is first found.
    allowed  anomalies that the workload permits: so it is said of them.
    every    seconds between rounds.
    Whatever goes wrong here is logged, and said once; it neither ends the run nor touches its verdict.
    """

    def __init__(
        self,
        home: Path,
        spark: SparkProvider,
        *,
        say: Callable[[str], None],
        allowed: Collection[str] = (),
        every: float = EVERY,
        window: Window | None = None,
    ) -> None:
        self._file = home / "live.jsonl"
        self._spark, self._say, self._allowed, self._every = spark, say, allowed, every
        self._window = window or Window(home / "history")
        self._began: int | None = None
        self._told: dict[str, int] = {}
        """Anomaly to the time (ns) up to which all of its findings are told."""
        self._failed = self._late = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="kafkacheck-live", daemon=True)

    def __enter__(self) -> LiveJudge:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self.round()
            except Exception as error:
                self._fail(repr(error))

    def round(self) -> None:
        """Judge once, if anything was sealed since the last time."""
        if not self._window.advance():
            return
        if self._window.missed and not self._late:
            self._late = True
            self._say(
                "live: the history grows faster than it can be judged meanwhile; some is left to the verdict"
            )
        tables = self._window.tables()
        now = self._now(tables)
        if now is None:
            return
        session = self._spark.session(rows=len(tables["records"]))
        begun = time.monotonic()
        found, crashed = find_live(session, tables, told=self._told)
        self._window.limit = fitting(self._window.limit, took=time.monotonic() - begun, every=self._every)
        if self._stop.is_set():
            return
        for one in found:
            self._tell(one, now)
        for crash in crashed:
            self._fail(f"the check {crash.anomaly} crashed: {crash.error}")

    def _now(self, tables: Mapping[str, pa.Table]) -> int | None:
        """The latest time in the window, ns; None where it is empty."""
        times = [pc.min_max(rows[name]) for rows in tables.values() for name in ("invoked", "completed")]
        if self._began is None:
            self._began = min(
                (low for each in times if (low := each["min"].as_py()) is not None), default=None
            )
        return max((high for each in times if (high := each["max"].as_py()) is not None), default=None)

    def _tell(self, found: Found, now: int) -> None:
        first = found.anomaly not in self._told
        self._told[found.anomaly] = now
        either = sorted(EITHER.get(found.anomaly, frozenset()) - {found.anomaly})
        examples: list[dict[str, Any]] = [
            {**each, "time": seconds(each["time"], self._began)} for each in found.examples
        ]
        line = {
            "anomaly": found.anomaly,
            "or": either,
            "count": found.count,
            "allowed": found.anomaly in self._allowed,
            "judged_to": seconds(now, self._began),
            "examples": examples,
        }
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if first:
            name = " or ".join([found.anomaly, *either])
            at = examples[0]["time"]
            when = "" if at is None else f", first at {at:.1f} s"
            allowed = " (allowed)" if line["allowed"] else ""
            self._say(
                f"live: {name}{allowed}: {found.count} {ANOMALIES[found.anomaly].summary(found.count)}{when}"
            )

    def _fail(self, why: str) -> None:
        log.warning("judging meanwhile: %s", why, exc_info=not self._failed)
        if not self._failed:
            self._failed = True
            self._say(f"live: judging meanwhile failed, the verdict comes all the same: {why}")
