"""The brokers' own log lines on the time axis of a run. Needs no JVM."""

from __future__ import annotations

from pathlib import Path

from analyzers.explain.overview import MOST_LINES, timeline
from analyzers.history.surroundings import Clock, log_lines
from analyzers.verdict.finding import Cause, Step

LOG = "log-75c6fe2b-0"
NOON = 1_795_350_385 * 10**9
"""2026-11-22T12:26:25 UTC in ns."""
CLOCK = Clock(monotonic=100 * 10**9, unix=NOON, began=85 * 10**9)

LINES = f"""\
2026-11-22T12:26:25,424 INFO  s.c.logger [kafka-1-event-handler] [Broker id=1] Follower {LOG} starts at leader epoch 1 from offset 43775 with partition epoch 3
2026-11-22T12:26:25,426 INFO  k.s.ReplicaFetcherManager [kafka-1] [ReplicaFetcherManager on broker 1] Removed fetcher for partitions Set({LOG})
2026-11-22T12:26:25,556 INFO  k.s.ReplicaFetcherThread [ReplicaFetcherThread-0-2] [ReplicaFetcher replicaId=1] Truncating partition {LOG} with TruncationState(offset=16920, completed=true)
2026-11-22T12:26:25,557 INFO  o.a.k.s.i.l.UnifiedLog [ReplicaFetcherThread-0-2] [UnifiedLog partition=other-{LOG}, dir=/k/data] Completed load of log with 1 segments
2026-11-22T12:26:25,558 INFO  o.a.k.s.i.l.UnifiedLog [main] [UnifiedLog partition={LOG}, dir=/k/data] Completed load of log with 1 segments
2026-11-22T12:26:26,078 INFO  o.a.k.c.BrokerHeartbeatManager [controller-2] [QuorumController id=2] The request from broker 1 to unfence has been granted because it has caught up.
2026-11-22T12:26:59,000 INFO  k.s.ReplicaFetcherThread [ReplicaFetcherThread-0-2] [ReplicaFetcher replicaId=1] Truncating partition {LOG} with TruncationState(offset=0, completed=true)
	at java.lang.Thread.run(Thread.java:840)
"""  # noqa: E501


def test_lines_about_elections_and_cuts_of_the_log_are_selected() -> None:
    found = list(log_lines("kafka1", LINES.splitlines(), CLOCK, logs=[LOG], first=14, last=20))
    assert [(round(each.time, 3), each.text.split(" with ")[0]) for each in found] == [
        (15.424, f"Follower {LOG} starts at leader epoch 1 from offset 43775"),
        (15.556, f"Truncating partition {LOG}"),
        (15.558, "Completed load of log"),
        (16.078, "The request from broker 1 to unfence has been granted because it has caught up."),
    ]


def test_a_time_line_weaves_them_into_the_steps_of_a_cause(tmp_path: Path) -> None:
    file = tmp_path / "kafka1.log"
    file.write_text(LINES)
    steps = (Step(time=15.5, text="broker 1 is cut off"), Step(time=None, text="at some time"))
    cause = Cause(kind="truncation", logs=(LOG,), steps=steps)
    moments, notes = timeline(cause, {"kafka1": file, "kafka2": tmp_path / "missing.log"}, CLOCK)
    assert [each.who for each in moments] == ["kafka1", "history", "kafka1", "kafka1", "kafka1", "history"]
    assert notes == ()
    moments, notes = timeline(cause, {"kafka1": file}, None)
    assert [each.who for each in moments] == ["history", "history"]
    assert notes[0].startswith("log lines of brokers are not shown")


def test_a_long_log_is_cut_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "kafka1.log"
    file.write_text(LINES.splitlines()[2] + "\n" + (LINES.splitlines()[2] + "\n") * MOST_LINES)
    cause = Cause(kind="truncation", logs=(LOG,), steps=(Step(time=15.5, text="x"),))
    moments, notes = timeline(cause, {"kafka1": file}, CLOCK)
    assert len(moments) == MOST_LINES + 1
    assert notes == (f"log lines of brokers: the first {MOST_LINES} of {MOST_LINES + 1} are shown",)
