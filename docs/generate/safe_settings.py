"""The tables of docs/audit.md: what usual configurations keep, by the rules of the audit."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from _blocks import replaced, table

from pytest_kafkacheck.audit.assess import outcome
from pytest_kafkacheck.audit.configuration import Commit, Configuration, Reset
from pytest_kafkacheck.audit.events import BROKER_EVENTS

THREE = Configuration(replication=3, min_isr=2, version="4.1.1", replicas_in_rack=1)
"""Three replicas in three racks, on a new cluster."""

CONFIGURATIONS = {
    "acks=all, min.insync.replicas=2": THREE,
    "the same, flush.messages=1": THREE.with_(flush_messages=1),
    "the same on Kafka 3.9, KRaft": Configuration(
        replication=3, min_isr=2, version="3.9.2", replicas_in_rack=1
    ),
    "acks=all, min.insync.replicas=2, unclean.leader.election.enable=true": THREE.with_(unclean=True),
    "acks=all, min.insync.replicas=1": THREE.with_(min_isr=1),
    "acks=all, min.insync.replicas=3": THREE.with_(min_isr=3),
    "acks=1, min.insync.replicas=2": THREE.with_(acks=1, idempotence=False),
    "acks=0, min.insync.replicas=2": THREE.with_(acks=0, idempotence=False),
    "2 replicas, acks=all, min.insync.replicas=2": THREE.with_(replication=2),
    "2 replicas, acks=all, min.insync.replicas=1": THREE.with_(replication=2, min_isr=1),
    "1 replica": THREE.with_(replication=1, min_isr=1),
}
WORDS = {"keeps": "kept", "loses": "**lost**", "unavailable": "refused", "unknown": "depends"}


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "audit.md"
    text = page.read_text(encoding="utf-8")
    for name, body in {"safe: brokers": _brokers(), "safe: consumers": _consumers()}.items():
        text = replaced(text, name, body)
    return {page: text}


def _brokers() -> str:
    events = [f"`{event}`" for event in BROKER_EVENTS]
    rows = [
        [name, *(WORDS[outcome(each, event).effect] for event in BROKER_EVENTS)]
        for name, each in CONFIGURATIONS.items()
    ]
    return table(["settings", *events], rows)


def _consumers() -> str:
    resets: tuple[Reset, ...] = get_args(Reset)
    commits: tuple[Commit, ...] = get_args(Commit)
    rows = []
    for commit in commits:
        each = [THREE.with_(commit=commit, auto_offset_reset=reset) for reset in resets]
        rows.append([f"`{commit}`", *(WORDS[outcome(one, "consumer-crash").effect] for one in each)])
    return table(["commits", *(f"`auto.offset.reset={reset}`" for reset in resets)], rows)
