"""A cell of a matrix: one configuration in one scenario, with what is expected of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pytest_kafkacheck.audit.assess import outcome
from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.events import EVENTS
from pytest_kafkacheck.audit.rule import Outcome
from pytest_kafkacheck.cluster.spec.release import ELR, release_of
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.matrix.config_matrix import Chosen
from pytest_kafkacheck.matrix.scenarios import LEADER, Layout, Scenario
from workloads.append_log import AppendLog
from workloads.workload import client_library

Expected = Literal["keeps", "loses", "unavailable"]

DISK_MB = 256

LEAST_BROKERS = 3


@dataclass(frozen=True)
class Cell:
    """stated: what the user expects; None: what the rules of the audit predict. in_rack: for rack-lost. audited: what
    an audit of a cluster says, of which the cell has only the settings that a scenario needs. asked: the release
    that was asked for, where another one may show it; None: the one that is run."""

    chosen: Chosen
    scenario: Scenario
    stated: Expected | None = None
    in_rack: int = 1
    audited: Expected | None = None
    asked: str | None = None

    @property
    def id(self) -> str:
        return f"{self.scenario.name}-{self.chosen.name}"

    def __str__(self) -> str:
        return self.id

    @property
    def configuration(self) -> Configuration:
        return self.chosen.configuration.with_(replicas_in_rack=self.in_rack)

    @cached_property
    def predicted(self) -> Outcome:
        """By the rules; where nothing fails, everything is kept."""
        if self.scenario.name not in EVENTS:
            return Outcome(event=self.scenario.name, effect="keeps", why=("nothing fails",))
        return outcome(self.configuration, self.scenario.name)

    @property
    def expected(self) -> Expected:
        if self.stated is not None:
            return self.stated
        if self.audited is not None:
            return self.audited
        effect = self.predicted.effect
        return "keeps" if effect == "unknown" else effect

    @property
    def windows(self) -> frozenset[int]:
        """Positions of the faults during which it shows whether writes are accepted or refused."""
        scenario = self.scenario
        if scenario.window is None or not self.workload.acknowledges:
            return frozenset()
        rules = self.predicted.rules if self.expected == "unavailable" and self.stated is None else ()
        return frozenset(scenario.refuses.get(rule.name, scenario.window) for rule in rules) or frozenset(
            {scenario.window}
        )

    @property
    def impossible(self) -> str | None:
        """Why there is no such configuration of Kafka; None where there is."""
        try:
            return "; ".join((*self.configuration.problems(), *self.chosen.problems())) or None
        except UsageError as error:
            return str(error)

    @property
    def layout(self) -> Layout:
        return Layout(self.chosen.replication, self.cluster.brokers, self.in_rack)

    @property
    def cluster(self) -> ClusterSpec:
        """Cells of equal clusters may share one."""
        chosen = self.chosen
        is_zookeeper = self.configuration.mode == "zookeeper"
        supports_elr = ELR in release_of(chosen.version).features
        features = {ELR: int(chosen.elr)} if chosen.elr is not None and supports_elr else {}
        return ClusterSpec(
            version=chosen.version,
            brokers=max(LEAST_BROKERS, chosen.replication),
            controllers=0 if is_zookeeper else self.scenario.controllers,
            zookeepers=int(is_zookeeper),
            disk_mb=DISK_MB if self.scenario.disks else None,
            features=features,
        )

    @property
    def version(self) -> str:
        """The release that is run."""
        return self.cluster.version

    @property
    def elsewhere(self) -> str | None:
        """The release that is run, where it is not the one that was asked for."""
        return self.version if self.asked not in (None, self.version) else None

    @property
    def workload(self) -> AppendLog:
        chosen = self.chosen
        replicas = list(range(LEADER, LEADER + chosen.replication))
        return AppendLog(
            partitions=1,
            replication_factor=chosen.replication,
            assignment={0: replicas},
            acks=chosen.acks,
            idempotence=chosen.idempotence,
            topic_config=chosen.topic_config,
            rate=self.scenario.rate,
            producers=1,
            readers=0,
            sessions=0,
            library=chosen.library,
            client_version=chosen.client_version,
        )

    def describe(self) -> dict[str, Any]:
        """The configuration in JSON."""
        chosen = self.chosen
        return {
            "acks": chosen.acks,
            "replication": chosen.replication,
            "idempotence": self.workload.idempotent,
            "version": chosen.version,
            "elr": bool(self.configuration.elr),
            "library": client_library(self.workload),
            **chosen.topic_config,
        }
