"""Mutants of `analyzers.facts.inspections` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the row itself holds nothing of what is aggregated": (
        "_INSPECTIONS: ge rows between unbounded preceding and current row\\n )\\n ), compared as (\\n "
        "select run, to -> ge rows between unbounded preceding and 1 preceding\\n )\\n ), compared as (\\n "
        "select run, to",
    ),
    "before the first change, nothing is expected of an inspection, and a change is none": (
        "_INSPECTIONS: s wanted_retention\\n from ordered where not is_change and changed is not null\\n "
        ")\\n select *, if(deleted, 'deleted', co -> s wanted_retention\\n from ordered where changed is "
        "not null )\\n select *, if(deleted, 'deleted', co",
        "_INSPECTIONS: tion\\n from ordered where not is_change and changed is not null\\n )\\n select *, "
        "if(deleted, 'deleted', con -> tion\\n from ordered where not is_change )\\n select *, if(deleted, "
        "'deleted', con",
    ),
    "a change without an answer is an unknown one": (
        "_INSPECTIONS:  coalesce(changed.completed >= invoked, false) as unclear, changed.change = 'delete' "
        "->  coalesce(changed.completed >= invoked, true) as unclear, changed.change = 'delete'",
    ),
    "only large histories parse each text once: tests/spark/test_parsed_texts.py shows it": (
        "_ONCE: f'\\n select /*+ BROADCAST(texts) */ * from asked\\n left join (select text, {_PARSED} from "
        "(select distinct text from asked)) as texts using (text)\\n' -> f'\\n select /*+ BROADCAST(texts) "
        "*/ * from asked\\n join (select text, {_PARSED} from (select distinct text from asked)) as texts "
        "using (text)\\n'",
    ),
}
