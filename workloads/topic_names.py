"""Short names of a workload's topics, to which schedules refer: each is the topic's name without the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workloads.workload import Workload

PLACEHOLDER = "0run0"
"""A run to look at topics before there is one. No other part of a topic's name looks like it."""

SEPARATORS = "-._"


def short_topics(workload: Workload, run: str) -> Mapping[str, str]:
    """The names of the topics of a run by their short names, the main topic first: "orders-7b29cd07" by "orders".

    Raises ValueError for two topics with the same short name.
    """
    main = workload.main_topic(run)
    templates = [topic.name for topic in workload.topics(PLACEHOLDER)]
    names = [topic.name for topic in workload.topics(run)]
    pairs = [(_without_run(template), name) for template, name in zip(templates, names, strict=True)]
    shorts = dict(sorted(pairs, key=lambda pair: pair[1] != main))
    if len(shorts) < len(names):
        raise ValueError(
            f"{type(workload).__name__}.topics gave {', '.join(names)}: expected names that differ without the run, "
            f"because schedules name topics without it"
        )
    return shorts


def _without_run(name: str) -> str:
    """And without one of the separators beside it; "topic" where nothing is left."""
    before, _, after = name.partition(PLACEHOLDER)
    if before:
        return (before[:-1] if before[-1] in SEPARATORS else before) + after
    return after.lstrip(SEPARATORS) or "topic"
