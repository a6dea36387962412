"""Mutants of `analyzers.facts.watermarks` that no history can tell from the original, by the reason for that."""

from __future__ import annotations

BY_REASON: dict[str, tuple[str, ...]] = {
    "the rows that come on top lack a column that every check compares, so that no check counts them": (
        "watermarks: moments.withColumn('before', F.max('answered').over(line)).where('sample is not "
        "null') -> moments.withColumn('before', F.max('answered').over(line))",
    ),
    "only samples of settings have this key": (
        'UNCLEAN: f"""\\n select distinct run, {NAME} as name, true as is_unclean from '
        "{{observations}}\\n where kind = 'settings' and get_json_object(value, "
        '"$[\'unclean.leader.election.enable\']") = \'true\'\\n""" -> f"""\\n select distinct run, {NAME} as '
        "name, true as is_unclean from {{observations}}\\n where get_json_object(value, "
        '"$[\'unclean.leader.election.enable\']") = \'true\' """',
    ),
}
