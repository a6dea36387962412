"""report.md: the verdict and its story for a pull request, in few enough lines for a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.causes.story import story
from analyzers.verdict.exercised import FaultExercised
from pytest_kafkacheck.report.page import card, escaped
from pytest_kafkacheck.report.run_data import RunData

MOST_FAULTS = 30


def markdown(run: RunData) -> str:
    return "\n".join([*_lines(run), ""])


def _lines(run: RunData) -> Iterator[str]:
    verdict = run.verdict
    yield card(run)
    if verdict is None:
        return
    text = story(verdict).partition("\n")[2]
    if text:
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
        yield from ("", f"{fence}text", text, fence)
    if verdict.exercised.faults:
        yield from ("", "| fault | target | begun | healed | proved | acknowledged before, during, after |")
        yield "|---|---|---|---|---|---|"
        yield from map(_fault, verdict.exercised.faults[:MOST_FAULTS])
    if (still := verdict.availability.standstill) is not None:
        began = "" if still.began is None else f", from {still.began:.1f} s on"
        yield from (
            "",
            f"The application wrote no output for {still.lasted:.1f} s while inputs waited in "
            f"{escaped(still.topic)}-{still.partition}{began}.",
        )
    if waits := [log for log in verdict.availability.logs if log.longest_wait]:
        yield from (
            "",
            "| partition | longest wait | first acknowledgement after the last heal |",
            "|---|---|---|",
        )
        for log in waits:
            recovery = "–" if log.recovery is None else f"after {log.recovery:.1f} s"
            yield f"| {escaped(log.topic)}-{log.partition} | {log.longest_wait:.1f} s | {recovery} |"


def _fault(each: FaultExercised) -> str:
    times = ["–" if time is None else f"{time:.1f} s" for time in (each.began, each.ended)]
    proved = "yes" if each.effective and each.healed else "no"
    if not each.met_work:
        proved += "; met no work"
    acks = f"{each.acks_before:,}, {each.acks_during:,}, {each.acks_after:,}"
    return f"| {escaped(each.event)} | {escaped(each.target)} | {times[0]} | {times[1]} | {proved} | {acks} |"
