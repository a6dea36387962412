"""Options that describe a cluster. They are named after the fields of ClusterSpec."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_kafkacheck.errors import UsageError


def add_spec_options(parser: argparse.ArgumentParser) -> None:
    """Add the options. One that is not given leaves the default of ClusterSpec."""
    group = parser.add_argument_group("the cluster")
    group.add_argument("--kafka", metavar="VERSION", help="release, such as 4.1.1")
    group.add_argument("--brokers", type=int, metavar="N", help="brokers of the cluster")
    group.add_argument(
        "--controllers", type=int, metavar="N", help="separate KRaft controllers: 0, 1, 3 or 5"
    )
    group.add_argument("--zookeepers", type=int, metavar="N", help="ZooKeeper nodes: 0, 1 or 3")
    group.add_argument("--control-plane", action="store_true", default=None, help="ZooKeeper mode only")
    group.add_argument(
        "--rack",
        action="append",
        metavar="NAME",
        help="may be repeated; brokers are assigned to racks in turn",
    )
    group.add_argument(
        "--listener", action="append", metavar="NAME=PROTOCOL", help="an additional listener; may be repeated"
    )
    group.add_argument("--security", metavar="PROTOCOL", help="SSL, SASL_PLAINTEXT or SASL_SSL")
    group.add_argument("--mechanism", metavar="NAME", help="SASL mechanism")
    group.add_argument("--feature", action="append", metavar="NAME=LEVEL", help="may be repeated")
    group.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help="a broker setting; may be repeated"
    )
    group.add_argument("--heap-mb", type=int, metavar="MIB", help="heap of each JVM")
    group.add_argument(
        "--disk-mb", type=int, metavar="MIB", help="keep each node's data on a file system of this size"
    )
    group.add_argument("--image", metavar="NAME", help="an image of your own for the nodes")


def spec_fields(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of ClusterSpec from the options. Raises UsageError for a pair that is not NAME=VALUE."""
    features = {name: _level(value) for name, value in _pairs("--feature", options.feature).items()}
    given = {
        "version": options.kafka,
        "brokers": options.brokers,
        "controllers": options.controllers,
        "zookeepers": options.zookeepers,
        "control_plane": options.control_plane,
        "racks": options.rack,
        "listeners": _pairs("--listener", options.listener) or None,
        "security": options.security,
        "mechanism": options.mechanism,
        "features": features or None,
        "config": _pairs("--set", options.set) or None,
        "heap_mb": options.heap_mb,
        "disk_mb": options.disk_mb,
        "image": options.image,
    }
    return {name: value for name, value in given.items() if value is not None}


def _level(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"{option} {text}: expected NAME=VALUE")
        pairs[name] = value
    return pairs
