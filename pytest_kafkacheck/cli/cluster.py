"""``kafkacheck cluster up | ls | logs | properties | export | down``: clusters that outlive the command."""

from __future__ import annotations

import argparse
import json
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from pytest_kafkacheck.cli.spec_options import add_spec_options, spec_fields
from pytest_kafkacheck.errors import UsageError

NAME = r"[a-z0-9][a-z0-9-]{0,31}"


def add_cluster_commands(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    up = actions.add_parser("up", help="start a cluster and leave it running")
    up.add_argument("--name", help="default: made up")
    add_spec_options(up)
    up.set_defaults(command=_up)

    actions.add_parser("ls", help="which clusters there are, and whose").set_defaults(command=_ls)

    logs = actions.add_parser("logs", help="what the nodes of a cluster printed")
    logs.add_argument("name")
    logs.add_argument("node", type=int, nargs="?", help="default: all")
    logs.set_defaults(command=_logs)

    properties = actions.add_parser("properties", help="settings for Kafka's own tools and Java clients")
    properties.add_argument("name")
    properties.set_defaults(command=_properties)

    export = actions.add_parser("export", help="write a compose file for a cluster")
    export.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    add_spec_options(export)
    export.set_defaults(command=_export)

    down = actions.add_parser("down", help="remove clusters; without a name what killed sessions left behind")
    down.add_argument("name", nargs="*")
    down.add_argument(
        "--all", action="store_true", help="also kept ones, and those of sessions that still run"
    )
    down.set_defaults(command=_down)


def how_to_reach(cluster: Any) -> str:
    """For people: where a kept cluster is, and how to get rid of it."""
    nodes = [f"  {node.id:>3} {node.member.host:<14} {node.place.host}:{port} ({listener})"
             for node in cluster.nodes.values() for listener, port in node.place.ports.items()]  # fmt: skip
    return "\n".join(
        [
            f"cluster {cluster.run}: {cluster.spec.describe()}",
            f"bootstrap servers: {','.join(cluster.bootstrap)}"
            + (f" ({cluster.spec.security}: kafkacheck cluster properties {cluster.run})"
               if cluster.spec.security != "PLAINTEXT" else ""),
            *nodes,
            f"logs:   kafkacheck cluster logs {cluster.run} [NODE]",
            f"remove: kafkacheck cluster down {cluster.run}",
        ]
    )  # fmt: skip


def _up(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.docker import class_archive, reaper
    from pytest_kafkacheck.cluster.docker.cluster import running
    from pytest_kafkacheck.cluster.docker.engine import connect, require_image
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
    from pytest_kafkacheck.setup.image import image_for
    from pytest_kafkacheck.termination import terminated_like_interrupted

    spec = ClusterSpec(**spec_fields(options))
    name = options.name or f"c-{secrets.token_hex(3)}"
    if not re.fullmatch(NAME, name):
        raise UsageError(f"--name {name}: expected up to 32 of a-z, 0-9 and -, the first not -")
    with closing(connect()) as client:
        if name in reaper.parts_by_run(client):
            raise UsageError(
                f"--name {name}: there is such a cluster; choose another name, or remove it: "
                f"kafkacheck cluster down {name}"
            )
        image = spec.image or image_for(spec.version, client)
        require_image(client, image)
        class_archive.ensure(client, spec.version, image, _say)
        _say(f"starting {spec.describe()}")
        with (
            terminated_like_interrupted(),
            tempfile.TemporaryDirectory(prefix="kafkacheck-") as logs,
            running(client, spec, run=name, logs=Path(logs)) as cluster,
        ):
            cluster.keep()
            print(how_to_reach(cluster))
    return 0


def _ls(_: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from pytest_kafkacheck.cluster.docker import reaper
    from pytest_kafkacheck.cluster.docker.engine import connect, local
    from pytest_kafkacheck.cluster.docker.plan import PART, SPEC

    table = Table("name", "cluster", "nodes", "age", "whose", box=None)
    now = time.time()
    with closing(connect()) as client:
        running = {each["Id"] for each in client.api.containers(filters={"label": reaper.RUN})}
        for run, parts in sorted(reaper.parts_by_run(client).items()):
            nodes = [part for part in parts if part.labels.get(PART) == "node"]
            spec = next((part.labels[SPEC] for part in parts if SPEC in part.labels), None)
            table.add_row(
                run,
                _described(spec) if spec else "(being made or removed)",
                f"{sum(node.id in running for node in nodes)} of {len(nodes)} run",
                _span(now - min(part.created for part in parts)),
                _whose(parts, now, local=local(client)),
            )
    Console().print(table if table.row_count else "no clusters")
    return 0


def _described(spec: str) -> str:
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

    try:
        return ClusterSpec.from_json(json.loads(spec)).describe()
    except (TypeError, UsageError):
        return "(made by another release of kafkacheck)"


def _whose(parts: list[Any], now: float, *, local: bool) -> str:
    from pytest_kafkacheck.cluster.docker import reaper

    if any(reaper.KEPT in part.labels for part in parts):
        users = [
            part
            for part in parts
            if reaper.LEASE in part.labels and not reaper.orphaned(part.labels, local=local)
        ]
        return "kept" + "".join(f", used by process {_pid(part)}" for part in users)
    if reaper.abandoned(parts, now=now, local=local):
        return "left behind: kafkacheck cluster down"
    return f"process {_pid(parts[0])} on {parts[0].labels[reaper.HOST]}"


def _pid(part: Any) -> str:
    from pytest_kafkacheck.cluster.docker import reaper

    return str(part.labels[reaper.OWNER]).partition("@")[0]


def _span(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _logs(options: argparse.Namespace) -> int:
    def show(cluster: Any) -> None:
        wanted = [options.node] if options.node is not None else sorted(cluster.nodes)
        for number in wanted:
            if number not in cluster.nodes:
                raise UsageError(
                    f"cluster {cluster.run} has no node {number}; it has {', '.join(map(str, cluster.nodes))}"
                )
        for number in wanted:
            node = cluster.nodes[number]
            if len(wanted) > 1:
                print(f"==> {node.member.host} <==", flush=True)
            sys.stdout.buffer.write(node.logs())
            sys.stdout.flush()

    return _with(options.name, show)


def _properties(options: argparse.Namespace) -> int:
    return _with(options.name, lambda cluster: print(cluster.client_properties(), end=""))


def _export(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.docker.compose import compose_file
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

    text = compose_file(ClusterSpec(**spec_fields(options)))
    if options.output is None:
        print(text, end="")
    else:
        try:
            options.output.write_text(text)
        except OSError as error:
            raise UsageError(f"-o {options.output}: cannot be written: {error.strerror}") from error
    return 0


def _with(name: str, use: Callable[[Any], None]) -> int:
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.cluster.docker.reattach import found

    with closing(connect()) as client:
        use(found(client, name))
    return 0


def _down(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.docker import reaper
    from pytest_kafkacheck.cluster.docker.engine import connect

    if options.all and options.name:
        raise UsageError("cluster down: give names or --all, not both")
    with closing(connect()) as client:
        if options.name:
            there = reaper.parts_by_run(client)
            for name in options.name:
                if name not in there:
                    raise UsageError(
                        f"there is no cluster {name!r}; `kafkacheck cluster ls` lists those there are"
                    )
            for name in options.name:
                reaper.remove_run(client, name)
            runs = list(options.name)
        else:
            runs = reaper.remove_all(client) if options.all else reaper.sweep(client)
    print(f"removed {len(runs)}: {', '.join(runs)}" if runs else "nothing to remove")
    return 0


def _say(line: str) -> None:
    print(f"  {line}", flush=True)
