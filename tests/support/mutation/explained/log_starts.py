"""Mutants of `analyzers.facts.log_starts` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "_LOG_STARTS: ct *, {NAME} as name from ordered where sample is not null)\\n join {{allowed}} as "
        "allowed using (r -> ct *, {NAME} as name from ordered where true )\\n join {{allowed}} as "
        "allowed using (r",
    ),
    "only samples of settings have these keys": (
        "_LOG_STARTS: s_limited from {{observations}}\\n where kind = 'settings' and (\\n "
        "get_json_object(value, \"$['cleanup.policy']\") like '%compact%'\\n or "
        "cast(get_json_object(value, \"$['retention.bytes']\") as bigint) >= 0\\n or "
        "cast(get_json_object(value, \"$['retention.ms']\") as bigint) between 0 and {SHORT}\\n )\\n ), "
        "clocks as (\\n select distinct run, t -> s_limited from {{observations}}\\n where (\\n "
        "get_json_object(value, \"$['cleanup.policy']\") like '%compact%'\\n or "
        "cast(get_json_object(value, \"$['retention.bytes']\") as bigint) >= 0\\n or "
        "cast(get_json_object(value, \"$['retention.ms']\") as bigint) between 0 and {SHORT}\\n ) ), "
        "clocks as (\\n select distinct run, t",
    ),
}
