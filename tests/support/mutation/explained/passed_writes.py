"""Mutants of `analyzers.facts.passed_writes` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "it only keeps the join small: more writes pass it, and the join leaves them out": (
        "_PASSED:  semi join (select * from reached where is_passed) using (run, value)\\n )\\n select distin -> "
        " semi join (select * from reached where true ) using (run, value)\\n )\\n select distin",
        "_PASSED: in(previous) over (\\n partition by run, topic, partition order by offset desc\\n range b -> "
        "in(previous) over (\\n partition by run, partition order by offset desc\\n range b",
        "_PASSED: nbounded preceding and current row\\n ) < offset as is_passed\\n from places\\n ),  -> nbounded "
        "preceding and current row\\n ) <= offset as is_passed\\n from places\\n ), ",
        "_PASSED: ue, min(previous) over (\\n partition by run, topic, partition order by offset desc\\n  -> ue, "
        "min(previous) over (\\n partition by topic, partition order by offset desc\\n ",
    ),
    "while a run goes on, every log with a record has a row of what may have been removed": (
        "passed_writes: 'coalesce(removed_to, 0)' -> 'coalesce(removed_to)'",
        "passed_writes: history.sql(_PASSED).join(F.broadcast(removed_beginnings(history)), LOG, "
        "'left') -> history.sql(_PASSED).join(F.broadcast(removed_beginnings(history)), LOG, 'inner')",
        "passed_writes: history.sql(_PASSED).join(F.broadcast(removed_beginnings(history)), LOG, "
        "'left').withColumn('removed_to', F.expr('coalesce(removed_to, 0)')) -> "
        "history.sql(_PASSED).join(F.broadcast(removed_beginnings(history)), LOG, 'left')",
    ),
}
