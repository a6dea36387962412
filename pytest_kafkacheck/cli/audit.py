"""``kafkacheck audit``: what a cluster's configuration keeps, loses or refuses in each event."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.audit_options import Stated, add_setting_options, stated
from pytest_kafkacheck.cli.common.harness_options import add_security_option, security_of
from pytest_kafkacheck.cli.common.json_output import check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, NOT_AS_EXPECTED, UNKNOWN
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.audit.report import Report

WIDTH = 180
"""Characters per line if the output is no terminal."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT,...",
        help="addresses of brokers of the cluster to read; nothing is changed. Without it, the options say all",
    )
    parser.add_argument(
        "--topic", metavar="PATTERN", help="only topics of this name, such as 'orders*', and internal ones"
    )
    add_security_option(parser)
    parser.add_argument(
        "--json", metavar="OUT", help="write the result as JSON into this file; - for standard output"
    )
    parser.add_argument("--junitxml", metavar="FILE", type=Path, help="write the result as JUnit's XML")
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also print what exactly happens in each event, side effects, and sources",
    )
    add_setting_options(parser)


def _run(options: argparse.Namespace) -> int:
    from rich.console import Console

    from pytest_kafkacheck.audit.junit import junit_xml
    from pytest_kafkacheck.cli.common.audit_table import parts

    check_json(options.json)
    if options.junitxml is not None and not options.junitxml.resolve().parent.is_dir():
        raise UsageError(f"--junitxml {options.junitxml}: its folder does not exist")
    report = _report(options)
    if options.json is not None:
        write_json(options.json, report.to_json())
    if options.junitxml is not None:
        options.junitxml.write_text(junit_xml(report), encoding="utf-8")
    if options.json != "-":
        console = Console(highlight=False, emoji=False)
        if not console.is_terminal:
            console = Console(highlight=False, emoji=False, width=WIDTH)
        for part in parts(report, verbose=options.verbose):
            console.print(part, markup=False, soft_wrap=False)
    return status(report)


def status(report: Report) -> int:
    """A loss is worse than something that could not be read."""
    if report.loses:
        return NOT_AS_EXPECTED
    return UNKNOWN if report.problems else AS_EXPECTED


def _report(options: argparse.Namespace) -> Report:
    said = stated(options)
    if options.bootstrap is None:
        if options.topic is not None or options.command_config is not None:
            given = "--command-config" if options.topic is None else "--topic"
            raise UsageError(f"{given} goes with --bootstrap only: without it, no cluster is read")
        return offline(said)
    return _read(options, said)


def _read(options: argparse.Namespace, said: Stated) -> Report:
    from pytest_kafkacheck.audit.live.asking import asking
    from pytest_kafkacheck.audit.live.read import read_report
    from pytest_kafkacheck.cluster.kafka.served_cluster import find, parse_bootstrap
    from pytest_kafkacheck.errors import InfrastructureError

    brokers = find(parse_bootstrap(options.bootstrap, security_of(options))).brokers
    try:
        return read_report(
            sorted(brokers),
            asking(brokers),
            pattern=options.topic or "*",
            settings=said.settings,
            origins=said.origins,
            unknown=said.unknown,
        )
    except OSError as error:
        addresses = ", ".join(f"{node} at {address}" for node, address in sorted(brokers.items()))
        raise InfrastructureError(
            f"--bootstrap {options.bootstrap} answers, but none of the brokers that it names does: {addresses}: "
            f"{error or type(error).__name__}. Run this where these addresses can be reached."
        ) from error


def offline(said: Stated) -> Report:
    """From options alone. Raises UsageError where these say too little."""
    from pytest_kafkacheck.audit.report import Report
    from pytest_kafkacheck.audit.subject import Subject

    if "replication" not in said.settings:
        raise UsageError(
            "audit: expected --bootstrap HOST:PORT of a cluster to read, or its settings, of which --replication is "
            "the least: --replication 3 --min-isr 2 --acks all --unclean false --version 4.1.1"
        )
    return Report(
        [Subject(name="stated settings", settings=said.settings, origins=said.origins, unknown=said.unknown)]
    )


COMMAND = Command(
    name="audit",
    help="what a configuration loses or refuses in failures",
    order=25,
    add_options=_add_options,
    run=_run,
)
