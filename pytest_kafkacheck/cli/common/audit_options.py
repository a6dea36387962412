"""The options of ``kafkacheck audit`` that state settings. They are named after fields of `audit.Configuration`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_kafkacheck.errors import UsageError

BOOLEANS = {"true": True, "false": False}


def add_setting_options(parser: argparse.ArgumentParser) -> None:
    """Add the options. One that is not given leaves what the cluster says, or Kafka's default."""
    topic = parser.add_argument_group("brokers and topic, where no cluster says it")
    topic.add_argument("--replication", type=int, metavar="N", help="replicas of each partition")
    topic.add_argument("--min-isr", type=int, metavar="N", help="min.insync.replicas")
    topic.add_argument("--unclean", choices=BOOLEANS, help="unclean.leader.election.enable")
    topic.add_argument("--flush-messages", type=int, metavar="N", help="flush.messages")
    topic.add_argument("--version", metavar="VERSION", help="release of the brokers, such as 4.1.1")
    topic.add_argument("--mode", choices=("kraft", "zookeeper"), help="who keeps the metadata")
    topic.add_argument(
        "--elr", choices=BOOLEANS, help="eligible.leader.replicas.version=1; default: from 4.1 on"
    )
    topic.add_argument("--protocol", metavar="VERSION", help="inter.broker.protocol.version")
    topic.add_argument("--controllers", type=int, metavar="N", help="voters of the KRaft quorum; default: 3")
    topic.add_argument(
        "--roles",
        choices=("combined", "separate"),
        help="combined: brokers are voters of the KRaft quorum as well; default: separate",
    )
    topic.add_argument(
        "--racks", type=int, metavar="N", help="racks over which replicas are spread; not known otherwise"
    )
    clients = parser.add_argument_group("clients, of which brokers know nothing")
    clients.add_argument("--producer-config", type=Path, metavar="FILE", help="settings of a producer")
    clients.add_argument("--consumer-config", type=Path, metavar="FILE", help="settings of a consumer")
    clients.add_argument(
        "--acks", choices=("all", "-1", "1", "0"), help="acks of producers; -1 is all, as in Kafka"
    )
    clients.add_argument("--idempotence", choices=BOOLEANS, help="enable.idempotence")
    clients.add_argument(
        "--client-version", metavar="VERSION", help="release of Java clients, for their defaults"
    )
    clients.add_argument(
        "--commit",
        choices=("after-processing", "before-processing", "auto", "auto-asynchronous"),
        help="when consumers commit; auto: enable.auto.commit, and all records are processed before the next poll; "
        "auto-asynchronous: they may be processed later",
    )
    clients.add_argument(
        "--auto-offset-reset", choices=("earliest", "latest", "none"), help="auto.offset.reset of consumers"
    )


@dataclass
class Stated:
    """settings: fields by name. origins: the option or file of each. unknown: values that a field may have."""

    settings: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def put(self, name: str, value: object, origin: str) -> None:
        self.settings[name], self.origins[name] = value, origin
        self.unknown.pop(name, None)


def stated(options: argparse.Namespace) -> Stated:
    """What the options say, and the files that they name. An option wins over a file. Raises UsageError."""
    from pytest_kafkacheck.audit.client_files import read_consumer, read_producer

    found = Stated()
    for file, read in ((options.producer_config, read_producer), (options.consumer_config, read_consumer)):
        if file is not None:
            known, unknown = read(file)
            for name, value in known.items():
                found.put(name, value, str(file))
            found.unknown |= unknown
    for name in ("replication", "min_isr", "flush_messages", "version", "mode", "protocol", "controllers", "roles",
                 "client_version", "commit", "auto_offset_reset"):  # fmt: skip
        if (value := getattr(options, name)) is not None:
            found.put(name, value, _option(name))
    for name in ("unclean", "elr", "idempotence"):
        if (value := getattr(options, name)) is not None:
            found.put(name, BOOLEANS[value], _option(name))
    if options.acks is not None:
        found.put("acks", "all" if options.acks in ("all", "-1") else int(options.acks), "--acks")
    if options.racks is not None:
        if options.racks < 1:
            raise UsageError(f"--racks {options.racks}: expected 1 or more")
        replication = found.settings.get("replication", 1)
        found.put("replicas_in_rack", -(-replication // options.racks), "--racks")
    return found


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"
