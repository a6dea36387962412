"""Mutants of `analyzers.facts.recoveries` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "an ok send has completed, so that the condition is not null": (
        "RECOVERIES: ool_or({ACKED} and completed < healed), false) as acked_before,\\n min(invoked) "
        "filte -> ool_or({ACKED} and completed < healed), true) as acked_before,\\n min(invoked) filte",
    ),
    "only faults have stages": (
        "RECOVERIES: as healed\\n from {{operations}}\\n where process = {NEMESIS} and "
        "get_json_object(value, '$.stage') = 'hea -> as healed\\n from {{operations}}\\n where "
        "get_json_object(value, '$.stage') = 'hea",
    ),
    "only the rows of topics and alterations have these events and changes": (
        "recoveries: )) as event\\n from {{operations}} where f in ('topic', 'alter') and type <> "
        "'fail'\\n ) where event in ('created', 'recreated -> )) as event\\n from {{operations}} where "
        "type <> 'fail' ) where event in ('created', 'recreated",
    ),
}
