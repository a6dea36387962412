"""Which clients fall into known traps: they stall, write twice or out of order, wedge, or go on at a wrong position.

  .venv/bin/python benchmarks/client_traps.py [--client NAME]... [--tries 1] [--control] [--json FILE]

Every client library runs the append log with acks=all and idempotence while a trap is set:

stall           brokers restart one after another; the client has fallen into it if a reader stands still, or a
                partition is not written to again within 15 s
duplicate       for 4 s the answers of the leader are lost, and requests are repeated: a record is there twice
reorder         the same run: a producer's records are not in the order in which it sent them
wedge           the leader stands still for longer than the producer's delivery timeout of 4 s: the producer completes
                nothing any more, or has lost its producer id, and kafkacheck has to replace it
wrong position  the leader is cut off from the other brokers for 20 s, and knows later than they who leads: a reader
                skips records or gets some again

Each cell says in how many tries the client fell into the trap, and what showed it. An unknown verdict does not count
as a try: a trap without effect says nothing. Tries are added to those that FILE has already, after each one, so that
a rate can be measured in several calls; remove FILE when a trap has changed.

--control runs duplicate and reorder only, without idempotence: a client has to fall into them then, or the traps do
not work. It needs the images of `kafkacheck setup`, and Java.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from analyzers.catalogue.bounds import Bounds
from benchmarks.prerequisites import require_images, require_java
from nemesis.event import Event
from nemesis.faults.cut_clients import cut_clients
from nemesis.faults.isolate import isolate
from nemesis.faults.pause import pause
from nemesis.faults.rolling_restart import rolling_restart
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import KafkacheckError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.append_log import AppendLog
from workloads.roles.context import WorkerContext
from workloads.roles.producer import produce
from workloads.workload import WorkerSpec

CLIENTS = ("kafka-python", "confluent-kafka", "java")

WEDGED = "producer replaced"
"""Not an anomaly of a verdict: kafkacheck replaces a producer that has a problem, so that the run goes on."""

DELIVERY = 4000
"""ms. The Java client asks for at least its request timeout, which is 3 s here."""


@dataclass(frozen=True)
class Set:
    """A schedule that sets traps. shown: by trap, what shows that the client fell into it."""

    event: Event
    shown: Mapping[str, frozenset[str]]
    expires: bool = False
    """Whether batches expire after `DELIVERY`."""


TRAPS = (
    Set(rolling_restart(at=3), {"stall": frozenset({"stalled-reader", "slow-recovery"})}),
    Set(
        cut_clients("leader", one_way="out", at=3, lasting=4),
        {
            "duplicate": frozenset({"duplicate"}),
            "reorder": frozenset({"nonmonotonic-send", "int-nonmonotonic-send"}),
        },
    ),
    Set(pause("leader", at=3, lasting=10), {"wedge": frozenset({WEDGED, "slow-recovery"})}, expires=True),
    Set(
        isolate("leader", at=3, lasting=20),
        {
            "wrong position": frozenset(
                {"poll-skip", "nonmonotonic-poll", "int-poll-skip", "int-nonmonotonic-poll"}
            )
        },
    ),
)


def produce_counted(context: WorkerContext) -> None:
    """As a producer, and write down how many clients had to be replaced."""
    try:
        produce(context)
    finally:
        with dropped_file(context.home).open("a") as file:
            file.write(f"{context.counts['producers dropped']}\n")


def dropped_file(home: Path) -> Path:
    return home / "producers_dropped.txt"


@dataclass(frozen=True, kw_only=True)
class Counted(AppendLog):
    rate: Any = 200

    def workers(self) -> tuple[WorkerSpec, ...]:
        return tuple(
            replace(each, role=replace(each.role, function=produce_counted))
            if each.role.name == "producer"
            else each
            for each in super().workers()
        )


def run_it(harness: Harness, library: str, trap: Set, *, idempotence: bool) -> tuple[str, frozenset[str]]:
    """The verdict, and what it showed, also what is allowed without idempotence."""
    name = "delivery_timeout_ms" if library == "kafka-python" else "delivery.timeout.ms"
    workload = Counted(
        library=library,
        topic_config={"min.insync.replicas": 2},
        idempotence=idempotence,
        client={name: DELIVERY} if trap.expires else {},
    )
    run = harness.run(
        Experiment(workload=workload, faults=[trap.event], bounds=Bounds(recovery=15), cooldown=5)
    )
    found = {finding.anomaly for finding in run.verdict.findings}
    if sum(map(int, dropped_file(run.path).read_text().split())):
        found.add(WEDGED)
    return run.verdict.result, frozenset(found)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--client", action="append", help=f"default: {', '.join(CLIENTS)}")
    parser.add_argument("--tries", type=int, default=1)
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    require_java()
    require_images([ClusterSpec().version])
    stored = options.json is not None and options.json.exists()
    cells = [Cell(**each) for each in json.loads(options.json.read_text())] if stored else []
    with tempfile.TemporaryDirectory() as folder, Harness(Path(folder), say=print) as harness:
        for _ in range(options.tries):
            for library in options.client or CLIENTS:
                for trap in [each for each in TRAPS if not options.control or "duplicate" in each.shown]:
                    name = f"{library}{', idempotence off' if options.control else ''}"
                    try:
                        verdict, found = run_it(harness, library, trap, idempotence=not options.control)
                    except KafkacheckError as error:
                        verdict, found = f"error: {error}", frozenset()
                    print(name, trap.event, verdict, sorted(found), flush=True)
                    for each, shown in trap.shown.items():
                        added(cells, name, each, found & shown, is_known=verdict in ("valid", "invalid"))
                    if options.json:
                        options.json.write_text(json.dumps([vars(each) for each in cells], indent=2) + "\n")
    _print([vars(each) for each in cells])
    return 0


@dataclass
class Cell:
    """What the tries of a client with a trap gave."""

    client: str
    trap: str
    tries: int = 0
    fell: int = 0
    shown: list[str] = field(default_factory=list)
    unknown: int = 0


def added(cells: list[Cell], client: str, trap: str, shown: frozenset[str], *, is_known: bool) -> None:
    """Add a try to its cell, a new one where it is the first."""
    cell = next((each for each in cells if (each.client, each.trap) == (client, trap)), None)
    if cell is None:
        cells.append(cell := Cell(client, trap))
    if not is_known:
        cell.unknown += 1
        return
    cell.tries += 1
    cell.fell += bool(shown)
    cell.shown = sorted({*cell.shown, *shown})


def _print(cells: list[dict[str, Any]]) -> None:
    traps = list(dict.fromkeys(each["trap"] for each in cells))
    table = Table("client", *traps, box=None)
    for client in dict.fromkeys(each["client"] for each in cells):
        row = {each["trap"]: each for each in cells if each["client"] == client}
        table.add_row(client, *(_text(row[name]) for name in traps))
    Console(width=160).print(table)


def _text(cell: Mapping[str, Any]) -> str:
    shown = f" ({', '.join(cell['shown'])})" if cell["shown"] else ""
    return f"{cell['fell']} of {cell['tries']}{shown}"


if __name__ == "__main__":
    raise SystemExit(main())
