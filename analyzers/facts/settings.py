"""Changes of the settings of topics: by administrators and faults, and as samples of probes show them.

The harness records with which settings a topic was created, see `removals`. What is read here counts besides, of
every incarnation of a topic. A change of unknown outcome may have happened. One that was requested after the final
read of a log had no effect on what it found; a sample does not say when a change was made.
"""

from __future__ import annotations

from workloads.history.schema import NEMESIS

NAME = "substring_index(topic, '@', 1)"
"""Of a topic, without the number of its incarnation: probes report settings when they change, not when it is created
again."""

_ALTERED = "from_json(value, 'retention_ms string, config map<string, string>')"

_OF_FAULT = "from_json(value, 'options struct<settings: map<string, string>>').options.settings"

CHANGES = f"""
    changes as (
        select run, {NAME} as name, invoked as since, if(
            said.retention_ms is null or coalesce(map_contains_key(said.config, 'retention.ms'), false),
            said.config, map_concat(
                coalesce(said.config, cast(map() as map<string, string>)), map('retention.ms', said.retention_ms)
            )
        ) as config
        from (
            select run, topic, invoked, {_ALTERED} as said from {{operations}} where f = 'alter' and type <> 'fail'
        )
        union all
        select run, get_json_object(value, '$.evidence.topic'), invoked, {_OF_FAULT}
        from {{operations}} where process = {NEMESIS} and f like 'configure%'
        union all
        select run, {NAME}, null, from_json(value, 'map<string, string>')
        from {{observations}} where kind = 'settings'
    )
"""
"""A common table expression: name (of a topic, without the number of its incarnation; null for every topic of the
run), since (ns; null if unknown), config (by setting; a null is the brokers' default)."""


def policy(config: str) -> str:
    """SQL: the cleanup policy in it, of the topic or of the broker; null if it says none."""
    return f"coalesce({config}['cleanup.policy'], {config}['log.cleanup.policy'])"


def is_reset(config: str, *settings: str) -> str:
    """SQL: it has one of these settings, as the brokers' default, which is not known."""
    keys = ", ".join(f"'{setting}'" for setting in settings)
    return f"coalesce(exists(array({keys}), key -> map_contains_key({config}, key) and {config}[key] is null), false)"
