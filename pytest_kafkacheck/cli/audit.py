"""``kafkacheck audit``: what a cluster's configuration keeps, loses or refuses in each event."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.audit_options import Stated, add_setting_options, stated
from pytest_kafkacheck.cli.common.console import say, show
from pytest_kafkacheck.cli.common.options import (
    add_directory_option,
    add_security_option,
    add_spark_options,
    security_of,
    spark_options,
)
from pytest_kafkacheck.cli.common.results import (
    add_json_option,
    check_json,
    matrix_status,
    print_matrix,
    write_json,
)
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, NOT_AS_EXPECTED, UNKNOWN, worst
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.audit.files.read import FileAudit
    from pytest_kafkacheck.audit.report import Report
    from pytest_kafkacheck.matrix.cell_result import CellResult

WITHOUT_CLUSTER = (
    "No cluster is needed where options state its settings: --replication 3 --min-isr 2 --acks all --unclean false "
    "--version 4.1.1"
)

WIDTH = 180
"""Characters per line if the output is no terminal."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="server.properties of brokers and controllers, files of producers and consumers, a compose file, "
        "resources of "
        "Strimzi, a rendered Helm chart; - reads standard input",
    )
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT,...",
        help="addresses of brokers of the cluster to read; nothing is changed. Without it, files or options say all",
    )
    parser.add_argument(
        "--topic", metavar="PATTERN", help="only topics of this name, such as 'orders*', and internal ones"
    )
    add_security_option(parser)
    parser.add_argument(
        "--prove",
        metavar="SCENARIO",
        nargs="*",
        help="show the outcomes on clusters in Docker with these settings; default: of every event of brokers",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="print the changes that are proposed as a diff of the files, and nothing else",
    )
    add_json_option(parser)
    parser.add_argument("--junitxml", metavar="FILE", type=Path, help="write the result as JUnit's XML")
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also print what exactly happens in each event, side effects, and sources",
    )
    add_setting_options(parser)
    add_spark_options(parser)
    add_directory_option(parser)


def _run(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.text import Text

    from pytest_kafkacheck.audit.advice import advise
    from pytest_kafkacheck.audit.report import junit_xml
    from pytest_kafkacheck.cli.common.audit_table import parts

    check_json(options.json)
    if options.prove:
        require_scenarios(options.prove)
    if options.junitxml is not None and not options.junitxml.resolve().parent.is_dir():
        raise UsageError(f"--junitxml {options.junitxml}: its folder does not exist")
    read = _read_files(options)
    report = _report(options, read)
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=WIDTH)
    if options.fix:
        _print_fix(report, read)
    is_printed = options.json != "-" and not options.fix
    if is_printed:
        for part in parts(report, verbose=options.verbose):
            console.print(part, markup=False, soft_wrap=isinstance(part, Text) and bool(part.no_wrap))
    if options.junitxml is not None:
        options.junitxml.write_text(junit_xml(report), encoding="utf-8")
    results = [] if options.prove is None else _prove(options, report)
    if options.json is not None:
        proof = {} if options.prove is None else {"proof": [result.to_json() for result in results]}
        write_json(options.json, {**report.to_json(), "advice": advise(report).to_json(), **proof})
    if options.prove is None:
        return status(report)
    if is_printed:
        print_matrix(results, {})
    agree = sum(result.state == "as predicted" for result in results)
    others = sorted({each.cell.elsewhere for each in results if each.cell.elsewhere is not None})
    where = f" on Kafka {', '.join(others)}, which is not the release asked for" if others else ""
    say(f"{agree} of {len(results)} outcomes are shown as the audit says them{where}")
    return worst([status(report), matrix_status(results)])


def _print_fix(report: Report, read: FileAudit | None) -> None:
    from pytest_kafkacheck.audit.advice import advise
    from pytest_kafkacheck.audit.files.fix import fix

    if read is None:
        raise UsageError("--fix goes with files: it prints a diff of them")
    for line in fix(read, advise(report).changes):
        print(line)


def status(report: Report) -> int:
    """A loss is worse than something that could not be read."""
    if report.loses:
        return NOT_AS_EXPECTED
    return UNKNOWN if report.problems or report.out_of_sync else AS_EXPECTED


