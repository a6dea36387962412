"""``kafkacheck cluster logs``: what the nodes of a cluster printed."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of kafkacheck cluster ls")
    parser.add_argument("node", metavar="NODE", type=int, nargs="?", help="id of a node; default: all")


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.cluster.docker.reattach import reattach

    with closing(connect()) as client:
        cluster = reattach(client, options.name)
        if options.node is not None and options.node not in cluster.nodes:
            raise UsageError(
                f"cluster {cluster.run} has no node {options.node}; it has {', '.join(map(str, cluster.nodes))}"
            )
        for number in [options.node] if options.node is not None else sorted(cluster.nodes):
            node = cluster.nodes[number]
            if options.node is None and len(cluster.nodes) > 1:
                print(f"==> {node.member.host} <==", flush=True)
            sys.stdout.buffer.write(node.logs())
            sys.stdout.flush()
    return AS_EXPECTED


COMMAND = Command(
    name="logs",
    help="print what the nodes of a cluster printed",
    order=30,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck cluster logs orders", "kafkacheck cluster logs orders 2"),
)
