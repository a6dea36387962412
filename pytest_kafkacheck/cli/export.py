"""``kafkacheck export``: write a run's history in another notation."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, help="the run's folder")
    parser.add_argument(
        "--edn", type=Path, required=True, metavar="FILE", help="write a history.edn of Jepsen"
    )


def _run(options: argparse.Namespace) -> int:
    from workloads.history.jepsen.export import export_edn

    try:
        rows = export_edn(options.run, options.edn)
    except (ValueError, OSError) as error:
        raise UsageError(f"{options.run}: cannot be exported to {options.edn}: {error}") from error
    print(f"{options.edn}: {rows} rows")
    return AS_EXPECTED


COMMAND = Command(
    name="export",
    help="write a run's history in another notation",
    order=80,
    add_options=_add_options,
    run=_run,
)
