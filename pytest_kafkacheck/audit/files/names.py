"""Settings that Kafka does not know: misspelt ones, and those of other releases."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from pytest_kafkacheck.audit.files.declared import Value
from pytest_kafkacheck.cluster.spec.release import facts, lines_of
from pytest_kafkacheck.cluster.spec.settings import DYNAMIC

OF_PLUGINS = (
    "listener.name.", "confluent.", "metrics.", "rsm.config.", "rlmm.config.", "strimzi.", "authorizer.",
    "super.users",
    "allow.everyone.if.no.acl.found", "cruise.control.", "config.providers.", "opentelemetry.",
)  # fmt: skip
"""Beginnings of names that listeners, plugins and libraries read; Kafka hands on all that it does not know."""

CUTOFF = 0.8
"""Of difflib: how alike a name and a misspelt one are at least."""


def name_remarks(settings: Mapping[str, Value], *, kind: str, release: str | None) -> list[str]:
    """A sentence for each setting that this release does not know. release: None where any line may be meant."""
    known = facts()[kind]
    line = ".".join(release.split(".")[:2]) if release else None
    lines = list(facts()["lines"])
    found = []
    for name, value in settings.items():
        if name in known:
            spans = known[name][1]
            if line in lines and not lines_of(spans, [line or ""]):
                there = spans.replace("-", " to ").replace("to  ", "to ").strip()
                since = f"from {there.removesuffix(' to')} on" if there.endswith("to") else f"in {there}"
                found.append(
                    f"{value.place}: {name} is no setting of Kafka {line}: Kafka has it {since}; it has no effect"
                )
            continue
        if name in DYNAMIC or name.startswith(OF_PLUGINS):
            continue
        if near := get_close_matches(name, known, n=1, cutoff=CUTOFF):
            since = known[near[0]][1].partition("-")[0]
            age = "" if since == lines[0] else f", since Kafka {since}"
            found.append(
                f"{value.place}: {name} is no setting of Kafka ({near[0]}?{age}); it has no effect, and the "
                "default counts"
            )
        elif kind == "broker":
            found.append(f"{value.place}: {name} is no setting of Kafka; a plugin may read it")
    return found
