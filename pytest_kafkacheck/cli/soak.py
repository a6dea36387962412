"""``kafkacheck soak``: rounds of experiments that are drawn from a seed, for hours."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say, show
from pytest_kafkacheck.cli.common.options import (
    add_directory_option,
    add_spark_options,
    bound_values,
    spark_options,
)
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED, NOT_AS_EXPECTED, UNKNOWN
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.soak.limits import Limits
    from pytest_kafkacheck.soak.plan import Soak
    from pytest_kafkacheck.soak.state import SoakFolder

PRESETS = ("safe", "unsafe", "cycle")
KEEPS = ("invalid", "failed", "all")
FILES = ("junitxml", "markdown")


def _add_options(parser: argparse.ArgumentParser) -> None:
    plan = parser.add_argument_group("what is drawn")
    plan.add_argument("file", metavar="FILE", nargs="?", type=Path, help="a Python file that binds a Soak")
    plan.add_argument(
        "--preset", choices=PRESETS, help="in place of FILE: a plan of kafkacheck's own (docs/soak.md)"
    )
    plan.add_argument("--seed", type=int, default=1, metavar="N", help="of all choices; default: %(default)s")
    plan.add_argument("--faults", metavar="NAME,...", help="only these, such as isolate,kill")
    plan.add_argument(
        "--kafka", metavar="VERSION,...", help="draw from these releases in place of those of the plan"
    )
    plan.add_argument(
        "--client", metavar="LIBRARY", help="the client library of all workloads, such as 'command:./client'"
    )
    parser.add_argument(
        "--clusters",
        type=int,
        default=1,
        metavar="N",
        help="clusters side by side, each with rounds of its own; about 4.2 GB of memory each; default: %(default)s",
    )
    ends = parser.add_argument_group("when it ends, one or more of")
    ends.add_argument("--hours", type=float, metavar="N", help="no round begins later; over all calls")
    ends.add_argument("--rounds", type=int, metavar="N", help="after so many rounds; over all calls")
    ends.add_argument("--stop-after", type=int, metavar="N", help="after findings of so many causes")
    parser.add_argument(
        "--shrink",
        type=float,
        default=0.0,
        metavar="MINUTES",
        help="shrink the first run of each cause, for so long; default: not at all",
    )
    parser.add_argument(
        "--keep",
        choices=KEEPS,
        default="failed",
        help="which runs are kept: invalid ones, those that are not valid (failed, the default), or all",
    )
    parser.add_argument(
        "--limit-mb",
        type=int,
        default=2000,
        metavar="MB",
        help="size of the soak's folder; the oldest valid runs go first; default: %(default)s",
    )
    parser.add_argument("--junitxml", metavar="FILE", type=Path, help="write the rounds as JUnit's XML")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the summary as Markdown")
    add_json_option(parser, "the summary")
    parser.add_argument("-v", "--verbose", action="store_true", help="also report the steps of each run")
    add_spark_options(parser)
    add_directory_option(parser)


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.soak.clusters import Clusters
    from pytest_kafkacheck.soak.draw import draw
    from pytest_kafkacheck.soak.side_by_side import own_part, run_side_by_side
    from pytest_kafkacheck.soak.soak import soak
    from pytest_kafkacheck.soak.state import SoakFolder

    limits = _limits(options)
    check_json(options.json)
    for name in FILES:
        if (file := getattr(options, name)) is not None and not file.resolve().parent.is_dir():
            raise UsageError(f"--{name} {file}: its folder does not exist")
    name, plan = _plan(options)
    folder = SoakFolder(options.dir / f"soak-{name}-{options.seed}")
    quiet = (lambda _: None) if not options.verbose else say
    lab = Clusters(folder.path, say=quiet, show=show, **spark_options(options))
    if (part := own_part(options.clusters)) is not None:
        # The process that has started this one holds the lock, and writes the summary.
        with lab:
            plan, _ = lab.fitted(plan)
            soak(plan, lab, folder, limits, seed=options.seed, part=part, say=say)
        return AS_EXPECTED
    with folder.locked():
        plan, left_out = lab.fitted(plan)
        for fault, why in left_out.items():
            say(f"left out on this host: {fault}: {why}")
        folder.read(plan, options.seed)
        draw(plan, options.seed, 1, ())
        with lab:
            lab.check(plan, clusters=options.clusters)
            try:
                if options.clusters > 1:
                    run_side_by_side(["-m", "pytest_kafkacheck", *options.arguments], options.clusters)
                else:
                    soak(plan, lab, folder, limits, seed=options.seed, say=say)
            finally:
                # A soak that was interrupted has a summary, too.
                status = _write(options, name, plan, folder, left_out)
    return status


def _limits(options: argparse.Namespace) -> Limits:
    """Raises UsageError."""
    from pytest_kafkacheck.soak.limits import Limits

    for name in ("hours", "rounds", "stop_after", "limit_mb", "clusters"):
        value = getattr(options, name)
        if value is not None and not 0 < value < math.inf:
            raise UsageError(f"--{name.replace('_', '-')} {value:g}: expected a number above 0")
    if not 0 <= options.shrink < math.inf:
        raise UsageError(f"--shrink {options.shrink:g}: expected a number of minutes, or 0")
    return Limits(
        seconds=None if options.hours is None else 3600 * options.hours,
        rounds=options.rounds,
        stop_after=options.stop_after,
        shrink=60 * options.shrink,
        keep=options.keep,
        most_bytes=options.limit_mb * 1_000_000,
    )


def _plan(options: argparse.Namespace) -> tuple[str, Soak]:
    """Its name, and the plan. Raises UsageError."""
    from pytest_kafkacheck.soak.plan import PRESETS as PLANS
    from pytest_kafkacheck.soak.plan import with_client, with_faults, with_versions

    if (options.file is None) == (options.preset is None):
        raise UsageError(f"expected either a file that binds a Soak, or --preset {'|'.join(PLANS)}")
    name, plan = (
        (options.preset, PLANS[options.preset].plan())
        if options.preset
        else (options.file.stem, load(options.file))
    )
    if options.faults is not None:
        plan = with_faults(plan, [each.strip() for each in options.faults.split(",")])
    if options.kafka is not None:
        plan = with_versions(plan, [each.strip() for each in options.kafka.split(",")])
    if options.client is not None:
        plan = with_client(plan, options.client)
    return name, plan


def load(file: Path) -> Soak:
    """The Soak that a Python file binds at its top level. Raises UsageError where it is not exactly one."""
    from pytest_kafkacheck.soak.plan import Soak

    found = [value for value in bound_values(file) if isinstance(value, Soak)]
    if len(found) != 1:
        raise UsageError(
            f"{file}: binds {len(found) or 'no'} soaks at its top level; expected one, such as "
            f"`soak = Soak(workloads=[AppendLog()])`"
        )
    return found[0]


def _write(
    options: argparse.Namespace, name: str, plan: Soak, folder: SoakFolder, left_out: Mapping[str, str]
) -> int:
    """Print the summary, write the files, and return the exit status."""
    from pytest_kafkacheck.soak.junit import junit_xml
    from pytest_kafkacheck.soak.markdown import markdown
    from pytest_kafkacheck.soak.reach import unreached
    from pytest_kafkacheck.soak.summary import summarized

    state = folder.read(plan, options.seed)
    never = unreached(plan, state.rounds) if state.rounds else {}
    summary = summarized(state.rounds, seed=state.seed, seconds=state.seconds, never=never, left_out=left_out)
    text = markdown(summary, name=name, folder=folder.path)
    if options.markdown is not None:
        options.markdown.write_text(text, encoding="utf-8")
    if options.junitxml is not None:
        options.junitxml.write_text(junit_xml(state.rounds, name=name), encoding="utf-8")
    if options.json is not None:
        write_json(options.json, summary.to_json())
    if options.json != "-":
        print(text, flush=True)
    if summary.results["invalid"]:
        return NOT_AS_EXPECTED
    return UNKNOWN if summary.results["unknown"] or not summary.rounds else AS_EXPECTED


COMMAND = Command(
    name="soak",
    help="draw experiments from a seed for hours, and keep what they find",
    order=34,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck soak --preset safe --hours 8",
        "kafkacheck soak plan.py --hours 2 --seed 7 --stop-after 1 --shrink 30 --junitxml soak.xml",
        "kafkacheck soak --preset cycle --client 'command:./client' --rounds 20",
    ),
)
