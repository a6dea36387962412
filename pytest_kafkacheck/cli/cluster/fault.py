"""``kafkacheck cluster fault``: one fault on a running cluster, for game days."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.options import add_attach_options, attach_options
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from nemesis.event import Event
    from pytest_kafkacheck.cluster.docker.cluster import DockerCluster


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="of `kafkacheck cluster ls`; for one of your own: compose:PROJECT, or containers, separated by commas",
    )
    parser.add_argument("fault", metavar="FAULT", help="such as isolate; docs/faults.md lists them")
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="such as leader:orders-0, coordinator:billing, 2, cluster, or [[1],[2,3]]",
    )
    parser.add_argument(
        "--lasting", type=float, metavar="SECONDS", help="heal after this time; default: until Ctrl-C"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the fault, such as cores=0.1",
    )
    add_attach_options(parser)
    add_json_option(parser, "what the fault hit, and its proof,")


def _run(options: argparse.Namespace) -> int:
    from nemesis.event import OPEN
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.setup.capabilities import require_capabilities

    event = parse_event(options.fault, options.target, options.option, options.lasting)
    check_json(options.json)
    given = attach_options(options)

    def tell(line: str) -> None:
        if options.json != "-":
            print(f"  {line}", flush=True)

    with closing(connect()) as client, _leased(client, options.name, event, given) as cluster:
        cluster.require_faults = partial(require_capabilities, client)
        with cluster.fault(event) as fault:
            nodes = ", ".join(map(str, fault.nodes)) or "none"
            tell(f"{event.fault.name} {event.target} took effect: nodes {nodes}")
            tell(f"proof: {json.dumps(fault.evidence, default=str)}")
            if options.json is not None:
                proof = json.loads(json.dumps(fault.evidence, default=str))
                write_json(options.json, {"fault": event.fault.name, "nodes": [*fault.nodes], "proof": proof})
            if not event.fault.momentary:
                tell("healing with Ctrl-C" if event.lasting == OPEN else f"healing after {event.lasting:g} s")
            with suppress(KeyboardInterrupt):
                fault.wait_healed()
        tell("healed" if not event.fault.momentary else "done")
    return AS_EXPECTED


def parse_event(fault: str, target: str, given: list[str], lasting: float | None) -> Event:
    """The event that the arguments name. Raises UsageError."""
    from nemesis.event import OPEN
    from nemesis.registry import FAULTS
    from nemesis.schedule import event_from_json
    from nemesis.validation import near_or_all

    name = fault.replace("_", "-")
    if name not in FAULTS:
        raise UsageError(f"no fault {fault!r}{near_or_all(name, FAULTS)}")
    options: dict[str, Any] = {}
    for each in given:
        key, equals, text = each.partition("=")
        if not equals:
            raise UsageError(f"--option {each}: expected NAME=VALUE")
        options[key] = _value(text)
    if FAULTS[name].momentary and lasting is not None:
        raise UsageError(f"--lasting {lasting:g}: {name} is momentary; leave it out")
    duration = {} if FAULTS[name].momentary else {"lasting": OPEN if lasting is None else lasting}
    where = _value(target) if target.startswith("[") else target
    try:
        return event_from_json({"fault": name, "target": where, "options": options, "at": 0, **duration})
    except ValueError as error:
        raise UsageError(str(error)) from error


def _value(text: str) -> Any:
    """A value in JSON, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@contextmanager
def _leased(client: Any, name: str, event: Event, given: Mapping[str, Any]) -> Iterator[DockerCluster]:
    """The cluster, for this process alone. Raises UsageError where it does not permit the event.

    given  as of `attach_options`, for a cluster that somebody else runs.
    """
    from pytest_kafkacheck.cluster.docker import reaper
    from pytest_kafkacheck.cluster.docker.attach import LIMIT, attached, refuse_changes
    from pytest_kafkacheck.cluster.docker.given_containers import names_containers
    from pytest_kafkacheck.cluster.docker.lease import leased
    from pytest_kafkacheck.cluster.docker.reattach import reattach

    if names_containers(client, name):
        refuse_changes([event])  # before its sidecars start
        limit = LIMIT if given["attach_wait"] is None else given["attach_wait"]
        with attached(
            client, name, security=given["security"], addresses=given["attach_map"], limit=limit
        ) as theirs:
            yield theirs
        return
    if any(given.values()):
        raise UsageError(
            f"--command-config, --attach-map, --attach-wait: kafkacheck itself knows how to reach "
            f"its cluster {name}; leave them out"
        )
    cluster = reattach(client, name)
    with leased(client, name, what=f"cluster {name}", labels=reaper.labels(name)), closing(cluster):
        yield cluster


COMMAND = Command(
    name="fault",
    help="carry out one fault on a running cluster, prove it, and heal it",
    order=35,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck cluster fault orders isolate leader:orders-0 --lasting 10",
        "kafkacheck cluster fault compose:shop pause 2",
        "kafkacheck cluster fault orders cpu one --option cores=0.1 --lasting 20",
    ),
)
