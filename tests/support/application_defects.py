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
    """application, twin: file and arguments. cause, remedy: what the story of a run says, as regular expressions."""

    name: str
    application: tuple[str, ...]
    twin: tuple[str, ...]
    guarantee: Guarantee = "at-least-once"
    finds: frozenset[str] = frozenset({"missing-output"})
    cause: str
    remedy: str


def _with_flag(file: str) -> dict[str, tuple[str, ...]]:
    return {"application": (file,), "twin": (file, MENDED)}


DEFECTS: tuple[Defect, ...] = (
    Defect(
        name="commits without flush",
        **_with_flag("unflushed.py"),
        cause=r"position [\d,]+ of \S+ was committed .*before .*acknowledged",
        remedy=r"flush.*before the commit",
    ),
    Defect(
        name="commits before the work",
        application=("hasty.py", "0.3"),
        twin=("copier.py", "0.3"),
        cause=r"position [\d,]+ of \S+ was committed .*before .*(written|acknowledged)",
        remedy=r"(flush|deliver).*before the commit",
    ),
    Defect(
        name="timer commits, thread works",
        **_with_flag("background.py"),
        cause=r"committed by (a )?timer",
        remedy=r"enable\.auto\.commit",
    ),
    Defect(
        name="commits after the output",
        application=("copier_confluent.py", "0.3"),
        twin=("exactly_once.py", "0.3"),
        guarantee="exactly-once",
        finds=frozenset({"duplicate-output"}),
        cause=r"before .*commit",
        remedy=r"transaction",
    ),
    Defect(
        name="ignores delivery errors",
        **_with_flag("careless.py"),
        cause=r"(send|sends) .*fail|never appeared",
        remedy=r"error",
    ),
    Defect(
        name="positions outside of the transaction",
        application=("half_transactional.py",),
        twin=("exactly_once.py",),
        guarantee="exactly-once",
        finds=frozenset({"duplicate-output", "missing-output"}),
        cause=r"positions? .*not part of the transaction",
        remedy=r"send_offsets_to_transaction|sendOffsetsToTransaction",
    ),
    Defect(
        name="several threads write",
        **_with_flag("pooled.py"),
        guarantee="order-per-key",
        finds=frozenset({"reordered-output"}),
        cause=r"overlap",
        remedy=r"key",
    ),
    Defect(
        name="no rebalance listener",
        **_with_flag("unaware.py"),
        guarantee="exactly-once",
        finds=frozenset({"duplicate-output"}),
        cause=r"after",
        remedy=r"revoke",
    ),
)

FAULTS: tuple[Event, ...] = (
    kill("app:0", after="committed-ahead:app:0 or after 8", lasting=2),
    kill("app:0", after="uncommitted-output:app:0 from 18 or after 8", lasting=8),
    cut_clients("leader:invoices-0", at=34, lasting=10),
    pause("app:1", after="in-flight:app:1 from 46", lasting=10),
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
    return is_found, bool(re.search(defect.cause, story)), bool(re.search(f"try .*({defect.remedy})", story))


def measured(harness: Harness, runs: int, folder: Path, only: str) -> Iterator[str]:
    for number in range(runs):
        for defect in DEFECTS:
            for mended in (False, True):
                planned = experiment(defect, mended=mended, number=number)
                if only and not re.search(only, planned.name):
                    continue
                run = harness.run(planned)
                right, cause, remedy = shown(run, defect, mended=mended)
                (folder / f"{planned.name}.txt").write_text(f"{run.text()}\n{run.path}\n")
                yield f"{planned.name}: {run.result}; right {right}, cause {cause}, remedy {remedy}"


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
