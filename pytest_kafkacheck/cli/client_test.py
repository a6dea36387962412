"""``kafkacheck client-test -- COMMAND``: whether a client process keeps to the protocol."""

from __future__ import annotations

import argparse
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say
from pytest_kafkacheck.cli.common.options import add_security_option, security_of
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, NOT_AS_EXPECTED
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from workloads.clients.connection import Address


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT,...",
        help="brokers that are there; default: a cluster of one broker is started",
    )
    parser.add_argument("--kafka", metavar="VERSION", help="release of the cluster that is started")
    parser.add_argument("--log", metavar="FILE", type=Path, help="append the client's standard error to it")
    add_security_option(parser)
    add_json_option(parser, "the rules with what was found")
    parser.add_argument(
        "command_line",
        metavar="-- COMMAND",
        nargs="+",
        help="starts the client, such as: -- ./client",
    )


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.client_test.real_brokers import RealBrokers
    from pytest_kafkacheck.client_test.run import run_rules

    check_json(options.json)
    lines: list[str] = []

    def tell(line: str) -> None:
        lines.append(line)
        if options.json != "-":
            print(line, flush=True)

    if options.bootstrap and options.kafka:
        raise UsageError(
            "--kafka is the release of a cluster that is started; --bootstrap names one that is there"
        )
    with tempfile.TemporaryDirectory(prefix="kafkacheck-") as folder:
        log = options.log or Path(folder) / "client.log"
        with _brokers(options) as found, RealBrokers(found) as brokers:
            broken = run_rules(
                options.command_line,
                brokers,
                run=secrets.token_hex(4),
                log=log,
                say=tell,
            )
    if options.json is not None:
        write_json(options.json, {"broken": broken, "lines": lines})
    return NOT_AS_EXPECTED if broken else AS_EXPECTED


@contextmanager
def _brokers(options: argparse.Namespace) -> Iterator[Mapping[int, Address]]:
    from pytest_kafkacheck.cluster.docker.boot import running
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.cluster.kafka.served_cluster import find, parse_bootstrap
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
    from pytest_kafkacheck.setup.image_build import prepare

    if options.bootstrap:
        yield find(parse_bootstrap(options.bootstrap, security_of(options))).brokers
        return
    spec = ClusterSpec(brokers=1, **({"version": options.kafka} if options.kafka else {}))
    with closing(connect()) as client, tempfile.TemporaryDirectory(prefix="kafkacheck-") as logs:
        prepare(client, spec, say)
        say(f"starting {spec.describe()}")
        with running(client, spec, run=f"ct-{secrets.token_hex(3)}", logs=Path(logs)) as cluster:
            yield cluster.brokers


COMMAND = Command(
    name="client-test",
    help="test whether a client process keeps to the protocol",
    order=37,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck client-test -- ./client",
        "kafkacheck client-test --bootstrap localhost:9092 --log client.log -- ./client",
    ),
)
