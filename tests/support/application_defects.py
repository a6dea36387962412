"""Applications with one real defect each, and their mended twins: what a run of each has to show.

  python -m tests.support.application_defects [--runs N] [--only WORD] [--folder FOLDER]

runs each so often with the schedule of docs/pipeline.md, and prints how many runs had the right result, named the
cause, and named the remedy. The stories of the runs are in the folder.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzers.causes.explainer import CauseKind
from analyzers.causes.explainers.application_outputs import OUTSIDE, REVOKED
from analyzers.causes.explainers.lost_outputs import BEFORE_WORK, IGNORED, TIMER, UNFLUSHED
from analyzers.causes.explainers.repeated_outputs import AFTER_OUTPUT, OVERLAP
from analyzers.verdict.finding import NOT_DETERMINED
from nemesis.event import Event
from pytest_kafkacheck import cut_clients, kill, pause
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.run import Run
from workloads.pipeline import Guarantee, Pipeline

APPLICATIONS = Path(__file__).parents[2] / "examples" / "applications"

MENDED = "mended"


@dataclass(frozen=True, kw_only=True)
class Defect:
    """application, twin: file and arguments. cause: the only one that a run may name; the story says its remedy.
    step: what the story says of this run, as a regular expression."""

    name: str
    application: tuple[str, ...]
    twin: tuple[str, ...]
    guarantee: Guarantee = "at-least-once"
    finds: frozenset[str] = frozenset({"missing-output"})
    cause: CauseKind
    step: str


def _with_flag(file: str) -> dict[str, tuple[str, ...]]:
    return {"application": (file,), "twin": (file, MENDED)}


POSITION = r"position [\d,]+ of orders\S* was committed"

DEFECTS: tuple[Defect, ...] = (
    Defect(
        name="commits without flush",
        **_with_flag("unflushed.py"),
        cause=UNFLUSHED,
        step=rf"{POSITION} before its outputs were acknowledged: the inputs? at",
    ),
    Defect(
        name="commits before the work",
        application=("hasty.py", "0.3"),
        twin=("copier.py", "0.3"),
        cause=BEFORE_WORK,
        step=rf"{POSITION} before its outputs were sent, usually [\d.]+ m?s later",
    ),
    Defect(
        name="timer commits, thread works",
        **_with_flag("background.py"),
        cause=TIMER,
        step=rf"{POSITION} by timer, every [\d.]+ s, before its outputs were acknowledged",
    ),
    Defect(
        name="commits after the output",
        application=("copier_confluent.py", "0.3"),
        twin=("exactly_once.py", "0.3"),
        guarantee="exactly-once",
        finds=frozenset({"duplicate-output"}),
        cause=AFTER_OUTPUT,
        step=r"were written, before the commit: .* committed when app:\d (was (killed|frozen)|ended)",
    ),
    Defect(
        name="ignores delivery errors",
        **_with_flag("careless.py"),
        cause=IGNORED,
        step=rf"{POSITION} all the same: the sends of [\d,]+ inputs? failed, as app:\d printed",
    ),
    Defect(
        name="positions outside of the transaction",
        application=("half_transactional.py",),
        twin=("exactly_once.py",),
        guarantee="exactly-once",
        finds=frozenset({"duplicate-output", "missing-output"}),
        cause=OUTSIDE,
        step=r"in a transaction that ended, and their positions are not part of it|in one that never took effect",
    ),
    Defect(
        name="several threads write",
        **_with_flag("pooled.py"),
        guarantee="order-per-key",
        finds=frozenset({"reordered-output"}),
        cause=OVERLAP,
        step=r"two sends of key-\d+ overlapped",
    ),
    Defect(
        name="no rebalance listener",
        **_with_flag("unaware.py"),
        guarantee="exactly-once",
        finds=frozenset({"duplicate-output"}),
        cause=REVOKED,
        step=r"the old owner, app:\d, ((wrote|committed a transaction with) [\d,]+ outputs? of it after that|"
        r"set the position back to [\d,]+)",
    ),
)

FAULTS: tuple[Event, ...] = (
    kill("app:0", after="committed-ahead:app:0 or after 8", lasting=2),
    kill("app:0", after="uncommitted-output:app:0 from 18 or after 8", lasting=8),
    cut_clients("leader:invoices-0", at=34, lasting=12),
    cut_clients("leader:invoices-1", at=50, lasting=12),
    kill("app:1", after="committed-ahead:app:1 from 51 or after 2", lasting=2),
    pause("app:1", after="in-flight:app:1 from 66", lasting=10),
)
"""As in docs/pipeline.md."""


def pipeline(command: Sequence[str], guarantee: Guarantee) -> Pipeline:
    file, *arguments = command
    return Pipeline(
        source="orders",
        sink="invoices",
        command=[
            sys.executable, str(APPLICATIONS / file), "{bootstrap}", "{source}", "{sink}", "{group}", "{client}",
            *arguments,
        ],
        group="invoicing",
        guarantee=guarantee,
        instances=2,
        restarts=20,
        settle=180,  # on a busy machine, what waited during the faults takes its time
        topic_config={"min.insync.replicas": 2},
    )  # fmt: skip


def experiment(defect: Defect, *, mended: bool, number: int = 0) -> Experiment:
    workload = pipeline(defect.twin if mended else defect.application, defect.guarantee)
    name = f"{defect.name}{', mended' if mended else ''} {number}"
    return Experiment(name=name, workload=workload, faults=FAULTS, cooldown=8)


def shown(run: Run, defect: Defect, *, mended: bool) -> tuple[bool, bool, bool]:
    """Whether the result is right, the cause is named, and the remedy is."""
    if mended:
        return run.result == "valid", True, True
    found = {each.anomaly for each in run.verdict.findings if each.severity == "invalid"}
    story = " ".join(run.text().split())
    is_found = run.result == "invalid" and bool(found & defect.finds) and found <= defect.finds
    # That a part is not determined may stand beside the cause; another cause may not.
    is_only = {each.name for each in run.verdict.causes if each.kind != NOT_DETERMINED} == {defect.cause.name}
    return is_found, is_only and bool(re.search(defect.step, story)), f"try {defect.cause.change}" in story


def measured(harness: Harness, runs: int, folder: Path, only: str) -> Iterator[str]:
    """Those of one number are judged together: a verdict costs as much processor time as a run."""
    for number in range(runs):
        planned = [
            (defect, mended, one)
            for defect in DEFECTS
            for mended in (False, True)
            if re.search(only, (one := experiment(defect, mended=mended, number=number)).name)
        ]
        homes = [harness.record(one) for _, _, one in planned]
        for (defect, mended, one), run in zip(planned, harness.judge_runs(homes), strict=True):
            right, cause, remedy = shown(run, defect, mended=mended)
            (folder / f"{one.name}.txt").write_text(f"{run.text()}\n{run.path}\n")
            yield f"{one.name}: {run.result}; right {right}, cause {cause}, remedy {remedy}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "application_defects")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with Harness(arguments.folder / "runs", say=lambda _: None) as harness:
        for line in measured(harness, arguments.runs, arguments.folder, arguments.only):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
