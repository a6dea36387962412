"""What the page of a run shows, as one value that templates draw."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from analyzers.catalogue.registry import ANOMALIES
from analyzers.causes.story import story
from analyzers.verdict.finding import Finding
from analyzers.verdict.summary import one_line
from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.report.axis import Axis, clock
from pytest_kafkacheck.report.cube import Cube, cube
from pytest_kafkacheck.report.embedded import embedded
from pytest_kafkacheck.report.lane import Group, Lane
from pytest_kafkacheck.report.lanes.clients import clients
from pytest_kafkacheck.report.lanes.controller import controller
from pytest_kafkacheck.report.lanes.faults import faults, phases, window
from pytest_kafkacheck.report.lanes.findings import findings
from pytest_kafkacheck.report.lanes.groups import groups
from pytest_kafkacheck.report.lanes.load import latencies, throughput
from pytest_kafkacheck.report.lanes.replicas import log_name, replicas
from pytest_kafkacheck.report.lanes.share_groups import share_groups
from pytest_kafkacheck.report.lanes.transactions import transactions
from pytest_kafkacheck.report.lives import Life, lives
from pytest_kafkacheck.report.run_data import RunData

SIGNS = {"valid": "✓", "invalid": "✗", "unknown": "?", "not judged": "–"}


@dataclass(frozen=True, kw_only=True)
class Page:
    name: str
    result: str
    title: str
    """What decided the result, as a sentence."""
    headline: str
    """The anomalies, or what the run showed, in one line."""
    also: tuple[str, ...]
    """The anomalies of an invalid run other than that of the title, each with its count."""
    card: str
    """The summary as Markdown, see `pytest_kafkacheck.report.markdown.card`."""
    story: tuple[StoryLine, ...]
    facts: tuple[tuple[str, str], ...]
    axis: Axis
    ticks: tuple[int, ...]
    """ms."""
    groups: tuple[Group, ...]
    bands: tuple[tuple[int, int], ...]
    """When a fault may have been at work."""
    lives: dict[str, tuple[Life, ...]]
    definitions: dict[str, str]
    """Of the anomalies found."""
    counts: dict[str, int]
    """Findings by anomaly."""
    verdict: Verdict | None
    settings: tuple[tuple[str, str], ...]
    logs: tuple[str, ...]
    processes: tuple[tuple[str, str], ...]
    """Number and name."""
    data: str

    @property
    def sign(self) -> str:
        return SIGNS[self.result]


def page(run: RunData) -> Page:
    """Everything that the report of a run shows."""
    counts, verdict = cube(run), run.verdict
    text = "" if verdict is None else story(verdict)
    deciding = None if verdict is None else verdict.deciding
    found = lives(run)
    if deciding is not None and deciding.anomaly in found:  # the others are folded below it
        found = {deciding.anomaly: found[deciding.anomaly], **found}
    return Page(
        name=run.name,
        result=verdict.result if verdict is not None else "not judged",
        title=title(verdict),
        headline=headline(verdict),
        also=also(verdict),
        card=card(run),
        story=story_lines(text),
        facts=tuple(_facts(run)),
        axis=run.axis,
        ticks=ticks(run.axis.span),
        groups=tuple(each for each in _groups(run, counts) if each.lanes),
        bands=tuple(each for event in run.faults if (each := window(event, run.axis)) is not None),
        lives=found,
        definitions={name: ANOMALIES[name].definition for name in found},
        counts={each.anomaly: each.count for each in verdict.findings} if verdict is not None else {},
        verdict=verdict,
        settings=tuple(sorted(verdict.settings.items())) if verdict is not None else (),
        logs=tuple(map(log_name, run.logs)),
        processes=tuple((str(number), name) for number, name in sorted(run.clients.items())),
        data=embedded(run, counts),
    )


def title(verdict: Verdict | None) -> str:
    """What decided the result, as a sentence."""
    if verdict is None:
        return "The run is not judged"
    deciding = verdict.deciding
    if deciding is None:
        return "No promise was found broken" if verdict.result == "valid" else headline(verdict)
    why = next(
        (cause.why for cause in verdict.causes if cause.why and deciding.anomaly in cause.findings), ""
    )
    return f"{deciding.count:,} {deciding.summary}{f': {why}' if why else ''}"


def also(verdict: Verdict | None) -> tuple[str, ...]:
    """The findings that the title does not name, where it names one; each with its count."""
    deciding = None if verdict is None else verdict.deciding
    if verdict is None or deciding is None:
        return ()
    others = (each for each in verdict.findings if each is not deciding)
    return tuple(f"{each.anomaly} ×{each.count:,}{_note(each)}" for each in others)


def card(run: RunData) -> str:
    """The verdict, what was broken and what to set, as a few lines of Markdown for a colleague."""
    verdict = run.verdict
    result = verdict.result if verdict is not None else "not judged"
    lines = [f"### {SIGNS[result]} {result}: {escaped(title(verdict))}", ""]
    if verdict is not None:
        settings = ", ".join(f"{name}={value}" for name, value in _key_settings(verdict))
        changes = dict.fromkeys(cause.change for cause in verdict.causes if cause.change)
        rows = {
            "run": run.name,
            "found": headline(verdict),
            "faults": ", ".join(f"{each.fault} {each.target}" for each in verdict.exercised.faults) or "none",
            "with": settings,
            "set": "; ".join(changes),
            "unknown": "; ".join(verdict.unknowns[:2]) if result != "unknown" else "",
        }
        lines += [f"- {name}: {escaped(text)}" for name, text in rows.items() if text]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Names are shown as they are, whatever Markdown or HTML would make of them."""
    return re.sub(r"([\\`*_{}\[\]<>|#&])", r"\\\1", text.replace("\n", " "))


