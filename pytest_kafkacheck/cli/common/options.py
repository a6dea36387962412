"""Options and arguments that several commands have, such as those of experiments, of a cluster, and RUN."""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.wrong_call import wrong_call

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


def add_daemon_option(parser: argparse.ArgumentParser) -> None:
    """Of a command that a daemon may carry out when it calls `spark_of`."""
    parser.add_argument(
        "--no-daemon",
        action="store_true",
        help="start a Spark of its own, see `kafkacheck daemon`; options of Spark have the same effect",
    )


def add_harness_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--attach",
        metavar="WHAT",
        help="use a running cluster: compose:PROJECT, or names of containers, separated by commas",
    )
    add_attach_options(parser)
    add_directory_option(parser)


def add_attach_options(parser: argparse.ArgumentParser) -> None:
    """How to reach a cluster that somebody else runs."""
    add_security_option(parser)
    parser.add_argument(
        "--attach-map",
        metavar="NODE=HOST:PORT,...",
        default="",
        help="where this host reaches the brokers of a running cluster, such as behind a proxy or NAT",
    )
    parser.add_argument(
        "--attach-wait",
        metavar="SECONDS",
        type=float,
        help="limit of each wait for a running cluster, at the begin and the end; default: 30",
    )


def attach_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `add_attach_options`, as a `Harness` takes them. Raises UsageError."""
    from pytest_kafkacheck.cluster.spec.client_settings import parse_addresses

    security = security_of(options)
    return {
        "security": security,
        "attach_map": parse_addresses(options.attach_map, security),
        "attach_wait": options.attach_wait,
    }


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
    """As the options of `add_spark_options` and `add_daemon_option` say.

    Raises UsageError for a wrong setting, and HandOver if the daemon is to carry out the command: the caller has
    printed and written nothing yet.
    """
    from pytest_kafkacheck.daemon.client import is_for_the_daemon
    from pytest_kafkacheck.daemon.hand_over import HandOver
    from pytest_kafkacheck.spark import Spark, kept_spark, parse_settings

    if is_for_the_daemon(options):
        kept = kept_spark()
        if kept is None:
            raise HandOver
        return kept.get(warmed=warmed)
    return Spark(
        master=options.spark_master,
        conf=parse_settings(options.spark_conf),
        plain=options.plain_spark,
        warmed=warmed,
    )


def harness_options(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of a `Harness` from the options of both functions above, except its directory."""
    return {**spark_options(options), "attach": options.attach, **attach_options(options)}


RUN_HELP = "the run's folder, its id or the beginning of one, latest, or latest~1 for the one before"


def add_run_argument(parser: argparse.ArgumentParser, *, more: str = "") -> None:
    """RUN, and --dir, where names of runs are looked up."""
    parser.add_argument("run", metavar="RUN", help=f"{RUN_HELP}{more}")
    add_directory_option(parser)


def run_folder(text: str, directory: Path) -> Path:
    """The folder that RUN names; `text` as a path where it names no run, so that the command says what is wrong.

    Raises UsageError as `find` does.
    """
    from pytest_kafkacheck.kept_runs.run_summary import find

    return find(text, directory) or Path(text)


def run_text(text: str, directory: Path) -> str:
    """As `run_folder`, for a command that also takes URIs and histories of other programs."""
    from pytest_kafkacheck.kept_runs.run_summary import find

    found = None if "://" in text or text.startswith("file:") else find(text, directory)
    return text if found is None else str(found)


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


def bound_values(file: Path) -> list[object]:
    """Each value once, also where two names are bound to it.

    Raises UsageError for a file that does not exist, is no Python file, or cannot be run; it names the line.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    if file.suffix != ".py":
        raise UsageError(f"{file}: expected a Python file (.py)")
    try:
        names = runpy.run_path(str(file))
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
        where = f"{file}, line {lines[-1]}," if lines else str(file)
        said = wrong_call(error) or f"{type(error).__name__}: {error}"
        raise UsageError(f"{where} cannot be run: {said}") from error
    found: list[object] = []
    for value in names.values():
        if not any(value is other for other in found):
            found.append(value)
    return found
