"""``kafkacheck export``: write a run's history in another notation."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.options import add_run_argument, run_folder
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("--edn", type=Path, metavar="FILE", help="write a history.edn of Jepsen")
    parser.add_argument(
        "--jsonl",
        type=Path,
        metavar="FILE",
        help="write JSON lines, FILE.jsonl or FILE.jsonl.gz; kafkacheck analyze --explain-schema describes them",
    )


def _run(options: argparse.Namespace) -> int:
    if options.edn is None and options.jsonl is None:
        raise UsageError("export: expected --edn FILE or --jsonl FILE, or both")
    home = run_folder(options.run, options.dir)
    for file, export in ((options.edn, _export_edn), (options.jsonl, _export_lines)):
        if file is None:
            continue
        try:
            rows = export(home, file)
        except (ValueError, OSError) as error:
            raise UsageError(f"{home}: cannot be exported to {file}: {error}") from error
        print(f"{file}: {rows} rows")
    return AS_EXPECTED


def _export_edn(run: Path, file: Path) -> int:
    from workloads.history.jepsen.export import export_edn

    return export_edn(run, file)


def _export_lines(run: Path, file: Path) -> int:
    """The file says by which rules its run is judged, as far as its schema has them."""
    from pytest_kafkacheck.experiment.run_directory import RunDirectory
    from workloads.history.lines.export import export_lines

    directory = RunDirectory(run)
    if not directory.experiment.is_file():
        return export_lines(run, file)
    rules = directory.read_judging_rules()
    return export_lines(run, file, requires=sorted(rules.requires), allow=sorted(rules.allowed))


COMMAND = Command(
    name="export",
    help="write a run's history in another notation",
    order=80,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck export latest --jsonl history.jsonl.gz",
        "kafkacheck export 7b29cd07 --edn history.edn",
    ),
)