def _key_settings(verdict: Verdict) -> Iterator[tuple[str, str]]:
    for key in ("acks", "enable.idempotence", "min.insync.replicas", "unclean.leader.election.enable"):
        if key in verdict.settings:
            yield key, verdict.settings[key]


def headline(verdict: Verdict | None) -> str:
    """What decided the result, in one line."""
    if verdict is None:
        return "The run has no verdict that this version can read. Judge it with kafkacheck analyze."
    found = [f"{each.anomaly} ×{each.count:,}{_note(each)}" for each in verdict.findings]
    if verdict.result == "valid":
        return ", ".join([*one_line(verdict).split("  ")[1:], *found])
    if found:
        return ", ".join(found)
    if verdict.unknowns:
        return verdict.unknowns[0]
    return ""


def _note(finding: Finding) -> str:
    """Why it does not decide the result; empty where it does."""
    if finding.allowed:
        return " (allowed)"
    return "" if finding.severity == "invalid" else f" ({finding.severity})"


def _groups(run: RunData, counts: Cube) -> Iterator[Group]:
    yield Group(title="What happened", lanes=(*phases(run), *faults(run), *findings(run)))
    yield Group(title="Load", lanes=(*throughput(run, counts), *latencies(run)))
    yield Group(title="Cluster", lanes=(*replicas(run), *controller(run)))
    yield Group(title="Groups and transactions", lanes=(*groups(run), *share_groups(run), *transactions(run)))
    lanes: tuple[Lane, ...] = clients(run, counts)
    yield Group(title="Clients", lanes=lanes)


def _facts(run: RunData) -> Iterator[tuple[str, str]]:
    experiment: dict[str, Any] = run.experiment
    if run.verdict is not None:
        yield "run", run.verdict.run
    if (clock_ := run.environment.get("clock")) and "unix_ns" in clock_:
        yield "begun", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(clock_["unix_ns"] / 1e9))
    cluster, workload = experiment.get("cluster", {}), experiment.get("workload", {})
    if cluster:
        yield "cluster", f"Kafka {cluster.get('version')}, {cluster.get('brokers')} brokers"
    if workload:
        yield "workload", str(workload.get("type", "")).rpartition(":")[2]
    if run.verdict is not None:
        if known := [f"{name}={value}" for name, value in _key_settings(run.verdict)]:
            yield "settings", ", ".join(known)
        exercised = run.verdict.exercised
        yield "sends", ", ".join(f"{count:,} {kind}" for kind, count in exercised.sends.items()) or "none"
        yield "polled", f"{exercised.polls:,} records"
        waits = [log for log in run.verdict.availability.logs if log.longest_wait]
        if waits:
            worst = max(waits, key=lambda log: log.longest_wait)
            yield "longest wait", f"{worst.longest_wait:.1f} s, {worst.topic}-{worst.partition}"
        if (still := run.verdict.availability.standstill) is not None:
            yield "application stood still", f"{still.lasted:.1f} s, {still.topic}-{still.partition}"
        spread = run.verdict.propagation
        if spread is not None and spread.longest is not None:
            log = f"{spread.topic}-{spread.partition}"
            yield "new leader known to all", f"after {spread.longest:.1f} s at most, {log}"
    yield "duration", clock(run.axis.span)
    versions = run.environment.get("kafkacheck")
    if versions:
        yield "kafkacheck", str(versions)


def ticks(span: int) -> tuple[int, ...]:
    """About ten round times."""
    steps = (step * 10**power for power in range(8) for step in (1, 2, 5))
    step = next(step for step in steps if span / step <= 12)
    return tuple(range(0, span + 1, step))


LINE = re.compile(r"\s*(?P<time>[\d,]+\.\d) s\s\s+(?:(?P<since>fault|\+[\d,]+\.\d s)\s\s)?\s*(?P<text>.+)")
LABEL = re.compile(r"   (?P<label>with|why|try|seen|but|unknown)(?:\s+(?P<text>.*))?$")


@dataclass(frozen=True, kw_only=True)
class StoryLine:
    text: str
    time: str = ""
    """As the story writes it, such as ``10.4``."""
    since: str = ""
    """``fault``, or the time since the fault above."""
    label: str = ""
    """What the line is about, such as ``why``; empty for a step and for what follows from it."""

    @property
    def ms(self) -> int:
        return round(float(self.time.replace(",", "")) * 1000)

    @property
    def is_fault(self) -> bool:
        return self.since == "fault"


def story_lines(story: str) -> tuple[StoryLine, ...]:
    """Of the text of `analyzers.causes.story.story`, without its headline.

    Reasons why something is unknown are on lines of their own below the label; each gets it.
    """
    lines: list[StoryLine] = []
    label = ""
    for line in (_line(text) for text in story.splitlines()[1:] if text.strip()):
        if line.label and not line.text:
            label = line.label
        else:
            lines.append(replace(line, label=line.label or label))
    return tuple(lines)


def _line(text: str) -> StoryLine:
    if match := LINE.fullmatch(text):
        return StoryLine(text=match["text"], time=match["time"], since=match["since"] or "")
    if match := LABEL.fullmatch(text):
        return StoryLine(text=match["text"] or "", label=match["label"])
    return StoryLine(text=text.strip())
