"""The command line: ``kafkacheck setup | doctor | run | replay | shrink | analyze | explain | export | demo | …``."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from pytest_kafkacheck.cli import analyze as analyze_command
from pytest_kafkacheck.cli import explain as explain_command
from pytest_kafkacheck.cli.cluster import add_cluster_commands
from pytest_kafkacheck.cli.exit_status import (
    AS_EXPECTED,
    INFRASTRUCTURE,
    INTERRUPTED,
    MEANINGS,
    NOT_AS_EXPECTED,
    UNKNOWN,
    USAGE,
    status,
    worst,
)
from pytest_kafkacheck.cli.jepsen import add_export, export
from pytest_kafkacheck.errors import InfrastructureError, KafkacheckError, UsageError
from pytest_kafkacheck.guard import check_siblings
from pytest_kafkacheck.termination import terminated_like_interrupted

if TYPE_CHECKING:
    from pytest_kafkacheck.experiment.experiment import Experiment


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        check_siblings()
        with terminated_like_interrupted():
            return command(options)
    except UsageError as error:
        print(f"kafkacheck: {error}", file=sys.stderr)
        return USAGE
    except KafkacheckError as error:
        print(f"kafkacheck: {error}", file=sys.stderr)
        return INFRASTRUCTURE if isinstance(error, InfrastructureError) else NOT_AS_EXPECTED
    except KeyboardInterrupt:
        print("kafkacheck: interrupted; everything it had started is removed", file=sys.stderr)
        if options.command is _shrink and (options.run / "shrink" / "best.json").is_file():
            print(
                f"kafkacheck: the smallest so far is in {options.run / 'shrink'}; call it again to go on",
                file=sys.stderr,
            )
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kafkacheck", description="Real Kafka clusters, real faults, and a verdict.", epilog=MEANINGS
    )
    from pytest_kafkacheck import __version__

    parser.add_argument("--version", action="version", version=f"kafkacheck {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    setup = commands.add_parser("setup", help="make sure of Java, a Docker engine and the broker image")
    setup.add_argument(
        "--kafka",
        metavar="VERSION",
        nargs="+",
        help="Kafka releases of the images; default: the one tests use",
    )
    setup.add_argument(
        "--compose", action="store_true", help="docker-compose as well, for the project's own tests"
    )
    setup.set_defaults(command=_setup)

    doctor = commands.add_parser("doctor", help="what this machine can do, and what is missing")
    doctor.add_argument("--json", action="store_true")
    doctor.set_defaults(command=_doctor)

    run = commands.add_parser("run", help="run the experiments of a file and judge them")
    run.add_argument(
        "file", type=Path, help="experiment.json of an earlier run, or a Python file with Experiments"
    )
    run.set_defaults(command=_run)

    replay = commands.add_parser(
        "replay", help="run a run's experiment again, with the same nodes as targets"
    )
    replay.add_argument("run", type=Path, help="the run's folder")
    replay.add_argument(
        "--symbolic", action="store_true", help="resolve targets such as leader afresh, as in the first run"
    )
    replay.set_defaults(command=_replay)

    shrink = commands.add_parser(
        "shrink", help="find the smallest experiment that still shows what a run showed"
    )
    shrink.add_argument("run", type=Path, help="the folder of an invalid run")
    shrink.add_argument(
        "--minutes", type=float, default=15.0, help="no run begins after them; default: %(default)s"
    )
    shrink.set_defaults(command=_shrink)

    analyze = commands.add_parser("analyze", help="judge runs again, also such as were interrupted")
    analyze_command.add_options(analyze)
    analyze.set_defaults(command=analyze_command.analyze)

    explain = commands.add_parser("explain", help="the evidence for a run's findings, as a time line")
    explain_command.add_options(explain)
    explain.set_defaults(command=explain_command.explain)

    export = commands.add_parser("export", help="write a run's history in another notation")
    add_export(export)
    export.set_defaults(command=_export)

    demo = commands.add_parser("demo", help="see acknowledged writes get lost, and kept")
    demo.set_defaults(command=_demo)

    add_cluster_commands(commands.add_parser("cluster", help="start, list and remove clusters"))

    image = commands.add_parser("image", help="look after broker images").add_subparsers(
        required=True, metavar="ACTION"
    )
    build = image.add_parser("build", help="pull or build the images of Kafka releases")
    build.add_argument("versions", metavar="VERSION", nargs="*", help="default: all that are tested")
    build.set_defaults(command=_image_build)
    image.add_parser("ls", help="which images there are").set_defaults(command=_image_ls)

    for each in (run, replay, shrink, analyze, explain, demo):
        each.add_argument(
            "--spark-master",
            metavar="URL",
            default="local[*]",
            help="local[N], spark://HOST:PORT, yarn, k8s://..., or sc://HOST:PORT (Connect); default: %(default)s",
        )
        each.add_argument(
            "--spark-conf",
            metavar="KEY=VALUE",
            action="append",
            default=[],
            help="a setting of Spark; may be given again",
        )
    for each in (run, replay, demo):
        each.add_argument(
            "--attach",
            metavar="WHAT",
            help="use a cluster that is running already: compose:PROJECT, or names of containers with commas between",
        )
        each.add_argument(
            "--dir", type=Path, default=Path(".kafkacheck"), help="where runs are kept; default: %(default)s"
        )
    return parser


def _spark(options: argparse.Namespace) -> dict[str, Any]:
    """What a `Harness` is told of Spark."""
    from pytest_kafkacheck.spark import parse_settings

    return {"master": options.spark_master, "spark_conf": parse_settings(options.spark_conf)}


def _say(line: str) -> None:
    print(f"  {line}", flush=True)


def _setup(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.spec.release import release_of
    from pytest_kafkacheck.cluster.spec.spec import DEFAULT_VERSION
    from pytest_kafkacheck.setup import ensure_all
    from pytest_kafkacheck.setup.compose import ensure_compose

    versions = options.kafka or [DEFAULT_VERSION]
    for version in versions:
        release_of(version)
    ensure_all(_say, versions=versions)
    if options.compose:
        ensure_compose(_say)
    return AS_EXPECTED


def _doctor(options: argparse.Namespace) -> int:
    import json

    from rich.console import Console
    from rich.table import Table

    from pytest_kafkacheck.setup.doctor import examine, fit

    answers = list(examine())
    if options.json:
        print(json.dumps([answer.to_json() for answer in answers], indent=2))
    else:
        table = Table(box=None)
        for heading in ("", "", "", "what to do"):
            table.add_column(heading, overflow="fold")
        for answer in answers:
            table.add_row(answer.state, answer.name, answer.what, answer.remedy)
        Console().print(table)
    return AS_EXPECTED if fit(answers) else INFRASTRUCTURE


def _image_build(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.cluster.spec.release import RELEASES, release_of
    from pytest_kafkacheck.setup.image import ensure_images

    versions = options.versions or [release.tested for release in RELEASES.values()]
    for version in versions:
        release_of(version)
    with closing(connect()) as client:
        for version in versions:
            ensure_images(client, version, _say)
    return AS_EXPECTED


def _image_ls(_: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.setup.image import listed

    table = Table("Kafka", "image", "state", "MB", box=None)
    with closing(connect()) as client:
        for version, name, state, size in listed(client):
            table.add_row(version, name, state, "" if size is None else f"{size / 1e6:.0f}")
    Console().print(table)
    return AS_EXPECTED


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.experiment.harness import Harness

    experiments = load(options.file)
    statuses = []
    with Harness(options.dir, say=_say, **_spark(options), attach=options.attach) as harness:
        for experiment in experiments:
            harness.check(experiment)
        for experiment in experiments:
            print(experiment.name or options.file.name, flush=True)
            run = harness.run(experiment)
            print(run.text(), flush=True)
            statuses.append(status(run.result, experiment.expect))
    return worst(statuses)


def _replay(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.experiment.replay import replayed

    experiment = replayed(options.run, symbolic=options.symbolic)
    with Harness(options.dir, say=_say, **_spark(options), attach=options.attach) as harness:
        run = harness.run(experiment)
    print(run.text(), flush=True)
    return status(run.result, experiment.expect)


def _shrink(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.shrink.shrink import shrink

    if not 0 < options.minutes < float("inf"):
        raise UsageError(f"--minutes {options.minutes:g}: expected a number above 0, and an end")
    runs = options.run / "shrink" / "runs"
    with Harness(runs, say=lambda _: None, fresh=True, **_spark(options)) as harness:
        found = shrink(
            options.run,
            lambda experiment: harness.run(experiment, name="try"),
            seconds=60 * options.minutes,
            say=_say,
        )
    print(found.text, flush=True)
    return AS_EXPECTED if found.test is not None else NOT_AS_EXPECTED


def _export(options: argparse.Namespace) -> int:
    rows = export(options.run, options.edn)
    print(f"{options.edn}: {rows} rows")
    return AS_EXPECTED


def _demo(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cli.demo import demo
    from pytest_kafkacheck.experiment.harness import Harness

    with Harness(options.dir, say=_say, **_spark(options), attach=options.attach) as harness:
        demo(harness, print)
    return AS_EXPECTED


def load(file: Path) -> list[Experiment]:
    """The experiments of a JSON file (one), or the Experiments that a Python file binds at its top level."""
    from pytest_kafkacheck.experiment.experiment import Experiment

    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    if file.suffix == ".json":
        return [Experiment.read(file)]
    if file.suffix != ".py":
        raise UsageError(f"{file}: expected experiment.json of a run, or a Python file (.py)")
    try:
        names = runpy.run_path(str(file))
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
        where = f"{file}, line {lines[-1]}," if lines else str(file)
        raise UsageError(f"{where} cannot be run: {type(error).__name__}: {error}") from error
    found: list[Experiment] = []
    for value in names.values():
        # Under two names it is still one.
        if isinstance(value, Experiment) and not any(value is other for other in found):
            found.append(value)
    if not found:
        raise UsageError(
            f"{file}: binds no Experiment at its top level, such as `experiment = Experiment(...)`. "
            f"A file of tests is run by pytest."
        )
    return found


__all__ = [
    "AS_EXPECTED",
    "INFRASTRUCTURE",
    "INTERRUPTED",
    "NOT_AS_EXPECTED",
    "UNKNOWN",
    "USAGE",
    "main",
    "worst",
]
