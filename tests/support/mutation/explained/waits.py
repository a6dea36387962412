"""Mutants of `analyzers.facts.waits` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    (
        "a wait ends with the first tenth of a second that has an acknowledgement, so that only one of "
        "it has any"
    ): (
        "WAITED: ore), min(asked)) as began,\\n coalesce(min(first_ack), max(last)) as ended\\n from  -> "
        "ore), min(asked)) as began,\\n coalesce(max(first_ack), max(last)) as ended\\n from ",
    ),
    "all tenths of a second of a wait have the same acknowledgements before them": (
        "WAITED: select run, topic, partition, greatest(max(before), min(asked)) as began,\\n coales -> "
        "select run, topic, partition, greatest(min(before), min(asked)) as began,\\n coales",
    ),
    "a wait that takes no time is not longer than any limit": (
        "waits: f'with {WAITED} select run, topic, partition, began, ended - began as lasted from waited "
        "where began < ended' -> f'with {WAITED} select run, topic, partition, began, ended - began as "
        "lasted from waited where began <= ended'",
        "waits: f'with {WAITED} select run, topic, partition, began, ended - began as lasted from waited "
        "where began < ended' -> f'with {WAITED} select run, topic, partition, began, ended - began as "
        "lasted from waited where true '",
    ),
}
