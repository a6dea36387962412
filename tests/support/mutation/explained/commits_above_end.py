"""Mutants of `analyzers.facts.commits_above_end` that no history can tell from the original, by the reason
for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    (
        "the log reaches the end that the final read found, and the check wants commits above all that it "
        "reached"
    ): (
        "_ABOVE: and invoked < final_invoked and offset > final_end\\n ), known as (\\n select {LOG -> and "
        "invoked < final_invoked and offset >= final_end\\n ), known as (\\n select {LOG",
        "_ABOVE: d not reset and invoked < final_invoked and offset > final_end\\n ), known as (\\n select "
        "{LOG_COLUMNS}, of -> d not reset and invoked < final_invoked ), known as (\\n select "
        "{LOG_COLUMNS}, of",
    ),
}
