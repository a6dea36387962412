"""Tables of docs/anomalies.md: the kinds of causes, and the anomalies without one, from the explainers."""

from __future__ import annotations

from _blocks import table

from analyzers.causes.registry import KINDS, WITHOUT

CHANGES = {
    "setting": "a setting",
    "application": "the application",
    "nothing": "nothing: Kafka does not promise otherwise",
    "unknown": "not determined",
}


def blocks() -> dict[str, str]:
    """Name of a generated block to its Markdown."""
    return {"causes": kinds(), "causes: none": without()}


def kinds() -> str:
    """What several kinds explain is listed for the first of them: nine kinds explain the same eighteen anomalies."""
    first: dict[frozenset[str], str] = {}
    rows = [
        [
            kind.name,
            CHANGES[kind.changes],
            ", ".join(map(_link, sorted(kind.explains)))
            if (same := first.setdefault(frozenset(kind.explains), kind.name)) == kind.name
            else f"the same as *{same}*",
            kind.established,
            kind.why,
            kind.change or "–",
            kind.source,
        ]
        for kind in KINDS.values()
    ]
    header = ["cause", "what has to be changed", "may explain", "established by", "why", "try", "source"]
    return table(header, rows)


def without() -> str:
    names: dict[str, list[str]] = {}
    for name, reason in WITHOUT.items():
        names.setdefault(reason, []).append(_link(name))
    return table(["anomaly", "why"], [[", ".join(of), reason] for reason, of in names.items()])


def _link(anomaly: str) -> str:
    return f"[{anomaly}](#{anomaly.lower()})"
