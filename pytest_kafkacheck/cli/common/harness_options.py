"""Options of commands that print verdicts, that judge on Spark, and that run experiments."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_kafkacheck.spark import Spark
    from workloads.clients.security import Security


def add_verbose_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also print each finding's examples, what was exercised, and availability",
    )


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--spark-master",
        metavar="URL",
        default="local[*]",
        help="local[N], spark://HOST:PORT, yarn, k8s://..., or sc://HOST:PORT (Connect); default: %(default)s",
    )
    parser.add_argument(
        "--spark-conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting of Spark; may be repeated",
    )
    parser.add_argument(
        "--plain-spark",
        action="store_true",
        help="use Spark only through its public interface: the same verdicts, more slowly",
    )


def add_harness_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--attach",
        metavar="WHAT",
        help="use a running cluster: compose:PROJECT, or names of containers, separated by commas",
    )
    add_security_option(parser)
    add_directory_option(parser)


def add_security_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        type=Path,
        help="settings of clients for brokers with TLS or SASL, as Kafka's own tools take them (docs/attach.md)",
    )


def security_of(options: argparse.Namespace) -> Security | None:
    """The settings of `add_security_option`. Raises UsageError for a file that cannot be used."""
    from pytest_kafkacheck.cluster.spec.client_settings import read_client_settings

    return None if options.command_config is None else read_client_settings(options.command_config)


def add_directory_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dir", type=Path, default=Path(".kafkacheck"), help="where runs are kept; default: %(default)s"
    )


def spark_options(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of a `Harness` from the options of `add_spark_options`. Raises UsageError for a wrong setting."""
    from pytest_kafkacheck.spark import parse_settings

    return {
        "master": options.spark_master,
        "spark_conf": parse_settings(options.spark_conf),
        "plain_spark": options.plain_spark,
    }


def spark_of(options: argparse.Namespace, *, warmed: bool = True) -> Spark:
    """As the options of `add_spark_options` say. Raises UsageError for a wrong setting."""
    from pytest_kafkacheck.spark import Spark, parse_settings

    return Spark(
        master=options.spark_master,
        conf=parse_settings(options.spark_conf),
        plain=options.plain_spark,
        warmed=warmed,
    )


def harness_options(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of a `Harness` from the options of both functions above, except its directory."""
    return {**spark_options(options), "attach": options.attach, "security": security_of(options)}
