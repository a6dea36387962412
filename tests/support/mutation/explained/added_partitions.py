"""Mutants of `analyzers.facts.added_partitions` that no history can tell from the original, by the reason
for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "only alterations of topics have a change": (
        "ADDED:  as altered from {{operations}}\\n where f = 'alter' and type <> 'fail' and "
        "get_json_object(value, '$.change') = 'partitions'\\n group by run, topic\\n ), grown as (\\n s "
        "->  as altered from {{operations}}\\n where type <> 'fail' and get_json_object(value, '$.change') "
        "= 'partitions' group by run, topic\\n ), grown as (\\n s",
    ),
    "a value is sent once": (
        "ADDED: lue, altered, min(offset) as offset,\\n min(if(f = 'send', invoked, null)) as sent, -> "
        "lue, altered, min(offset) as offset,\\n max(if(f = 'send', invoked, null)) as sent,",
    ),
}
