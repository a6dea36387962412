"""Mutants of `analyzers.facts.removals` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a topic is created once, so that it has one row with settings": (
        "_REMOVALS:  ), settings as (\\n select run, topic, min(invoked) as since, bool_and(policy not  ->  "
        "), settings as (\\n select run, topic, max(invoked) as since, bool_and(policy not ",
        "_REMOVALS: run, topic, min(invoked) as since, bool_and(policy not like '%compact%' and bytes < -> "
        "run, topic, min(invoked) as since, bool_or(policy not like '%compact%' and bytes <",
        "_REMOVALS: t%' and bytes < 0) as unlimited,\\n bool_or(policy is null or ms is null or bytes i -> "
        "t%' and bytes < 0) as unlimited,\\n bool_and(policy is null or ms is null or bytes i",
        "_REMOVALS: ull or bytes is null) as incomplete,\\n min(if(ms < 0, null, ms)) as least\\n from c -> "
        "ull or bytes is null) as incomplete,\\n max(if(ms < 0, null, ms)) as least\\n from c",
    ),
    "a topic is created again only after it was deleted": (
        "_REMOVALS: un and {NAME} = of_topic and recreated >= invoked\\n where f = 'topic' and get_jso -> "
        "un and {NAME} = of_topic and recreated > invoked\\n where f = 'topic' and get_jso",
    ),
    "only the rows of topics have these events": (
        "_REMOVALS: _topic and recreated >= invoked\\n where f = 'topic' and get_json_object(value, "
        "'$.event') = 'deleted'\\n union all\\n select run, topic, invoked  -> _topic and recreated >= "
        "invoked\\n where get_json_object(value, '$.event') = 'deleted' union all\\n select run, topic, "
        "invoked ",
        "_REMOVALS: s recreated\\n from {{operations}} where f = 'topic' and get_json_object(value, "
        "'$.event') = 'recreated'\\n ), deletions as (\\n select run, topic,  -> s recreated\\n from "
        "{{operations}} where get_json_object(value, '$.event') = 'recreated' ), deletions as (\\n select "
        "run, topic, ",
        "_REMOVALS: t) as bytes\\n from {{operations}} where f = 'topic' and get_json_object(value, "
        "'$.event') in ('created', 'recreated')\\n ), settings as (\\n select run, topic, m -> t) as "
        "bytes\\n from {{operations}} where get_json_object(value, '$.event') in ('created', 'recreated') "
        "), settings as (\\n select run, topic, m",
    ),
    "a run has one final phase": (
        "_REMOVALS: rtition\\n ), phases as (\\n select run, min(invoked) as final_phase from {{operatio -> "
        "rtition\\n ), phases as (\\n select run, max(invoked) as final_phase from {{operatio",
    ),
    "only the rows of phases name a phase": (
        "_REMOVALS: final_phase from {{operations}}\\n where f = 'phase' and get_json_object(value, "
        "'$.phase') = 'fin -> final_phase from {{operations}}\\n where get_json_object(value, '$.phase') = "
        "'fin",
    ),
    "only samples of partitions have the start of a log": (
        "_REMOVALS: een_start\\n from {{observations}} where kind = 'partition' group by run, topic, "
        "partition\\n ), pha -> een_start\\n from {{observations}} where true group by run, topic, "
        "partition\\n ), pha",
    ),
    "only faults remove records": (
        "_REMOVALS: ic, value\\n from {{operations}}\\n where process = {NEMESIS} and "
        "get_json_object(value, '$.removes_records') = 'true'\\n and get_json_object(value, '$.stage') = "
        "'inject'\\n ), removing as (\\n select run, topic,\\n -> ic, value\\n from {{operations}}\\n where "
        "get_json_object(value, '$.removes_records') = 'true' and get_json_object(value, '$.stage') = "
        "'inject' ), removing as (\\n select run, topic,\\n",
    ),
    "no other operation has the number of a deletion": (
        "_REMOVALS: , op as of_op from {{operations}} where f = 'deletion' and type <> 'info'\\n ), "
        "requested as (\\n select run, topic,  -> , op as of_op from {{operations}} where type <> 'info' ), "
        "requested as (\\n select run, topic, ",
    ),
}
