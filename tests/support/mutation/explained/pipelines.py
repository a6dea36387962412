"""Mutants of `analyzers.facts.pipelines` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "a value is sent once": (
        "INPUTS: r (where f = 'poll') as last_offset,\\n min(invoked) filter (where f = 'send') as f -> r "
        "(where f = 'poll') as last_offset,\\n max(invoked) filter (where f = 'send') as f",
    ),
    "all rows of a value have the key of its record, or none": (
        "INPUTS: l_or(committed), false) as isolated,\\n max(key) as key\\n from {{records}} left sem -> "
        "l_or(committed), false) as isolated,\\n min(key) as key\\n from {{records}} left sem",
    ),
    ("two inputs of a log lie at different offsets, so that none is at the offset of one that overtook it"): (
        "output_order: ced\\n )\\n select *, coalesce(overtaker > offset, false) as is_overtaken, {owner( "
        "-> ced\\n )\\n select *, coalesce(overtaker >= offset, false) as is_overtaken, {owner(",
    ),
    (
        "only of a record without an output it matters when the application went on, and that one adds "
        "nothing"
    ): (
        "inputs: \\n rows between unbounded preceding and 1 preceding\\n ) as next_written\\n from "
        "joined\\n ),  -> \\n rows between unbounded preceding and current row\\n ) as next_written\\n from "
        "joined\\n ), ",
    ),
}
