"""The cells of a matrix: all of its configurations and scenarios, or those that show what an audit says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from nemesis.validation import near_or_all
from pytest_kafkacheck.audit.assess import outcome
from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.events import EVENTS
from pytest_kafkacheck.audit.report import Subject
from pytest_kafkacheck.cluster.spec.release import OLDEST, release_of
from pytest_kafkacheck.cluster.spec.spec import DEFAULT_VERSION
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.matrix.cell import Cell, Expected
from pytest_kafkacheck.matrix.config_matrix import Chosen, ConfigMatrix
from pytest_kafkacheck.matrix.scenarios import Scenario, all_scenarios

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True)
class Matrix:
    """every: all cells, also impossible ones. skip_impossible: whether the rest may run where there are some."""

    every: tuple[Cell, ...]
    skip_impossible: bool = False

    @cached_property
    def impossible(self) -> Mapping[str, str]:
        """Why, by name of configuration."""
        return {cell.chosen.name: reason for cell in self.every if (reason := cell.impossible) is not None}

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Those to run. Raises UsageError that lists the impossible ones, unless they are to be skipped, and where
        no other is left."""
        possible = tuple(cell for cell in self.every if cell.chosen.name not in self.impossible)
        listed = "; ".join(f"{name} ({reason})" for name, reason in self.impossible.items())
        if self.impossible and not self.skip_impossible:
            raise UsageError(
                f"{len(self.every) - len(possible)} of {len(self.every)} cells are impossible: {listed}. Leave these "
                f"values out, or let the rest run: ConfigMatrix(..., skip_impossible=True), or --skip-impossible"
            )
        if not possible:
            raise UsageError(f"every cell is impossible: {listed}")
        return possible

    def expecting(self, expected: Callable[[Cell], Expected | None]) -> Matrix:
        """The same cells, each with what this function returns instead of the prediction; None leaves that."""
        return replace(
            self, every=tuple(replace(cell, stated=expected(cell) or cell.stated) for cell in self.every)
        )

    @property
    def parametrize(self) -> pytest.MarkDecorator:
        """A decorator of a test with the argument ``cell``: one test for each."""
        import pytest

        return pytest.mark.parametrize("cell", [pytest.param(cell, id=cell.id) for cell in self.cells])

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)


@dataclass(frozen=True)
class Scenarios:
    """Made by `scenarios`; multiply a `ConfigMatrix` by it."""

    chosen: tuple[Scenario, ...]

    def __rmul__(self, configurations: object) -> Matrix:
        if not isinstance(configurations, ConfigMatrix):
            return NotImplemented
        return Matrix(
            tuple(Cell(chosen, scenario) for scenario in self.chosen for chosen in configurations.chosen),
            configurations.skip_impossible,
        )

    def __iter__(self) -> Iterator[Scenario]:
        return iter(self.chosen)


def scenarios(*names: str) -> Scenarios:
    """The scenarios of these names; without names, all. Raises UsageError for another name."""
    known = all_scenarios()
    if unknown := [name for name in names if not isinstance(name, str) or name not in known]:
        raise UsageError(f"no scenario {unknown[0]!r}{near_or_all(unknown[0], known)}")
    return Scenarios(tuple(known[name] for name in dict.fromkeys(names or known)))


MOST_REPLICAS = 9
"""Brokers of a cluster that kafkacheck starts."""


class Proof(NamedTuple):
    """left_out: a sentence for each outcome that no cell shows."""

    cells: tuple[Cell, ...]
    left_out: tuple[str, ...]


def cells_of(subject: Subject, events: Collection[str]) -> Proof:
    """A cell for each of these events of which the audit knows the effect, with that effect as what is expected."""
    known, left_out = all_scenarios(), []
    cells = []
    for said in subject.outcomes:
        if said.event not in events:
            continue
        if said.event not in known:
            left_out.append(f"{subject.name}: {said.event} is shown by {EVENTS[said.event].shown_by}")
        elif said.effect == "unknown":
            left_out.append(f"{subject.name}: {said.event} is unknown, so there is nothing to show")
        elif (reason := _not_here(subject.configuration, said.event)) is not None:
            left_out.append(f"{subject.name}: {said.event}: {reason}")
        else:
            configuration = subject.configuration
            cells.append(
                Cell(
                    _chosen(subject.name, configuration),
                    known[said.event],
                    in_rack=configuration.replicas_in_rack or 1,
                    audited=said.effect,
                    asked=configuration.version,
                )
            )
    return Proof(tuple(cells), tuple(left_out))


def _not_here(configuration: Configuration, event: str) -> str | None:
    """Why no cluster that kafkacheck starts can show it; None where one can."""
    if configuration.replication > MOST_REPLICAS:
        return f"kafkacheck starts {MOST_REPLICAS} brokers at most, and it has {configuration.replication} replicas"
    if configuration.protocol is not None:
        return f"kafkacheck's clients do not write with protocol {configuration.protocol}"
    if configuration.min_isr > configuration.replication:
        return "a topic with this minimum is not created"
    if configuration.idempotence and configuration.acks != "all":
        return "such a producer does not start"
    version = shown_version(configuration)
    there = configuration.with_(version=version, elr=configuration.elr and version >= "4")
    if outcome(there, event).effect != outcome(configuration, event).effect:
        return f"kafkacheck runs Kafka {version}, which differs from {configuration.version} in this event"
    plain = there.with_(
        roles="separate", controllers=3, zookeepers=3, storage="kept", metadata_storage="kept"
    )
    if outcome(plain, event).effect != outcome(there, event).effect:
        return "the clusters of scenarios have a majority of voters at all times, and disks that are kept"
    return None


def shown_version(configuration: Configuration) -> str:
    """The release on which it is shown: the same one, or one of its line where only that is known, such as "4.1".
    Those that are older than all that kafkacheck starts are shown on the oldest one."""
    number = configuration.number[:2]
    if number < OLDEST.number:
        return OLDEST.tested
    if configuration.version.count(".") > 1:
        return configuration.version
    of_line = release_of(f"{number[0]}.{number[1]}.0")
    return DEFAULT_VERSION if of_line == release_of(DEFAULT_VERSION) else of_line.tested


def _chosen(name: str, configuration: Configuration) -> Chosen:
    version = shown_version(configuration)
    flush = configuration.flush_messages
    return Chosen(
        acks=configuration.acks or "all",
        replication=configuration.replication,
        idempotence=bool(configuration.idempotence),
        version=version,
        elr=configuration.elr if version >= "4" else None,
        mode=configuration.mode,
        topic_config={
            "min.insync.replicas": str(configuration.minimum),
            "unclean.leader.election.enable": configuration.unclean_text,
            **({} if flush is None else {"flush.messages": str(flush)}),
        },
        name=name.replace(" ", "-"),
    )
