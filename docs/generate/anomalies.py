"""The tables and sections of docs/anomalies.md, from the declarations of the checks and of the causes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

import _causes
import _live
from _blocks import replaced, table

from analyzers.catalogue.anomaly import FAMILIES, LOG, Anomaly, Evidence
from analyzers.catalogue.registry import CATALOGUE
from analyzers.verdict.promises import EXERCISED_BY
from tests.support.sightings import PLANTED, SEEN

WIDTH = 118

EFFECTS = {"invalid": "invalid", "unknown": "unknown", "note": "a note"}


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "anomalies.md"
    text = page.read_text(encoding="utf-8")
    for name, body in (blocks() | _causes.blocks() | _live.blocks()).items():
        text = replaced(text, name, body)
    return {page: text}


def blocks() -> dict[str, str]:
    """Name of a generated block to its Markdown."""
    sections = {
        f"anomalies: {family}": "\n\n".join(section(each) for each in CATALOGUE if each.family == family)
        for family in FAMILIES
    }
    rows = [
        [f"[{each.name}](#{each.name.lower()})", EFFECTS[each.severity], each.means] for each in CATALOGUE
    ]
    names = [each.name for each in CATALOGUE]
    seen = [[f"`{name}`", f"`{SEEN[name]}`"] for name in names if name in SEEN]
    planted = [[f"`{name}`", PLANTED[name]] for name in names if name in PLANTED]
    return {
        "anomalies": table(["name", "verdict", "what was seen"], rows),
        "anomalies: seen": table(["name", "test"], seen),
        "anomalies: planted": table(["name", "why"], planted),
    } | sections


def section(anomaly: Anomaly) -> str:
    return "\n\n".join([f'<a id="{anomaly.name}"></a>\n### {anomaly.name}', *_paragraphs(anomaly)])


def _paragraphs(anomaly: Anomaly) -> Iterator[str]:
    for heading, text in (
        ("Means", anomaly.means),
        ("Reported", anomaly.definition),
        ("Promised", anomaly.promised),
        ("Causes", anomaly.causes),
        ("Look further", anomaly.look_further),
    ):
        yield _wrapped(f"**{heading}.** {text}")
    jepsen = f" Jepsen's name: {anomaly.jepsen}." if anomaly.jepsen else ""
    subject = "" if anomaly.subject is LOG else f" Its subject is a {anomaly.subject.name}."
    columns = dict(anomaly.evidence) if anomaly.subject is LOG else anomaly.columns
    items = "; ".join(_item(name, each) for name, each in columns.items())
    yield f"**Exercised.** By [`{EXERCISED_BY[anomaly.name]}`](#what-a-run-has-to-exercise)."
    yield _wrapped(f"**Evidence.** {items}.{subject}{jepsen}")


def _item(name: str, evidence: Evidence) -> str:
    unit = f" ({evidence.unit})" if evidence.unit else ""
    return f"`{name}`{unit}: {evidence.meaning}{', else null' if evidence.optional else ''}"


def _wrapped(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
