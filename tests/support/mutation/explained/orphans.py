"""Mutants of `analyzers.facts.orphans` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a time that is over when it begins is not longer than any limit": (
        "_unowned: 'began < over' -> 'began <= over'",
        "_unowned: following.where('began < over') -> following",
        "orphans: 'lasted > 0' -> 'lasted >= 0'",
        "orphans: gaps.join(_alive(history), ['run', 'group']).withColumn('began', "
        "F.expr('greatest(began, born)')).withColumn('lasted', F.expr('least(over, gone) - "
        "began')).where('lasted > 0') -> gaps.join(_alive(history), ['run', "
        "'group']).withColumn('began', F.expr('greatest(began, born)')).withColumn('lasted', "
        "F.expr('least(over, gone) - began'))",
    ),
    "no time lies between assignments that begin together, and the last of them ends with the latest": (
        "_unowned: Window.partitionBy(*GROUP_LOG).orderBy('opens', 'closes') -> "
        "Window.partitionBy(*GROUP_LOG).orderBy('opens')",
    ),
    "a process that died does nothing afterwards": (
        "_alive: \"event in ('left', 'fenced', 'died')\" -> \"event in ('left', 'fenced')\"",
    ),
    "a life whose end is over before anything else of it covers no time": (
        "_alive: 'min(completed) filter (where not end)' -> 'min(completed) '",
    ),
    "a life that is over when it begins covers no time": ("_alive: 'born < gone' -> 'born <= gone'",),
    "numbers only tell lives apart; they begin with 0 then": (
        "_alive: 'count_if(before is null or before < born)' -> 'count_if(before < born )'",
    ),
    "lives that begin together overlap, in whatever order": (
        "_alive: Window.partitionBy('run', 'group').orderBy('born', 'gone') -> Window.partitionBy('run', "
        "'group').orderBy('born')",
    ),
}
