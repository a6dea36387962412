"""The recording of one test: from the first client to the verdict."""

from __future__ import annotations

import json
import shlex
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.cluster.kafka.topics import topic_state
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.imported_lines import import_run
from pytest_kafkacheck.experiment.recovery import log_ends, read_limit, wait_agreement
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.recorder.clients import ClientRecorder
from pytest_kafkacheck.recorder.final_reads import read_finally
from pytest_kafkacheck.recorder.line_log import LineLog
from pytest_kafkacheck.run import Run

if TYPE_CHECKING:
    from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
    from pytest_kafkacheck.experiment.harness import Harness


RECOVERY_LIMIT = 60.0
"""Seconds for the brokers to agree again after the test's faults."""

HISTORY = "history.jsonl"
"""The file of the recording, in the folder of the run."""


class Recording(ClientRecorder):
    """What the fixture `kafkacheck_recorder` gives to a test. `judge` ends the recording with a verdict."""

    def __init__(
        self,
        home: RunDirectory,
        cluster: AnyCluster,
        harness: Harness,
        *,
        run: str,
        test: str,
        unknown: bool,
    ) -> None:
        self._lines = LineLog(home.path / HISTORY, run=run)
        super().__init__(self._lines, run=run)
        self._home, self._cluster, self._harness = home, cluster, harness
        self._test, self._accepts_unknown = test, unknown
        self.runs: list[Run] = []
        """With the run, as soon as it is judged."""
        now = {"monotonic_ns": time.monotonic_ns(), "unix_ns": time.time_ns()}
        home.environment.write_text(json.dumps({"clock": now}, indent=2) + "\n")
        self._phase("steady")

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return self._home.path

    def judge(self, *, requires: Sequence[str] | None = None, allow: Sequence[str] = ()) -> Run:
        """Read everything once more with a fresh client, and judge what was recorded. Flush producers before.

        requires  names of promises (docs/anomalies.md) without which the verdict is unknown; None: those that the
                  recording is about.
        allow     names of anomalies (docs/anomalies.md) that the test does not mind.
        The second call returns the same run. Raises UsageError if nothing was sent.
        """
        if self.runs:
            return self.runs[0]
        if self.is_empty:
            raise UsageError(
                "kafkacheck_recorder: nothing was recorded; wrap a producer with producer(client), or report sends"
            )
        self.close()
        topics = sorted(self.topics)
        self._phase("recovery")
        self._recover(topics)
        self._phase("final")
        self._read_finally(topics)
        self._phase("end")
        self._lines.close()
        self._cluster.save_logs(self._home.logs)
        lines = import_run(self._home.path / HISTORY, self._home.path, requires=requires, allow=allow)
        verdict = self._harness.judge_lines(lines)
        self._home.write_verdict(verdict)
        run = RecordedRun(self._home.path, verdict, test=self._test)
        run.accept_unknown = self._accepts_unknown
        self.runs.append(run)
        return run

    def check_looked_at(self) -> None:
        """Fail a test that recorded something and looked at no verdict, unless that is valid."""
        if self.is_empty:
            return
        run = self.judge()
        if not run.looked_at and run.result != "valid":
            self._harness.has_failed = True
            reason = "the test looked at no verdict, and this one is not valid"
            pytest.fail(f"{reason}: {run.text()}", pytrace=False)

    def leave(self) -> None:
        """A recording without a send leaves nothing."""
        self._lines.close()
        if self.is_empty:
            shutil.rmtree(self._home.path, ignore_errors=True)

    def _recover(self, topics: Sequence[str]) -> None:
        began = self.now()
        problem = wait_agreement(self._cluster, topics, limit=RECOVERY_LIMIT)
        self._lines.append(
            "recovery",
            type="info" if problem else "ok",
            invoked=began,
            completed=self.now(),
            problem=problem,
            limit=RECOVERY_LIMIT,
        )

    def _read_finally(self, topics: Sequence[str]) -> None:
        began = self.now()
        for topic in topics:
            state = topic_state(self._cluster.brokers, topic)
            self._lines.append(
                "topic",
                topic=topic,
                invoked=began,
                id=state.id,
                partitions=state.partitions,
                replication_factor=state.replication_factor,
                config=dict(state.config),
            )
        ends, unread = log_ends(self._cluster, [(topic, 0) for topic in topics], limit=RECOVERY_LIMIT)
        for (topic, partition), reason in sorted(unread.items()):
            self._lines.append("unread", topic=topic, partition=partition, reason=reason, invoked=began)
        wanted = {(topic, number): at for topic, numbers in ends.items() for number, at in numbers.items()}
        read_finally(self._cluster.brokers, wanted, recorder=self, log=self._lines, limit=read_limit(ends))

    def _phase(self, name: str) -> None:
        self._lines.append("phase", phase=name, invoked=self.now())


class RecordedRun(Run):
    """test: its node id."""

    def __init__(self, path: Path, verdict: Verdict, *, test: str) -> None:
        super().__init__(path, verdict)
        self._test = test

    def replay(self) -> str:
        """The command that runs the test again. What it sends, and which nodes its faults hit, it decides anew."""
        return (
            f"pytest {shlex.quote(self._test)}  (the test's own clients: kafkacheck replay cannot run them)"
        )
