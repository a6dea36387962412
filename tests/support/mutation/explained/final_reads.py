"""Mutants of `analyzers.facts.final_reads` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a final read always records where the log began": (
        "FINAL_READS: al_invoked,\\n coalesce(last.start_offset, 0) as final_start, last.end_offset as "
        "fin -> al_invoked,\\n coalesce(last.start_offset) as final_start, last.end_offset as fin",
    ),
}