def _prove(options: argparse.Namespace, report: Report) -> list[CellResult]:
    """What clusters with the audited settings showed. Says what cannot be shown."""
    from pytest_kafkacheck.audit.events import BROKER_EVENTS
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.matrix.batch import check_cells, run_cells
    from pytest_kafkacheck.matrix.matrix import cells_of

    proofs = [cells_of(subject, options.prove or BROKER_EVENTS) for subject in report.subjects]
    cells = tuple(dict.fromkeys(cell for proof in proofs for cell in proof.cells))
    for sentence in (sentence for proof in proofs for sentence in proof.left_out):
        say(f"not shown: {sentence}")
    if not cells:
        return []
    with Harness(options.dir, say=say, show=show, **spark_options(options)) as harness:
        check_cells(harness, cells)
        return run_cells(harness, cells, say=say)


def _read_files(options: argparse.Namespace) -> FileAudit | None:
    if options.bootstrap is None and (options.topic is not None or options.command_config is not None):
        given = "--command-config" if options.topic is None else "--topic"
        raise UsageError(f"{given} goes with --bootstrap only: without it, no cluster is read")
    if not options.files:
        return None
    from pytest_kafkacheck.audit.files.read import read_files
    from pytest_kafkacheck.audit.report import Subject

    said = stated(options)
    return read_files(
        options.files, Subject(name="", settings=said.settings, origins=said.origins, unknown=said.unknown)
    )


def _report(options: argparse.Namespace, read: FileAudit | None) -> Report:
    said = stated(options)
    if read is not None:
        if options.bootstrap is None:
            return read.report
        own = read.stated
        said = Stated(dict(own.settings), dict(own.origins), dict(own.unknown))
    if options.bootstrap is None:
        return offline(said)
    found = _read(options, said, read)
    return found if read is None else replace(found, stated=[*found.stated, *read.report.stated])


def _read(options: argparse.Namespace, said: Stated, read: FileAudit | None) -> Report:
    from pytest_kafkacheck.audit.live.brokers import asking
    from pytest_kafkacheck.audit.live.read import read_report
    from pytest_kafkacheck.audit.report import Problem
    from pytest_kafkacheck.cluster.kafka.served_cluster import find, parse_bootstrap
    from pytest_kafkacheck.errors import InfrastructureError

    addresses = parse_bootstrap(options.bootstrap, security_of(options))
    try:
        brokers = find(addresses).brokers
    except InfrastructureError as error:
        if "replication" not in said.settings:
            raise InfrastructureError(f"{error} {WITHOUT_CLUSTER}") from error
        # The options say enough for an answer all the same.
        problem = Problem(
            tried=f"--bootstrap {options.bootstrap}",
            missing=str(error),
            remedy="what is above follows from the options alone",
        )
        return replace(offline(said), problems=[problem])
    try:
        return read_report(
            sorted(brokers),
            asking(brokers),
            pattern=options.topic or "*",
            settings=said.settings,
            origins=said.origins,
            unknown=said.unknown,
            files=() if read is None else read.clusters,
        )
    except OSError as error:
        named = ", ".join(f"{node} at {address}" for node, address in sorted(brokers.items()))
        raise InfrastructureError(
            f"--bootstrap {options.bootstrap} answers, but none of the brokers that it names does: {named}: "
            f"{error or type(error).__name__}. Run this where these addresses can be reached."
        ) from error


def offline(said: Stated) -> Report:
    """From options alone. Raises UsageError where these say too little."""
    from pytest_kafkacheck.audit.report import Report, Subject

    if "replication" not in said.settings:
        raise UsageError(
            "audit: expected files, --bootstrap HOST:PORT of a cluster to read, or its settings, of which "
            "--replication "
            f"is the least. {WITHOUT_CLUSTER}"
        )
    return Report(
        [Subject(name="stated settings", settings=said.settings, origins=said.origins, unknown=said.unknown)]
    )


def require_scenarios(names: Sequence[str]) -> None:
    """Raises UsageError for a name that no scenario has."""
    from pytest_kafkacheck.matrix.matrix import scenarios

    try:
        scenarios(*names)
    except UsageError as error:
        raise UsageError(f"--prove: {error}") from None


COMMAND = Command(
    name="audit",
    help="what a configuration loses or refuses in failures",
    order=25,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck audit server.properties producer.properties",
        "kafkacheck audit compose.yml --fix",
        "kafkacheck audit --bootstrap localhost:9092",
        "kafkacheck audit --bootstrap localhost:9092 --topic 'orders*' --json",
        "kafkacheck audit --replication 3 --min-isr 2 --acks all --unclean false --version 4.1.1",
    ),
)
