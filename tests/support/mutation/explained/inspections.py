"""Mutants of `analyzers.facts.inspections` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the row itself holds nothing of what is aggregated": (
        "_INSPECTIONS: nk rows between unbounded preceding and current row\\n )\\n ), compared as "
        "(\\n select run, to -> nk rows between unbounded preceding and 1 preceding\\n )\\n ), "
        "compared as (\\n select run, to",
    ),
    "before the first change, nothing is expected of an inspection, and a change is none": (
        "_INSPECTIONS: om ordered where inspection is not null and unknown is not null\\n )\\n "
        "select *, if(deleted, 'deleted', con -> om ordered where inspection is not null )\\n "
        "select *, if(deleted, 'deleted', con",
        "_INSPECTIONS: s wanted_retention\\n from ordered where inspection is not null and unknown "
        "is not null\\n )\\n select *, if(deleted, 'deleted', co -> s wanted_retention\\n from "
        "ordered where unknown is not null )\\n select *, if(deleted, 'deleted', co",
    ),
    "a change without an answer is an unknown one": (
        "_INSPECTIONS: r coalesce(latest > inspection.invoked, false) as unclear, changed.change = "
        "'delete' -> r coalesce(latest > inspection.invoked, true) as unclear, changed.change = "
        "'delete'",
    ),
    "the union has changes first, and Spark leaves them first in the same nanosecond": (
        "_INSPECTIONS:  (\\n partition by run, topic order by at, rank rows between unbounded "
        "preceding and cu ->  (\\n partition by run, topic order by at rows between unbounded "
        "preceding and cu",
    ),
}
