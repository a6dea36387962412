"""Which clients fall into known traps: they stall, write twice or out of order, wedge, or go on at a wrong position.

  .venv/bin/python benchmarks/client_traps.py [--client NAME]... [--trap NAME]... [--kafka 4.1.1] [--tries 1]
                                              [--runs DIR] [--json FILE]

The traps are declared in benchmarks/traps.py, and docs/clients.md explains each of them.

Each cell says in how many tries the client fell into the trap, and what showed it. A run whose verdict is unknown is
no try, unless it has a finding that the trap is about: a trap without effect says nothing. The cell of a client that
cannot run the workload has the reason. Tries are added to those that FILE has already, after each one, so that a rate
can be measured in several calls; remove its cells from FILE when a trap has changed.

It needs the images of `kafkacheck setup`, Java, and the releases of Java clients that it names. With --runs, the runs
are kept there, for `kafkacheck explain`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from analyzers.catalogue.registry import ANOMALIES
from analyzers.verdict.verdict import Verdict
from benchmarks.prerequisites import require_images, require_java
from benchmarks.traps import INVALID, SESSIONS, TRAPS, Trap, signs
from pytest_kafkacheck.cluster.spec.spec import DEFAULT_VERSION, ClusterSpec
from pytest_kafkacheck.errors import KafkacheckError, UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness, check_client_commands
from pytest_kafkacheck.experiment.validation import DURATION
from workloads.append_log import AppendLog

CLIENTS = ("kafka-python", "confluent-kafka", "java")


@dataclass
class Cell:
    """What the tries of a client with a trap gave.

    kafka    release of the brokers.
    refused  why the client cannot run the workload; empty if it can.
    """

    client: str
    trap: str
    kafka: str = DEFAULT_VERSION
    tries: int = 0
    fell: int = 0
    shown: list[str] = field(default_factory=list)
    unknown: int = 0
    refused: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [name for trap in TRAPS for name in trap.shown]
    parser.add_argument("--client", action="append", help=f"default: {', '.join(CLIENTS)}")
    parser.add_argument("--trap", action="append", choices=names, help="default: all")
    parser.add_argument("--kafka", default=DEFAULT_VERSION, help="release of the brokers")
    parser.add_argument("--tries", type=int, default=1)
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    require_java()
    require_images([options.kafka])
    clients, wanted = options.client or CLIENTS, set(options.trap or names)
    for client in clients:
        # Later refusals are those of a trap's workload.
        check_client_commands(AppendLog(library=client))
    stored = options.json is not None and options.json.exists()
    cells = [Cell(**each) for each in json.loads(options.json.read_text())] if stored else []
    with ExitStack() as stack:
        folder = options.runs or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        harness = stack.enter_context(Harness(folder, say=print))
        judging = stack.enter_context(ThreadPoolExecutor(1))
        # One run is judged while the next one is under load, as in a soak.
        before: Future[None] | None = None
        for _ in range(options.tries):
            for trap in [each for each in TRAPS if wanted & each.shown.keys()]:
                for client in clients:
                    judged = record(harness, cells, trap, client, options.kafka)
                    if before is not None:
                        before.result()
                    before = judging.submit(finish, judged, cells, options.json)
        if before is not None:
            before.result()
    _print([vars(each) for each in cells])
    return 0


def finish(judge: Callable[[], None], cells: list[Cell], file: Path | None) -> None:
    """Judge a run, and save the cells."""
    judge()
    if file is not None:
        file.write_text(f"{json.dumps([vars(each) for each in cells], indent=2)}\n")


def record(harness: Harness, cells: list[Cell], trap: Trap, client: str, kafka: str) -> Callable[[], None]:
    """Set a trap. Returns what adds to the cells of this client what came of it."""
    try:
        experiment = Experiment(
            workload=trap.workload(client),
            faults=trap.events,
            cluster=ClusterSpec(version=kafka, config=SESSIONS),
            bounds=trap.bounds,
            requires=trap.requires,
            duration=trap.duration or DURATION,
            cooldown=trap.cooldown,
        )
        harness.check(experiment)
    except (ValueError, UsageError) as error:
        return partial(refuse, cells, trap, client, kafka, str(error))
    load = f"load {os.getloadavg()[0]:.0f}"
    try:
        home = harness.record(experiment)
    except KafkacheckError as error:
        return partial(note, cells, trap, client, kafka, f"error: {error}", frozenset(), load)
    return partial(judge, harness, cells, trap, client, kafka, home, load)


def judge(
    harness: Harness, cells: list[Cell], trap: Trap, client: str, kafka: str, home: Path, load: str
) -> None:
    found: frozenset[str] = frozenset()
    try:
        verdict = harness.judge(home).verdict
    except KafkacheckError as error:
        result = f"error: {error}"
    else:
        found = shown_by(verdict, trap) | {*signs(home)}
        result = "; ".join([verdict.result, *verdict.unknowns])
    note(cells, trap, client, kafka, result, found, f"{home.name}, {load}")


def refuse(cells: list[Cell], trap: Trap, client: str, kafka: str, reason: str) -> None:
    print("REFUSED", client, "/".join(trap.shown), reason, flush=True)
    for name in trap.shown:
        cell_of(cells, client, name, kafka).refused = reason


def note(
    cells: list[Cell], trap: Trap, client: str, kafka: str, result: str, found: frozenset[str], of: str
) -> None:
    print("TRY", client, "/".join(trap.shown), result, sorted(found), of, flush=True)
    for name, shown in trap.shown.items():
        names = (found & shown) | {each for each in found if INVALID in shown and each in ANOMALIES}
        is_known = result.startswith(("valid", "invalid")) and trap.needs.get(name, "") in {"", *found}
        added(cell_of(cells, client, name, kafka), names, is_known=is_known)


def shown_by(verdict: Verdict, trap: Trap) -> frozenset[str]:
    """The findings of which the trap is about, also those that are allowed."""
    named = frozenset[str]().union(*trap.shown.values())
    return frozenset(
        each.anomaly
        for each in verdict.findings
        if each.anomaly in named or (INVALID in named and each.severity == "invalid" and not each.allowed)
    )


def cell_of(cells: list[Cell], client: str, trap: str, kafka: str = DEFAULT_VERSION) -> Cell:
    """A new one where there is none."""
    for each in cells:
        if (each.client, each.trap, each.kafka) == (client, trap, kafka):
            return each
    cells.append(cell := Cell(client, trap, kafka))
    return cell


def added(cell: Cell, shown: frozenset[str], *, is_known: bool) -> None:
    """Add a try to its cell. Of a run that is unknown only findings count: kafkacheck may have ended its clients."""
    if not is_known and not shown & ANOMALIES.keys():
        cell.unknown += 1
        return
    cell.tries += 1
    cell.fell += bool(shown)
    cell.shown = sorted({*cell.shown, *shown})


def _print(cells: list[dict[str, Any]]) -> None:
    traps = list(dict.fromkeys(each["trap"] for each in cells))
    table = Table("client", *traps, box=None)
    for client, kafka in dict.fromkeys((each["client"], each["kafka"]) for each in cells):
        row = {each["trap"]: each for each in cells if (each["client"], each["kafka"]) == (client, kafka)}
        table.add_row(
            f"{client}, Kafka {kafka}", *(_text(row[name]) if name in row else "" for name in traps)
        )
    Console(width=160).print(table)


def _text(cell: Mapping[str, Any]) -> str:
    if cell["refused"]:
        return "n/a"
    shown = f" ({', '.join(cell['shown'])})" if cell["shown"] else ""
    return f"{cell['fell']} of {cell['tries']}{shown}"


if __name__ == "__main__":
    raise SystemExit(main())
