"""Mutants of `analyzers.facts.queues` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the condition only saves work: other rows name no delivery": (
        "ANSWERS: ull)) as confirmed\\n from several where f = 'acknowledgement' group by run, "
        "get_json_object(value, '$ -> ull)) as confirmed\\n from several where true group by run, "
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
    "all acknowledgements of a delivery have the same kind": (
        "ANSWERS: lue, '$.delivery') as bigint) as op,\\n max(get_json_object(value, '$.kind')) as ki -> "
        "lue, '$.delivery') as bigint) as op,\\n min(get_json_object(value, '$.kind')) as ki",
    ),
    "a record that was delivered once may be among the others, which come to the same": (
        "DELIVERIES:  from {operations} where f = 'delivery' and type = 'ok'\\n group by run, `group`, "
        "topic, partition, ->  from {operations} where f = 'delivery' group by run, `group`, topic, "
        "partition,",
        "DELIVERIES: artition, start_offset having count(*) > 1\\n ), single as (\\n select * from {ope "
        "-> artition, start_offset having count(*) >= 1\\n ), single as (\\n select * from {ope",
        "DELIVERIES: n, start_offset from {operations} where f = 'delivery' and type = 'ok'\\n group by "
        "run, `group`, topic, partition -> n, start_offset from {operations} where type = 'ok' group by "
        "run, `group`, topic, partition",
    ),
    "the condition only saves work: what follows takes deliveries and acknowledgements": (
        "DELIVERIES: topic, partition, start_offset)\\n where f = 'delivery' and type = 'ok' or f = "
        "'acknowledgement'\\n )\\n\" -> topic, partition, start_offset)\\n where type = 'ok' or f = "
        "'acknowledgement' )\\n\"",
    ),
    "without a count of deliveries, no check counts the rows that come on top": (
        "DELIVERIES: topic, partition, start_offset)\\n where f = 'delivery' and type = 'ok'\\n ), "
        "several as (\\n select * from {operat -> topic, partition, start_offset)\\n where type = 'ok' ), "
        "several as (\\n select * from {operat",
    ),
    "an acknowledgement is not acknowledged, and such rows never count": (
        "deliveries: m (select {DELIVERY} from several where f = 'delivery') delivered\\n left join "
        "answers using (r -> m (select {DELIVERY} from several where true ) delivered\\n left join "
        "answers using (r",
    ),
}
