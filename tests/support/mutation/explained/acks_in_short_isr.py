"""Mutants of `analyzers.facts.acks_in_short_isr` that no history can tell from the original, by the
reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "only samples of settings have this key, and without it there is no limit": (
        'MIN_ISR: f"""\\n select run, {NAME} as name, min(cast(get_json_object(value, '
        "\"$['min.insync.replicas']\") as int)) as min_isr\\n from {{observations}} where kind = "
        '\'settings\' group by run, {NAME}\\n""" -> f"""\\n select run, {NAME} as name, '
        "min(cast(get_json_object(value, \"$['min.insync.replicas']\") as int)) as min_isr\\n from "
        '{{observations}} where true group by run, {NAME}\\n"""',
    ),
    "only workers say with which acks they send": (
        "_ACKS:  as process from {{operations}}\\n where f = 'worker' and get_json_object(value, "
        "'$.acks') = 'all'\\n ), answers as (\\n select /*+ BROADCAST( ->  as process from "
        "{{operations}}\\n where get_json_object(value, '$.acks') = 'all' ), answers as (\\n select /*+ "
        "BROADCAST(",
    ),
}
