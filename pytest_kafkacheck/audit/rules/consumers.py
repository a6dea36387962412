"""Which records a crashed consumer's successor begins with."""

from __future__ import annotations

from pytest_kafkacheck.audit.mend import COMMIT_AFTER, RESET_EARLIEST
from pytest_kafkacheck.audit.rule import Rule

EVENTS = ("consumer-crash",)
SEMANTICS = "Kafka documentation, design: message delivery semantics"
RESET = "Kafka documentation, consumer configs: auto.offset.reset"

RULES = (
    Rule(
        name="committed-before-processing",
        events=EVENTS,
        effect="loses",
        applies=lambda c, _: c.commit == "before-processing",
        why="the position is committed before the records are processed; the successor begins behind them",
        mends=(COMMIT_AFTER,),
        sources=(SEMANTICS,),
    ),
    Rule(
        name="committed-while-processing",
        events=EVENTS,
        effect="loses",
        applies=lambda c, _: c.commit == "auto-asynchronous",
        why="enable.auto.commit=true commits what was polled before, also where the program has not processed it yet",
        mends=(COMMIT_AFTER,),
        sources=("Kafka documentation, KafkaConsumer: automatic offset committing", "KAFKA-2942"),
    ),
    Rule(
        name="skips-without-position",
        events=EVENTS,
        effect="loses",
        applies=lambda c, _: c.auto_offset_reset == "latest",
        why="auto.offset.reset=latest: after a crash before the first commit, or where the committed position has "
        "expired, the successor begins at the end and skips what was written meanwhile",
        mends=(RESET_EARLIEST,),
        sources=(RESET, "measured on Kafka 4.1.1: docs/groups.md, group-skip"),
    ),
    Rule(
        name="commits-not-known",
        events=EVENTS,
        effect="unknown",
        applies=lambda c, _: c.commit is None,
        why="it is not known when consumers commit their position",
        sources=(SEMANTICS,),
    ),
    Rule(
        name="reset-not-known",
        events=EVENTS,
        effect="unknown",
        applies=lambda c, _: c.auto_offset_reset is None,
        why="it is not known where consumers begin without a committed position (auto.offset.reset; by default at "
        "the end, which skips records)",
        sources=(RESET,),
    ),
    Rule(
        name="processed-twice",
        events=EVENTS,
        effect="keeps",
        applies=lambda c, _: c.commit in ("after-processing", "auto"),
        why="records after the last commit are processed twice",
        sources=(SEMANTICS,),
    ),
)
