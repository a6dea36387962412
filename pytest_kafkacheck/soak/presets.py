"""Plans that ``kafkacheck soak --preset`` knows by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_kafkacheck.soak.plan import Soak
from workloads.admin import Admin
from workloads.append_log import AppendLog
from workloads.bank import Bank
from workloads.compacted import Compacted
from workloads.copying import Copy
from workloads.groups import Groups
from workloads.transactions import Transactions

SAFE = {"min.insync.replicas": 2}

VARY: Mapping[str, tuple[Any, ...]] = {
    "partitions": (1, 3, 6),
    "record_size": (0, 1000),
    "assignor": ("range", "roundrobin"),
    "client": ({}, {"linger_ms": 20}),
}


@dataclass(frozen=True, kw_only=True)
class Preset:
    """does: for people. plan: makes it."""

    does: str
    plan: Callable[[], Soak]


def _safe() -> Soak:
    return Soak(
        workloads=[
            AppendLog(topic_config=SAFE),
            Transactions(topic_config=SAFE),
            Groups(topic_config=SAFE),
            Copy(topic_config=SAFE),
            Bank(topic_config=SAFE),
            Compacted(topic_config=SAFE),
            Admin(topic_config=SAFE),
        ],
        vary=VARY,
        clients=True,
    )


def _unsafe() -> Soak:
    return Soak(
        workloads=[AppendLog(acks=1, rate=300, topic_config={"min.insync.replicas": 1})],
        vary={"partitions": (1, 3)},
        # Short rounds, because shrinking repeats a round some twenty times.
        events=(1, 3),
        length=20,
        lasting=(4, 10),
        cooldown=3,
    )


def _cycle() -> Soak:
    return Soak(
        workloads=[AppendLog(topic_config=SAFE), Groups(topic_config=SAFE), Transactions(topic_config=SAFE)],
        faults={"restart": 3, "rolling-restart": 1, "kill": 1, "stop": 1},
        events=(3, 5),
        length=45,
    )


PRESETS: Mapping[str, Preset] = {
    "safe": Preset(does="seven workloads with settings that keep every promise", plan=_safe),
    "unsafe": Preset(does="acks=1 with min.insync.replicas=1, which loses acknowledged writes", plan=_unsafe),
    "cycle": Preset(does="brokers that are restarted again and again, for authors of clients", plan=_cycle),
}
