"""Mutants of `analyzers.facts.queues` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "all acknowledgements of a delivery have the same kind": (
        "ANSWERS: lue, '$.delivery') as bigint) as op,\\n max(get_json_object(value, '$."
        "kind')) as ki -> lue, '$.delivery') as bigint) as op,\\n min(get_json_object(va"
        "lue, '$.kind')) as ki",
    ),
    "the condition only saves work: other rows name no delivery": (
        "ANSWERS:  as confirmed\\n from {operations} where f = 'acknowledgement' group b"
        "y run, get_json_object(value, '$ ->  as confirmed\\n from {operations} where tr"
        "ue group by run, get_json_object(value, '$",
    ),
    "the condition only saves work: other rows have no such event": (
        "TROUBLE: operations}}\\n where process = {NEMESIS}\\n or f = 'worker' and get_js"
        "on_object(value, '$.event') in ('killed', 'crashed')\\n ) group by run\\n )\\n\" -"
        "> operations}}\\n where process = {NEMESIS} or get_json_object(value, '$.event'"
        ") in ('killed', 'crashed') ) group by run\\n )\\n\"",
    ),
    "the condition only saves work: other rows have no such kind": (
        "queued: s claimed\\n from {{operations}}\\n where f = 'acknowledgement' and get_"
        "json_object(value, '$.kind') in ('accept', 'reject')\\n group by run, `group`, "
        "topic, partition -> s claimed\\n from {{operations}}\\n where get_json_object(va"
        "lue, '$.kind') in ('accept', 'reject') group by run, `group`, topic, partition",
    ),
}
