"""An audit as what a console prints."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from pytest_kafkacheck.audit.advice import advise
from pytest_kafkacheck.audit.configuration import setting_texts
from pytest_kafkacheck.audit.events import EVENTS
from pytest_kafkacheck.audit.report import Judged, Report, count_text
from pytest_kafkacheck.audit.rule import Effect, Outcome

STYLES: dict[Effect, str] = {
    "loses": "bold red",
    "unavailable": "yellow",
    "unknown": "magenta",
    "keeps": "green",
}


def parts(report: Report, *, verbose: bool) -> Iterator[object]:
    """What the console prints, in order. Text with `no_wrap` is one line, whatever its length.

    verbose: also what exactly happens, side effects, and the sources."""
    if report.remarks:
        yield from (Text(f"! {remark}", style="yellow", no_wrap=True) for remark in report.remarks)
        yield ""
    for judged in report.judged:
        yield from _subject(judged, verbose=verbose)
    if report.problems:
        yield Text("Not known", style="bold")
        yield from (Text(f"  {problem}") for problem in report.problems)
        yield ""
    advice = advise(report)
    if advice.changes:
        yield Text("What to change, and its cost", style="bold")
        yield from (Text(f"  {change}: {change.cost}") for change in advice.changes)
        yield ""
    yield Text(str(advice), style="bold", no_wrap=True)


def _subject(judged: Judged, *, verbose: bool) -> Iterator[object]:
    subject, configuration = judged.subject, judged.subject.configuration
    yield Text(subject.name, style="bold")
    texts = {
        field: text for field, text in setting_texts(configuration).items() if field not in subject.unknown
    }
    known = [text for field, text in texts.items() if field in subject.origins]
    assumed = [text for field, text in texts.items() if field not in subject.origins]
    if known:
        yield Text(f"  {', '.join(known)}")
    if assumed:
        yield Text(f"  assumed, by default: {', '.join(assumed)}", style="dim")
    yield from (Text(f"  {line}", style="yellow") for line in (*configuration.problems(), *subject.notes))
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    for heading in ("event", "scenario", "effect", "why", "what prevents it, and its cost"):
        grid.add_column(heading, overflow="fold")
    for outcome in judged.outcomes:
        grid.add_row(*_row(outcome, verbose=verbose))
    yield grid
    yield Text(f"  {count_text(judged.outcomes)}")
    yield ""


def _row(outcome: Outcome, *, verbose: bool) -> Iterator[Text]:
    event = EVENTS[outcome.event]
    yield Text(event.title + (f"\n{event.what}" if verbose else ""))
    yield Text(event.shown_by, style="dim")
    yield Text(outcome.effect, style=STYLES[outcome.effect])
    until = [f"until {outcome.until}"] if outcome.effect == "unavailable" and outcome.until else []
    also = [f"also: {reason}" for reason in outcome.also] if verbose or outcome.effect == "keeps" else []
    sources = [f"source: {source}" for source in outcome.sources] if verbose else []
    yield Text("\n".join([*outcome.why, *until, *also, *sources]))
    yield Text("\n".join(f"{mend.setting}; cost: {mend.cost}" for mend in outcome.mends))
