"""Judges a run while it is in progress, and reports findings at once. The verdict does not depend on it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from analyzers.catalogue.registry import ANOMALIES
from analyzers.history.surroundings import seconds
from analyzers.judge.examples import example_json
from analyzers.judge.find import Found
from analyzers.judge.live import EITHER, Reported, find_live
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.experiment.stored_runs import SparkProvider
from workloads.declaration import Declaration
from workloads.history.live.window import LIMIT, Window

log = logging.getLogger(__name__)

EVERY = 15.0
"""Seconds between rounds. Segments are sealed at an age of 20 s, so a finding is reported within a minute."""

END_TIMEOUT = 60.0
"""Seconds that the end of a run waits for the current round."""

MIN_LIMIT = 1 << 20
"""Bytes; see `next_limit`."""

EXAMPLES = 3
"""Of each anomaly and window, in ``live.jsonl``."""

FEW = 2
"""From this number of anomalies on that a finding may turn out to be, a message does not name them."""


def next_limit(limit: int, *, took: float, every: float) -> int:
    """Bytes of the next window, after a round with `limit` bytes that took `took` seconds.

    On a busy machine the window shrinks, so that a round takes no longer than `every` seconds.
    """
    if took > every:
        return max(limit // 2, MIN_LIMIT)
    return min(limit * 2, LIMIT) if took < every / 3 else limit


def keeps_records(experiment: Experiment) -> bool:
    """Whether neither a fault nor the workload of an experiment is to delete records."""
    workload = experiment.workload
    declaration = getattr(type(workload), "declaration", Declaration())
    deleting = any(event.fault.removes_records for event in experiment.schedule.events)
    return not (deleting or declaration.deletes_records(workload))


class LiveJudge:
    """A context manager: within it, a thread judges every few seconds what a run has recorded since.

    home           the run's folder. Findings are appended to its ``live.jsonl``: one line per anomaly and window.
    spark          provides the session, once it has started.
    say            is called with one line when an anomaly is found for the first time.
    allowed        anomalies that the workload allows; they are reported as allowed.
    keeps_records  whether nothing is to delete records in this run: some findings are certain only then.
    every          seconds between rounds.

    An error here is logged, and reported once. It affects neither the run nor its verdict.
    """

    def __init__(
        self,
        home: Path,
        spark: SparkProvider,
        *,
        say: Callable[[str], None],
        allowed: Collection[str] = (),
        keeps_records: bool = False,
        every: float = EVERY,
        window: Window | None = None,
    ) -> None:
        self._file = RunDirectory(home).live
        self._spark, self._say, self._allowed, self._every = spark, say, allowed, every
        self._window = window or Window(RunDirectory(home).history)
        self._began: int | None = None
        self._keeps_records = keeps_records
        self._reported = Reported()
        self._said: set[str] = set()
        self._has_failed = self._is_late = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kafkacheck-live", daemon=True)

    def __enter__(self) -> LiveJudge:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop.set()
        # After an interrupt nobody waits: what a round finds now is not reported.
        if kind is not KeyboardInterrupt:
            self._thread.join(END_TIMEOUT)

    def _run(self) -> None:
        while not self._stop.wait(0 if self._window.waits else self._every):
            try:
                self.round()
            except Exception as error:
                self._fail(repr(error))

    def round(self) -> None:
        """Judge one window, if a segment was sealed since the last one."""
        tables = self._window.advance()
        if tables is None:
            return
        if self._window.missed and not self._is_late:
            self._is_late = True
            self._say(
                "live: the history grows faster than it can be judged now; parts of it are left to the verdict"
            )
        now = self._latest(tables)
        if now is None:
            return
        session = self._spark.session(rows=sum(map(len, tables.values())))
        began = time.monotonic()
        found, crashed = find_live(session, tables, self._reported, keeps_records=self._keeps_records)
        self._window.limit = next_limit(self._window.limit, took=time.monotonic() - began, every=self._every)
        if self._stop.is_set():
            return
        for each in found:
            self._report(each, now)
        for crash in crashed:
            self._fail(f"the check {crash.anomaly} crashed: {crash.error}")

    def _latest(self, tables: Mapping[str, pa.Table]) -> int | None:
        """The latest time in the window, ns; None if it is empty."""
        times = [pc.min_max(rows[name]) for rows in tables.values() for name in ("invoked", "completed")]
        if self._began is None:
            # As in the verdict, time begins after the creation of the topics.
            operations = tables["operations"]
            loaded = operations.filter(pc.not_equal(operations["f"], "topic"))
            lows = [pc.min(rows["invoked"]) for rows in (tables["records"], loaded)]
            self._began = min((low for each in lows if (low := each.as_py()) is not None), default=None)
        return max((high for each in times if (high := each["max"].as_py()) is not None), default=None)

    def _report(self, found: Found, now: int) -> None:
        either = sorted(EITHER[found.anomaly] - {found.anomaly})
        examples = [example_json(found.anomaly, each, self._began) for each in found.examples[:EXAMPLES]]
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
        if found.anomaly not in self._said:
            self._said.add(found.anomaly)
            others = either if len(either) < FEW else ["another anomaly of the same records"]
            name = " or ".join([found.anomaly, *others])
            at = examples[0]["time"]
            when = "" if at is None else f", first at {at:.1f} s"
            allowed = " (allowed)" if line["allowed"] else ""
            self._say(
                f"live: {name}{allowed}: {found.count} {ANOMALIES[found.anomaly].summary(found.count)}{when}"
            )

    def _fail(self, why: str) -> None:
        log.warning("live judging: %s", why, exc_info=not self._has_failed)
        if not self._has_failed:
            self._has_failed = True
            self._say(f"live: judging during the run failed; the verdict is not affected: {why}")
