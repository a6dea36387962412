"""Mutants of `analyzers.facts.queues` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the condition only saves work: other rows name no delivery": (
        "ANSWERS:  as confirmed\\n from {operations} where f = 'acknowledgement' group by run, "
        "get_json_object(value, '$ ->  as confirmed\\n from {operations} where true group by run, "
        "get_json_object(value, '$",
    ),
    "the condition only saves work: other rows have no such event": (
        "TROUBLE: operations}}\\n where process = {NEMESIS}\\n or f = 'worker' and get_json_object(value, "
        "'$.event') in ('killed', 'crashed')\\n ) group by run\\n )\\n\" -> operations}}\\n where process = "
        "{NEMESIS} or get_json_object(value, '$.event') in ('killed', 'crashed') ) group by run\\n )\\n\"",
    ),
    "the condition only saves work: other rows have no such kind": (
        "queued: t as offset from {{operations}}\\n where f = 'acknowledgement' and "
        "get_json_object(value, '$.kind') in ('accept', 'reject')\\n group by run, `group`, topic, "
        "partition -> t as offset from {{operations}}\\n where get_json_object(value, '$.kind') in "
        "('accept', 'reject') group by run, `group`, topic, partition",
    ),
    "it only keeps the first confirmed record of more groups": (
        "QUEUES: (value, '$.lock') as bigint) as lock,\\n if(get_json_object(value, '$.policy') = 'latest', "
        "first_confirmed, null) as first_confirmed,\\n coalesce(\\n cast -> (value, '$.lock') as bigint) as lock,"
        "\\n (first_confirmed) as first_confirmed,\\n coalesce(\\n cast",
    ),
    "all acknowledgements of a delivery have the same kind": (
        "ANSWERS: lue, '$.delivery') as bigint) as op,\\n max(get_json_object(value, '$.kind')) as ki -> "
        "lue, '$.delivery') as bigint) as op,\\n min(get_json_object(value, '$.kind')) as ki",
    ),
    "an acknowledgement is not acknowledged, and such rows never count": (
        "deliveries: ct {DELIVERY} from {{operations}} where f = 'delivery' and type = 'ok') delivered\\n "
        "left join answers using (r -> ct {DELIVERY} from {{operations}} where type = 'ok' ) delivered\\n "
        "left join answers using (r",
    ),
}
