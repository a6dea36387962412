"""Mutants of `analyzers.facts.stalls` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a reader states its limit once": (
        "_STALLS: aders as (\\n select run, process, cast(max(poll_limit) * 1e9 as bigint) as poll_li -> "
        "aders as (\\n select run, process, cast(min(poll_limit) * 1e9 as bigint) as poll_li",
        "_STALLS: g (run) group by run, process\\n having max(poll_limit) is not null and bool_or(sto -> "
        "g (run) group by run, process\\n having min(poll_limit) is not null and bool_or(sto",
    ),
    "a process stops once": (
        "_STALLS:  1e9 as bigint) as poll_limit,\\n least(min(invoked) filter (where stopped), min(fi -> "
        " 1e9 as bigint) as poll_limit,\\n least(max(invoked) filter (where stopped), min(fi",
    ),
    "a run has one final phase": (
        "_STALLS: orker'\\n ), endings as (\\n select run, min(invoked) as final_phase from {{operatio "
        "-> orker'\\n ), endings as (\\n select run, max(invoked) as final_phase from {{operatio",
        "_STALLS: t(min(invoked) filter (where stopped), min(final_phase)) as until\\n from clients l -> "
        "t(min(invoked) filter (where stopped), max(final_phase)) as until\\n from clients l",
    ),
    "a fault is healed once": (
        "_STALLS: ult, min(invoked) as began,\\n coalesce(max(completed) filter (where get_json_objec -> "
        "ult, min(invoked) as began,\\n coalesce(min(completed) filter (where get_json_objec",
    ),
    "only the rows of workers name a process": (
        "_STALLS:  poll_limit\\n from {{operations}} where f = 'worker'\\n ), endings as (\\n select "
        "run, min(invok ->  poll_limit\\n from {{operations}} where true ), endings as (\\n select run, "
        "min(invok",
    ),
    "only the rows of phases name a phase": (
        "_STALLS: final_phase from {{operations}}\\n where f = 'phase' and get_json_object(value, "
        "'$.phase') = 'fin -> final_phase from {{operations}}\\n where get_json_object(value, '$.phase') "
        "= 'fin",
    ),
    "only samples of partitions have the start of a log": (
        "_STALLS: een_start\\n from {{observations}} where kind = 'partition' group by run, topic, "
        "partition\\n ), dis -> een_start\\n from {{observations}} where true group by run, topic, "
        "partition\\n ), dis",
    ),
    "a polled record has an offset": (
        "_STALLS:  is null and not coalesce(final, false) and offset is not null\\n group by run, topic, "
        "partition, process, ->  is null and not coalesce(final, false) group by run, topic, partition, "
        "process,",
    ),
    "no time lies between a last record and an end that came no later": (
        "_STALLS: , poll_limit, until having max({TIME}) < until\\n ), loads as (\\n select run, (ma -> "
        ", poll_limit, until having max({TIME}) <= until\\n ), loads as (\\n select run, (ma",
        "_STALLS: ion, process, poll_limit, until having max({TIME}) < until\\n ), loads as (\\n selec "
        "-> ion, process, poll_limit, until having min({TIME}) < until\\n ), loads as (\\n selec",
    ),
}
